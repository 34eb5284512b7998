// Perfetto's own trace processor, the engine of its user interface, in plain Node: no browser, no package.
//
// The engine is WebAssembly in a bundle made for a Web Worker. The bundle runs inside a function whose parameters
// are the few globals that a worker would have; requests and replies are its protobuf messages
// (perfetto/trace_processor/trace_processor.proto).
//
// As a command:  node trace_processor.js FILE… [--sql QUERY]…
// prints one line of JSON per file: {"file", "error", "results": [[row, …] per query]}. `error` is null, or why the
// engine refused the file, and then there are no results. Integers are printed with all their digits.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { bytesField, decodeVarint, fields, find, integerField, repeatedIntegers } = require('./protobuf.js');
const { perfettoDist, run } = require('./tools.js');

const METHOD = { append: 1, finalize: 2, query: 3, status: 10, reset: 11 };
const RPC = { sequence: 1, method: 2, fatalError: 5, append: 101, query: 103, reset: 107, appendResult: 201, queryResult: 203, statusResult: 210, finalizeResult: 212 };
const QUERY_RESULT = { columnName: 1, error: 2, batch: 3 };
const BATCH = { types: 1, integers: 2, doubles: 3, blobs: 4, strings: 5 };
const CELL = { null: 1, integer: 2, double: 3, string: 4, blob: 5 };
const CHUNK_BYTES = 16 << 20;

/** Starts the engine's worker; returns a function that sends a message and returns the bytes it replied with. */
async function startWorker(dist) {
  const file = path.join(dist, 'engine_bundle.js');
  const readWasm = (url) => new Uint8Array(fs.readFileSync(path.join(dist, path.basename(String(url))))).buffer;
  class WorkerGlobalScope {}
  class XMLHttpRequest {
    open(_method, url) { this.url = url; }
    send() { this.status = 200; this.response = readWasm(this.url); this.onload?.(); }
  }
  const ignore = () => {};
  const globals = {
    self: { location: { href: 'http://localhost/engine_bundle.js' } },
    location: { href: 'http://localhost/engine_bundle.js' },
    WorkerGlobalScope,
    XMLHttpRequest,
    fetch: async (url) => ({ ok: true, status: 200, url, arrayBuffer: async () => readWasm(url) }),
    console: { log: ignore, info: ignore, debug: ignore, warn: ignore, error: ignore },
    // Hidden, so that the bundle believes it is in a worker.
    process: undefined, window: undefined, document: undefined, require: undefined, module: undefined, exports: undefined,
  };
  const bundle = vm.compileFunction(fs.readFileSync(file, 'utf8'), Object.keys(globals), { filename: file });
  bundle(...Object.values(globals));

  let replies = [];
  const port = { postMessage: (bytes) => replies.push(Buffer.from(bytes)) };
  globals.self.onmessage({ data: port });
  // The WebAssembly was compiled synchronously, but its start is a microtask that has yet to run.
  await new Promise(setImmediate);
  return (message) => {
    replies = [];
    port.onmessage({ data: new Uint8Array(message) });
    return Buffer.concat(replies);
  };
}

/** Splits a stream of `repeated bytes msg = 1` into its messages. */
function* messages(stream) {
  for (let at = 0; at < stream.length;) {
    const [size, start] = decodeVarint(stream, at + 1);
    at = start + Number(size);
    yield stream.subarray(start, at);
  }
}

/** The cells of one batch of a query's result, row by row. */
function* decodeCells(batch) {
  const types = [], integers = [], doubles = [], blobs = [];
  let strings = [];
  for (const [field, value] of fields(batch)) {
    if (field === BATCH.types) types.push(...repeatedIntegers(value));
    else if (field === BATCH.integers) for (const integer of repeatedIntegers(value)) integers.push(integer);
    else if (field === BATCH.doubles) for (let at = 0; at < value.length; at += 8) doubles.push(value.readDoubleLE(at));
    else if (field === BATCH.blobs) blobs.push(value.toString('base64'));
    else if (field === BATCH.strings) strings = value.toString().split('\0');
  }
  const cells = { [CELL.integer]: integers.values(), [CELL.double]: doubles.values(), [CELL.string]: strings.values(), [CELL.blob]: blobs.values() };
  for (const type of types) yield Number(type) === CELL.null ? null : cells[Number(type)].next().value;
}

