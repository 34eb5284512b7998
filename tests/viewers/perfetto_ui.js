// Takes a picture of a trace in Perfetto's real user interface, for the READMEs. Checks use trace_processor.js: the
// same engine, and faster.
//
//   node perfetto_ui.js TRACE PNG [--width PIXELS] [--select GLOB] [--as-opened]
//   node perfetto_ui.js --titles TRACE…
//
// Every group of tracks is opened, unless `--as-opened` leaves them as the interface does, and the picture reaches from
// the time axis to the last track. `--select` selects the first slice whose name matches, so that its details appear
// below the tracks. `--titles` prints, for each trace, a line of JSON: the titles of the groups and tracks that are seen
// when it has been opened.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { launchChromium, openTab, perfettoDist, run, serve } = require('./tools.js');

// The wheel's build shows the details of a slice in half the width, next to an empty "No source code found". This
// restores the layout of Perfetto itself.
const STYLE = `
  .pf-grid-layout > .pf-grid-layout-column:last-child:not(:has(section)) { display: none }
  .pf-grid-layout > .pf-grid-layout-column:first-child:has(.pf-grid-layout-column) { display: contents }`;

/** Runs in the page: the titles of what is not inside a closed group. */
function titles() {
  const seen = (node) => [...(node.headless ? [] : [node.name]), ...(node.headless || !node.collapsed ? node.children.flatMap(seen) : [])];
  return app.trace.workspace.children.flatMap(seen);
}

/** Runs in the page: opens every group of tracks if asked to, and selects the first slice whose name matches `glob`, if given. */
async function arrange([glob, asOpened]) {
  if (!asOpened) app.commands.runCommand('dev.perfetto.ExpandAllGroups');
  if (glob === undefined) return;
  const literal = `'${glob.replaceAll("'", "''")}'`;
  const found = await app.trace.engine.query(`select id from slice where name glob ${literal} order by ts limit 1`);
  if (found.numRows() === 0) throw new Error(`no slice's name matches ${literal}`);
  app.trace.selection.selectSqlEvent('slice', found.firstRow({ id: 0 }).id);
}

/** Runs in the page: where things are, in pixels from the top. */
function measure() {
  const bottom = (selector) => Math.max(0, ...[...document.querySelectorAll(selector)].map((element) => element.getBoundingClientRect().bottom));
  return {
    axisTop: document.querySelector('.pf-timeline-header').getBoundingClientRect().top,
    tracksBottom: bottom('.pf-track'),
    tracksRoomBottom: bottom('.pf-split-panel__main'),
    detailsBottom: bottom('.pf-details-shell .pf-section'),
  };
}

/** Waits until two pictures in a row are the same (the page draws in steps); returns the last. */
async function settled(tab, options) {
  for (let last = Buffer.alloc(0); ;) {
    await tab.waitForTimeout(500);
    const next = await tab.screenshot(options);
    if (next.equals(last)) return next;
    last = next;
  }
}

/** Opens the trace in a tab, and hands the tab on. */
async function withTrace(browser, file, viewport, use) {
  // This build of the interface loads /localtrace by itself where /vizviewer_info answers.
  const server = await serve(path.dirname(perfettoDist()), { '/vizviewer_info': () => '{}', '/localtrace': () => fs.readFileSync(file) });
  try {
    const tab = await openTab(browser, { viewport });
    await tab.goto(`${server.base}/`);
    await tab.waitForFunction(() => window.app?.trace && document.querySelector('.pf-track'));
    await use(tab);
    await tab.close();
  } finally {
    server.close();
  }
}

async function main(words) {
  const { values, positionals } = parseArgs({
    args: words, allowPositionals: true,
    options: {
      width: { type: 'string', default: '1000' }, select: { type: 'string' }, titles: { type: 'boolean' }, 'as-opened': { type: 'boolean' },
    },
  });
  const browser = await launchChromium();
  try {
    if (values.titles) {
      for (const file of positionals) {
        await withTrace(browser, file, { width: 1000, height: 1000 }, async (tab) => console.log(JSON.stringify(await tab.evaluate(titles))));
      }
    } else {
      const [file, png] = positionals;
      const viewport = { width: Number(values.width), height: 2000 };
      await withTrace(browser, file, viewport, (tab) => picture(tab, png, viewport, [values.select, values['as-opened']]));
    }
  } finally {
    await browser.close();
  }
}

async function picture(tab, png, size, arrangement) {
  await tab.addStyleTag({ content: STYLE });
  await tab.evaluate(arrange, arrangement);
  await settled(tab);
  // No empty space between the tracks and the details.
  const { tracksBottom, tracksRoomBottom } = await tab.evaluate(measure);
  await tab.setViewportSize({ ...size, height: size.height - Math.floor(tracksRoomBottom - tracksBottom) });
  await settled(tab);
  const { axisTop, tracksBottom: end, detailsBottom } = await tab.evaluate(measure);
  const clip = { x: 0, y: axisTop, width: size.width, height: Math.max(end, detailsBottom && detailsBottom + 8) - axisTop };
  fs.writeFileSync(png, await settled(tab, { clip }));
}

run(main);
