// Numbers as people read them, and elements with nothing but text in them.

const NANOSECONDS = [[1e3, 'µs'], [1e6, 'ms'], [1e9, 's'], [3600e9, 'h'], [86400e9, 'd'], [31557600e9, 'y']];
const BYTES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

const threeDigits = (amount) => amount.toFixed(amount < 9.995 ? 2 : amount < 99.95 ? 1 : 0);
const grouped = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ',');
const plural = (count, what) => `${grouped(count)} ${what}${Number(count) === 1 ? '' : 's'}`;

/** A duration with three digits. */
function shortTime(ns) {
  ns = Number(ns);
  if (ns < 1000) return `${Math.round(ns)} ns`;
  for (let i = 0; ; i++) {
    const [unit, name] = NANOSECONDS[i];
    const next = NANOSECONDS[i + 1];
    const limit = !next ? Infinity : next[0] / unit === 1000 ? 999.5 : next[0] / unit - 0.5;
    if (ns / unit < limit) return `${threeDigits(ns / unit)} ${name}`;
  }
}

/** A duration in nanoseconds. */
const exactTime = (ns) => `${grouped(ns)} ns`;

function byteText(bytes) {
  let amount = Number(bytes), unit = 0;
  for (; amount >= 1024 && unit < BYTES.length - 1; unit++) amount /= 1024;
  return unit === 0 ? `${amount} B` : `${amount.toFixed(2)} ${BYTES[unit]}`;
}

const percent = (share) => share === null ? '-' : share > 0 && share < 0.0005 ? '<0.1 %' : `${(share * 100).toFixed(1)} %`;
const bandwidth = (amount) => amount === null ? '-' : amount > 0 && amount < 0.005 ? '<0.01' : amount >= 1e6 ? amount.toExponential(2) : threeDigits(amount);

/** An element. Content that is not an element becomes text. */
function element(name, attributes = {}, ...content) {
  const made = name === 'svg' || element.svg.has(name) ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}
element.svg = new Set(['rect', 'path', 'line', 'text']);

const byId = (id) => document.getElementById(id);

/** The text with control characters and bidirectional controls made visible. */
const printable = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