/**
 * Starts a trace processor from the folder of Perfetto's web build.
 *   load(bytes)  replaces the trace; returns null, or the engine's error
 *   query(sql)   returns the rows as objects: BigInt, number (a double), string or null by column name
 *   version()    the engine's version
 */
async function createTraceProcessor(dist) {
  const send = await startWorker(dist);
  let sequence = 0;

  function* call(method, argumentField, argument) {
    const parts = [integerField(RPC.sequence, sequence++), integerField(RPC.method, method)];
    if (argumentField) parts.push(bytesField(argumentField, argument));
    for (const reply of messages(send(bytesField(1, Buffer.concat(parts))))) {
      const fatal = find(reply, RPC.fatalError);
      if (fatal) throw new Error(`trace processor: ${fatal}`);
      yield reply;
    }
  }

  /** The text of `errorField` in the part `resultField` of the first reply that has one. */
  function errorOf(replies, resultField, errorField) {
    let error = null;
    for (const reply of replies) {
      const result = find(reply, resultField);
      error ||= (result && find(result, errorField)?.toString()) || null;
    }
    return error;
  }

  return {
    load(bytes) {
      Array.from(call(METHOD.reset, RPC.reset, Buffer.alloc(0)));
      let error = null;
      for (let at = 0; at < bytes.length && !error; at += CHUNK_BYTES) {
        error = errorOf(call(METHOD.append, RPC.append, bytes.subarray(at, at + CHUNK_BYTES)), RPC.appendResult, 2);
      }
      const atEnd = errorOf(call(METHOD.finalize), RPC.finalizeResult, 1);
      return error || atEnd;
    },
    query(sql) {
      const columns = [], rows = [];
      let row = {}, width = 0;
      for (const reply of call(METHOD.query, RPC.query, bytesField(1, Buffer.from(sql)))) {
        for (const [field, value] of fields(find(reply, RPC.queryResult))) {
          if (field === QUERY_RESULT.columnName) columns.push(value.toString());
          else if (field === QUERY_RESULT.error && value.length) throw new Error(`${value}\nin: ${sql}`);
          else if (field === QUERY_RESULT.batch) {
            for (const cell of decodeCells(value)) {
              row[columns[width++]] = cell;
              if (width < columns.length) continue;
              rows.push(row);
              row = {};
              width = 0;
            }
          }
        }
      }
      return rows;
    },
    version() {
      for (const reply of call(METHOD.status)) return String(find(find(reply, RPC.statusResult), 2));
    },
  };
}

/** JSON of a row: integers with all digits, doubles recognisable by their decimal point. */
function rowToJson(row) {
  const cells = Object.entries(row).map(([name, cell]) => {
    const whole = typeof cell === 'bigint' || Number.isInteger(cell);
    const text = !whole ? JSON.stringify(cell) : typeof cell === 'bigint' ? String(cell) : cell.toFixed(1);
    return `${JSON.stringify(name)}:${text}`;
  });
  return `{${cells.join(',')}}`;
}

async function main(words) {
  const files = [], queries = [];
  while (words.length) {
    const word = words.shift();
    if (word === '--sql') queries.push(words.shift());
    else files.push(word);
  }
  const engine = await createTraceProcessor(perfettoDist());
  for (const file of files) {
    const error = engine.load(fs.readFileSync(file));
    const results = error === null ? queries.map((sql) => engine.query(sql)) : [];
    const rows = results.map((result) => `[${result.map(rowToJson).join(',')}]`);
    process.stdout.write(`{"file":${JSON.stringify(file)},"error":${JSON.stringify(error)},"results":[${rows.join(',')}]}\n`);
  }
}

module.exports = { createTraceProcessor };
if (require.main === module) run(main);
