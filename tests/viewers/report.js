// What the page of `hrx-convert -o report.html` shows and does, opened from disk in headless Chromium.
//
//   node report.js TEXT FILE…
//
// prints one line of JSON per file, all files in one start of the browser:
//   {"file", "requests": [url], "errors": [text], "painted_ms", "title", "policy", "body", "elements": {name: count},
//    "whole", "zoomed", "found", "selected", "related", "end", "label_in_sight", "dark", "paper", "hostile"}
// `requests` excludes the page itself. `whole`, `zoomed` and `end` are the line below the timeline: for everything, after zooming in once, and for
// the last moments. `found` is the count of regions whose label contains TEXT, `selected` the details of the first of them.
// `label_in_sight` is whether the host-observed label is still on the screen at the bottom of the page. `dark` and `paper` are the backgrounds
// of the dark page and of the printed one. `hostile` is what a script in a label would have set.
'use strict';
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { launchChromium, openTab, run } = require('./tools.js');

async function describe(browser, file, text) {
  const tab = await openTab(browser, { viewport: { width: 1200, height: 800 }, colorScheme: 'light' });
  const url = pathToFileURL(path.resolve(file)).href;
  const requests = [], errors = [];
  tab.on('request', (request) => request.url() === url || requests.push(request.url()));
  tab.on('pageerror', (error) => errors.push(error.message));
  tab.on('console', (message) => ['error', 'warning'].includes(message.type()) && errors.push(message.text()));
  await tab.goto(url);
  await tab.waitForSelector('html[data-painted]');
  const painted = await tab.evaluate(() => Number(document.documentElement.dataset.painted));
  await tab.waitForSelector('html[data-complete]', { state: 'attached' });

  // The browser draws everything in its next frame.
  const settle = () => tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const window = async () => {
    await settle();
    return tab.textContent('#window');
  };
  const press = async (key) => {
    await tab.focus('#canvas');
    await tab.keyboard.press(key);
    return window();
  };
  const whole = await window();
  const zoomed = await press('+');
  await press('0');
  await tab.fill('#search', text);
  const found = await tab.textContent('#matches');
  await tab.press('#search', 'Enter');
  const selected = await tab.innerText('#details');
  await tab.keyboard.press('Escape');
  const related = await press('c').then(() => tab.innerText('#details'));
  const end = await press('End');
  const facts = await tab.evaluate(() => {
    scrollTo(0, document.body.scrollHeight);
    const elements = {};
    for (const { localName } of document.querySelectorAll('*')) elements[localName] = (elements[localName] ?? 0) + 1;
    const label = document.getElementById('measured').getBoundingClientRect();
    return {
      title: document.title, body: document.body.innerText, elements, hostile: globalThis.hostile ?? null,
      policy: document.querySelector('meta[http-equiv]').content, label_in_sight: label.top >= 0 && label.bottom <= innerHeight && label.height > 0,
    };
  });
  const background = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await tab.emulateMedia({ colorScheme: 'dark' });
  const dark = await background();
  await tab.evaluate(() => dispatchEvent(new Event('beforeprint')));
  const paper = await background();
  await tab.close();
  return { file, requests, errors, painted_ms: painted, whole, zoomed, found, selected, related, end, dark, paper, ...facts };
}

async function main([text, ...files]) {
  const browser = await launchChromium();
  try {
    for (const file of files) console.log(JSON.stringify(await describe(browser, file, text)));
  } finally {
    await browser.close();
  }
}

run(main);
