// What speedscope reads in a trace: the real page in headless Chromium exports what it imported.
//
//   node speedscope.js FILE…
//
// prints one line of JSON per file, all files in one start of the browser:
//   {"file", "error", "profiles": [{name, unit, events: [{type, name, at}]}]}
// `error` is null or why the page refused the file. `type` is "O" (opened) or "C" (closed), `at` is in `unit`.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { launchChromium, nodePackage, openTab, run, serve } = require('./tools.js');

const LOADED = 'Left Heavy';
const FAILED = 'Something went wrong';

/** Opens the page on the served trace; returns null when it was imported, or why it was not. */
async function open(tab, address) {
  const messages = [];
  tab.on('console', (message) => message.type() === 'error' && messages.push(message.text()));
  tab.on('pageerror', (error) => messages.push(error.message));
  const refusal = new Promise((resolve) => {
    tab.once('dialog', (dialog) => {
      resolve(dialog.message());
      dialog.dismiss();
    });
  });
  await tab.goto(`/#profileURL=${encodeURIComponent(address)}`);
  const settled = tab.waitForFunction(([loaded, failed]) => [loaded, failed].find((text) => document.body.innerText.includes(text)), [LOADED, FAILED]);
  // The later of the two no longer matters, and fails when the tab is closed.
  settled.catch(() => {});
  const outcome = await Promise.race([refusal, settled.then((handle) => handle.jsonValue())]);
  return outcome === LOADED ? null : [outcome, ...messages].join('; ');
}

/** The page's export in its own file format. */
async function exported(tab) {
  const [download] = await Promise.all([tab.waitForEvent('download'), tab.keyboard.press('Control+s')]);
  const { profiles, shared } = JSON.parse(fs.readFileSync(await download.path(), 'utf8'));
  return profiles.map(({ name, unit, events }) => ({
    name, unit, events: events.map(({ type, frame, at }) => ({ type, name: shared.frames[frame].name, at })),
  }));
}

async function main(files) {
  // The page goes by the file's name, so the address ends with it.
  const addresses = files.map((file, index) => `/trace/${index}/${path.basename(file)}`);
  const routes = addresses.map((address, index) => [address, () => fs.readFileSync(files[index])]);
  const server = await serve(nodePackage('speedscope/dist/release'), Object.fromEntries(routes));
  // The page draws with WebGL, in software here.
  const browser = await launchChromium(['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader']);
  try {
    for (const [index, file] of files.entries()) {
      const tab = await openTab(browser, { baseURL: server.base });
      const error = await open(tab, addresses[index]);
      const profiles = error === null ? await exported(tab) : [];
      console.log(JSON.stringify({ file, error, profiles }));
      await tab.close();
    }
  } finally {
    await browser.close();
    server.close();
  }
}

run(main);
