// Drives the controls of the page of `hrx-convert -o report.html`, in headless Chromium, and says what is then in view.
//
//   node report_controls.js STEPS FILE…
//
// STEPS is a JSON list, done on each file in turn:
//   {"press": KEY}             on the timeline
//   {"click": SELECTOR}
//   {"hover": [SELECTOR, X, Y]} in pixels
//   {"find": TEXT}             typed into the search
//   {"point": [X, Y, WHAT]}    a point of the timeline, X as a share of its width, Y in pixels; WHAT: "click", "dblclick", "hover"
//   {"drag": [FROM, TO, KEYS]} along the timeline, with keys such as ["Shift"] held
//   {"wheel": [DX, DY, KEYS]}  over the middle of the timeline
//   {"open": HASH}             the page again, with this after its address
//   {"paper": true}            as before printing; false: as after it
//
// prints one line of JSON per file: {"errors": [text], "steps": [STATE]}, with the state after each step:
//   "window": the line below the timeline; "values": the values' text; "levels": the height of their charts; "from_ns", "to_ns", "link": of the page's address; "found", "details", "range", "bandwidth",
//   "hover": texts; "hints": the
//   whole text of each label that was cut; "tables": the texts of all cells; "running": the lines about what was running; "copied": the clipboard; "charts": the number of them; "paper": for each canvas on it, how many bars cross its first row
'use strict';
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { launchChromium, openTab, run } = require('./tools.js');

// The page notes its address when nothing has changed for 150 ms.
const NOTED_MS = 250;

const ACTS = {
  async press(tab, key) {
    await tab.focus('#canvas');
    await tab.keyboard.press(key);
  },
  click: (tab, selector) => tab.click(selector),
  hover: (tab, [selector, x, y]) => tab.hover(selector, { position: { x, y } }),
  find: (tab, text) => tab.fill('#search', text),
  async point(tab, [x, y, what]) {
    const at = await place(tab, x, y);
    await tab.mouse.move(...at);
    if (what === 'click') await tab.mouse.click(...at);
    if (what === 'dblclick') await tab.mouse.dblclick(...at);
  },
  async drag(tab, [from, to, keys = []]) {
    const [begin, end] = [await place(tab, from, 40), await place(tab, to, 40)];
    await tab.mouse.move(...begin);
    for (const key of keys) await tab.keyboard.down(key);
    await tab.mouse.down();
    await tab.mouse.move(...end, { steps: 4 });
    await tab.mouse.up();
    for (const key of keys) await tab.keyboard.up(key);
  },
  async wheel(tab, [dx, dy, keys = []]) {
    await tab.mouse.move(...await place(tab, 0.5, 40));
    for (const key of keys) await tab.keyboard.down(key);
    // Playwright does not wait until the page has heard of it.
    const heard = tab.evaluate(() => new Promise((done) => document.getElementById('canvas').addEventListener('wheel', () => done(), { once: true })));
    await tab.evaluate(() => 0);
    await tab.mouse.wheel(dx, dy);
    await heard;
    for (const key of keys) await tab.keyboard.up(key);
  },
  async open(tab, hash) {
    const url = tab.url().split('#')[0];
    await tab.goto('about:blank');
    await tab.goto(url + hash);
    await tab.waitForSelector('html[data-complete]', { state: 'attached' });
  },
  async paper(tab, on) {
    await tab.emulateMedia({ media: on ? 'print' : null });
    await tab.evaluate((on) => dispatchEvent(new Event(on ? 'beforeprint' : 'afterprint')), on);
  },
};

/** A point of the timeline on the screen. */
async function place(tab, x, y) {
  const canvas = tab.locator('#canvas');
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  return [box.x + box.width * x, box.y + y];
}

async function state(tab) {
  // By the page's own clock, after its next frame, so that a loaded machine does not matter.
  await tab.evaluate((ms) => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, ms)))), NOTED_MS);
  const link = decodeURIComponent(new URL(tab.url()).hash);
  const moment = (name) => Number(link.match(new RegExp(`[#&]${name}=(-?[0-9.]+)`))?.[1]);
  const seen = await tab.evaluate(async () => {
    const text = (id) => document.getElementById(id).textContent;
    const shown = (id) => document.getElementById(id).innerText;
    const bars = (canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 72, canvas.width, 1);
      const coloured = Array.from({ length: canvas.width }, (_, x) => Math.max(...data.slice(4 * x, 4 * x + 3)) - Math.min(...data.slice(4 * x, 4 * x + 3)) > 40);
      return coloured.filter((bar, x) => bar && !coloured[x - 1]).length;
    };
    return {
      window: text('window'), found: text('matches'), details: shown('details'), range: shown('range'), bandwidth: text('rates-text'), values: text('levels-text'), levels: document.getElementById('values').hidden ? 0 : document.getElementById('levels').height, hover: document.getElementById('hover').hidden ? '' : text('hover'),
      running: [...document.querySelectorAll('.running')].map((line) => line.textContent),
      hints: [...document.querySelectorAll('td [title]')].map((cell) => cell.title),
      tables: [...document.querySelectorAll('#tables table')].map((table) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent))),
      charts: document.querySelectorAll('#charts figure').length,
      copied: await navigator.clipboard.readText().catch(() => ''),
      paper: [...document.querySelectorAll('#paper canvas')].map(bars),
    };
  });
  return { link, from_ns: moment('from'), to_ns: moment('to'), ...seen };
}

async function drive(browser, file, steps) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'] });
  const tab = await openTab(context), errors = [], states = [];
  tab.on('pageerror', (error) => errors.push(error.message));
  tab.on('console', (message) => ['error', 'warning'].includes(message.type()) && errors.push(message.text()));
  await tab.goto(pathToFileURL(path.resolve(file)).href);
  await tab.waitForSelector('html[data-complete]', { state: 'attached' });
  for (const step of steps) {
    const [[name, value]] = Object.entries(step);
    await ACTS[name](tab, value);
    states.push(await state(tab));
  }
  await context.close();
  return { errors, steps: states };
}

async function main([steps, ...files]) {
  const browser = await launchChromium();
  try {
    for (const file of files) console.log(JSON.stringify(await drive(browser, file, JSON.parse(steps))));
  } finally {
    await browser.close();
  }
}

run(main);
