// Takes a picture of the page of `hrx-convert -o report.html`, for hrx-convert's README: from its top to the end of what was running.
//
//   node report_picture.js PAGE PNG [--width PIXELS]
'use strict';
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { parseArgs } = require('node:util');
const { launchChromium, openTab, run } = require('./tools.js');

const MARGIN = 16;

async function main(words) {
  const { values, positionals: [page, png] } = parseArgs({
    args: words, allowPositionals: true, options: { width: { type: 'string', default: '1000' } },
  });
  const size = { width: Number(values.width), height: 1200 };
  const browser = await launchChromium();
  try {
    const tab = await openTab(browser, { viewport: size, colorScheme: 'light' });
    await tab.goto(pathToFileURL(path.resolve(page)).href);
    await tab.waitForSelector('html[data-complete]', { state: 'attached' });
    // The browser draws everything in its next frame.
    await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const bottom = await tab.evaluate(() => document.querySelector('#tables table').getBoundingClientRect().bottom);
    await tab.screenshot({ path: png, clip: { x: 0, y: 0, width: size.width, height: Math.ceil(bottom) + MARGIN } });
  } finally {
    await browser.close();
  }
}

run(main);
