// The regions, unpacked into typed arrays that hold one number of each (pack.rs describes how they are packed), and facts about the captures.

const LOW_NS = 2 ** 50;
/** Rows of a lane. In the last one, regions may overlap. */
const ROWS_MAX = 64;
const FAILED = 1, SATURATED = 2, UNFINISHED = 4, CANCELLED = 8, HIDDEN = 16, WAITING = 32;

/** The bytes of the packed island. */
async function unpack() {
  const text = byId('packed').textContent;
  byId('packed').remove();
  const bytes = Uint8Array.fromBase64?.(text) ?? fromBase64(text);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** For browsers from before 2025. */
function fromBase64(text) {
  const chars = atob(text), bytes = new Uint8Array(chars.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = chars.charCodeAt(i);
  return bytes;
}

/** Reads a column of varints. Numbers above 2^53 are rounded in the array, and exact in its `large`. */
function column(bytes, at, into) {
  into.large = new Map();
  for (let i = 0; i < into.length; i++) {
    let byte = bytes[at++];
    if (byte < 128) {
      into[i] = byte;
      continue;
    }
    const from = at - 1;
    let value = byte & 127, scale = 128;
    do {
      byte = bytes[at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte >= 128);
    into[i] = value;
    if (value > Number.MAX_SAFE_INTEGER) into.large.set(i, largeVarint(bytes, from));
  }
  return into;
}

function largeVarint(bytes, at) {
  let value = 0n, shift = 0n;
  for (let byte = 128; byte >= 128; shift += 7n) {
    byte = bytes[at++];
    value |= BigInt(byte & 127) << shift;
  }
  return value;
}

/** The exact value in a column. */
const exactly = (values, i) => values.large?.get(i) ?? values[i];

/** The columns of a section, whose first byte is at `at`, by their names. */
function readColumns({ count, columns }, bytes, at, kinds) {
  const read = {};
  for (const [name, size] of columns) {
    const part = bytes.subarray(at, at + size);
    if (name === 'texts') read[name] = part;
    else if (name === 'number') read[name] = new Float64Array(part.slice().buffer);
    else read[name] = column(part, 0, new (kinds[name] ?? Uint32Array)(count));
    at += size;
  }
  return read;
}

/** The bytes that a section takes. */
const sectionBytes = (section) => (section?.columns ?? []).reduce((sum, [, size]) => sum + size, 0);

/** A label as it is shown. */
const labelText = (label, group) => `${group === undefined ? '' : `${group}: `}${label === '' ? '(empty)' : label}`;

/** A thread as it is shown: "worker-3 (6105)". */
function threadText({ threads, thread_names: names }, place) {
  const name = names?.[place];
  return name === undefined ? String(threads[place]) : `${printable(name)} (${threads[place]})`;
}

/** Gives the layout what it does not say: the labels as they are shown, and the page's base, from which all times count. */
function complete(layout) {
  layout.names = layout.labels.map((label, place) => labelText(label, layout.label_groups?.[place]));
  layout.regions_base_ns = layout.base_ns;
  const bases = [layout, layout.marks, layout.values].filter((section) => section?.count).map((section) => BigInt(section.base_ns));
  layout.base_ns = String(bases.reduce((one, other) => one < other ? one : other, bases[0] ?? 0n));
  return layout;
}

/** The regions. Times count from `base`. */
class Regions {
  constructor(layout, bytes) {
    const { count } = layout;
    const columns = readColumns(layout, bytes, 0, {
      start: Float64Array, duration: Float64Array, group: Uint32Array, row: Uint8Array, bytes: Float64Array, correlation: Float64Array,
      thread: Uint32Array, flags: Uint8Array, status: Uint32Array, ring: Uint16Array, sequence: Float64Array, lane: Uint32Array,
    });
    Object.assign(this, columns);
    this.texts = new ArgumentTexts(columns.arguments, columns.texts);
    this.count = count;
    this.layout = layout;
    this.base = Number(layout.base_ns);
    this.end = new Float64Array(count);
    this.lastEnd = 0;
    // In two parts: added up in one, moments beyond 104 days would drift away by a rounding for each region.
    this.low = null;
    for (let i = 0, high = 0, low = Number(BigInt(layout.regions_base_ns) - BigInt(layout.base_ns)); i < count; i++) {
      const large = this.start.large.get(i);
      if (large) high += Number(large - large % BigInt(LOW_NS));
      low += large ? Number(large % BigInt(LOW_NS)) : this.start[i];
      if (low >= LOW_NS) {
        high += low - low % LOW_NS;
        low %= LOW_NS;
      }
      this.start[i] = high + low;
      if (this.start[i] > Number.MAX_SAFE_INTEGER) (this.low ??= new Float64Array(count))[i] = low;
      this.end[i] = this.start[i] + this.duration[i];
      this.lastEnd = Math.max(this.lastEnd, this.end[i]);
    }
    this.#sortIntoRows();
  }

  /** The rows of all lanes, from top to bottom. `order` holds the regions row by row; those of a row begin at `from[row]`. */
  #sortIntoRows() {
    const { lanes, groups } = this.layout;
    this.firstRow = [];
    this.laneOfRow = [];
    lanes.forEach((lane, index) => {
      this.firstRow.push(this.laneOfRow.length);
      for (let row = 0; row < lane.rows; row++) this.laneOfRow.push(index);
    });
    const rows = this.laneOfRow.length;
    const groupRow = groups.map(([lane]) => this.firstRow[lane]);
    this.from = new Uint32Array(rows + 1);
    this.absoluteRow = new Uint32Array(this.count);
    for (let i = 0; i < this.count; i++) {
      const row = groupRow[this.group[i]] + this.row[i];
      this.absoluteRow[i] = row;
      this.from[row + 1]++;
    }
    for (let row = 0; row < rows; row++) this.from[row + 1] += this.from[row];
    const next = this.from.slice();
    this.order = new Uint32Array(this.count);
    this.place = new Uint32Array(this.count);
    for (let i = 0; i < this.count; i++) {
      const place = next[this.absoluteRow[i]]++;
      this.order[place] = i;
      this.place[i] = place;
    }
    // Sums of everything before each place, so that the sum of any part of a row takes one subtraction.
    this.busyBefore = new Float64Array(this.count + 1);
    this.failedBefore = new Uint32Array(this.count + 1);
    this.bytesBefore = new Float64Array(this.count + 1);
    for (let place = 0; place < this.count; place++) {
      const i = this.order[place];
      this.busyBefore[place + 1] = this.busyBefore[place] + this.duration[i];
      this.failedBefore[place + 1] = this.failedBefore[place] + (this.flags[i] & FAILED);
      // An unfinished region has not copied anything for sure.
      this.bytesBefore[place + 1] = this.bytesBefore[place] + (this.flags[i] & UNFINISHED ? 0 : this.bytes[i]);
    }
  }

  /** The very nanosecond in which a region began, in the page's time. */
  beganAt(i) {
    const start = this.start[i], low = this.low?.[i] ?? 0;
    const high = start > Number.MAX_SAFE_INTEGER ? Math.round((start - low) / LOW_NS) * LOW_NS : start;
    return BigInt(this.layout.base_ns) + BigInt(high) + BigInt(low);
  }

  /** The first place in [low, high) whose region ends after `time`. */
  endsAfter(time, low, high) {
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.end[this.order[middle]] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The first place in [low, high) whose region begins at `time` or later. */
  beginsFrom(time, low, high) {
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.start[this.order[middle]] >= time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  laneOf(i) { return this.layout.lanes[this.layout.groups[this.group[i]][0]]; }

  /** Of one of the other lanes, which share their rows, the region itself says which. */
  laneNumber(i) { return this.laneOf(i).lane ?? this.lane[i]; }

  labelOf(i) { return this.layout.names[this.layout.groups[this.group[i]][1]]; }
}

/** Whether nothing was overwritten. `complete_since_ns` does not tell, since it may be the very first moment either way. */
const isComplete = ({ account }) => !Number(account.overwritten) && !Number(account.overtaken);

/** The name of a capture among several. */
function captureName(capture) {
  const attributes = Object.entries(capture.attributes).map(([key, value]) => ` ${key}=${value}`).join('');
  return printable(`${capture.program || 'unnamed program'}${attributes}, process ${capture.pid}: ${capture.file}`);
}
