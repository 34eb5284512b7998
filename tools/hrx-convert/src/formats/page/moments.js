// Marks and the texts of arguments. A mark is a moment on its lane.

/** The arguments of events, as pack.rs writes them: a text for each event that has any. Decoded when they are first asked for. */
class ArgumentTexts {
  constructor(lengths, bytes) {
    this.lengths = lengths;
    this.bytes = bytes;
  }

  #decode() {
    if (this.text !== undefined) return;
    this.text = new TextDecoder().decode(this.bytes);
    this.from = new Uint32Array(this.lengths.length + 1);
    this.lengths.forEach((length, i) => (this.from[i + 1] = this.from[i] + length));
  }

  /** The arguments of event `i`: `name`, `value` and whether it `isText`; or a `note` on what is not there. */
  of(i) {
    if (!this.lengths?.[i]) return [];
    this.#decode();
    return this.text.slice(this.from[i], this.from[i + 1]).split('\u001e').map((part) => {
      const [, name, is, value] = part.match(/^([^\u001c\u001d\u001f]*)([\u001d\u001f])(.*)$/s) ?? [];
      return is ? { name, value, isText: is === '\u001d' } : { note: part.slice(1) };
    });
  }

  /** Which events have arguments that contain a text: `name=value` as a whole, or a part of either. */
  find(wanted) {
    const found = new Uint8Array(this.lengths?.length ?? 0);
    if (!found.length || !wanted) return found;
    this.#decode();
    this.#lowered();
    const needles = /[=:]/.test(wanted) ? ['\u001d', '\u001f'].map((is) => wanted.replace(/\s*[=:]\s*"?/, is).replace(/"$/, '')).concat(wanted) : [wanted];
    for (const needle of needles) {
      for (let at = this.lower.indexOf(needle); at >= 0;) {
        const i = upperBound(this.from, at) - 1, whole = at + needle.length <= this.from[i + 1];
        if (whole) found[i] = 1;
        at = this.lower.indexOf(needle, whole ? this.from[i + 1] : at + 1);
      }
    }
    return found;
  }

  /** In lower case, which may be longer: then places would not agree, and only ASCII is lowered. */
  #lowered() {
    if (this.lower !== undefined) return;
    const lower = this.text.toLowerCase();
    this.lower = lower.length === this.text.length ? lower : this.text.replace(/[A-Z]+/g, (upper) => upper.toLowerCase());
  }
}

/** The first place in an ascending list that is above a value. */
function upperBound(list, value) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** An argument as `batch=64` or `path="x"`. */
const argumentText = ({ name, value, isText, note }) => note ? `(${note})` : `${name}=${isText ? `"${value}"` : value}`;

/** The marks. Times count from the page's base. */
class Marks {
  constructor(layout, bytes, at) {
    this.layout = layout;
    this.count = layout.marks?.count ?? 0;
    this.lanes = layout.lanes.map(() => []);
    this.texts = new ArgumentTexts();
    if (!this.count) return;
    const columns = readColumns(layout.marks, bytes, at, { start: Float64Array, group: Uint32Array, correlation: Float64Array, thread: Uint32Array, ring: Uint16Array, sequence: Float64Array, lane: Uint32Array });
    Object.assign(this, columns);
    this.texts = new ArgumentTexts(columns.arguments, columns.texts);
    addUp(this.start, layout.marks.base_ns, layout.base_ns);
    for (let i = 0; i < this.count; i++) this.lanes[layout.groups[this.group[i]][0]].push(i);
  }

  laneOf(i) { return this.layout.lanes[this.layout.groups[this.group[i]][0]]; }

  labelOf(i) { return this.layout.names[this.layout.groups[this.group[i]][1]]; }

  /** The first place in a lane's list whose mark is at `time` or later. */
  from(lane, time) {
    const list = this.lanes[lane];
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.start[list[middle]] >= time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The facts of a mark, by their names. */
  facts(i) {
    const lane = this.laneOf(i);
    return [
      ['lane', `${printable(lane.name)} (${lane.lane ?? this.lane[i]})`],
      ['moment', exactTime(Math.round(this.start[i] + Number(this.layout.base_ns)))],
      ['correlation', this.correlation[i] ? String(exactly(this.correlation, i)) : 'none'],
      ['thread', threadText(this.layout, this.thread[i])],
      ['ring, sequence', `${this.ring[i]}, ${grouped(exactly(this.sequence, i))}`],
    ];
  }
}

/** Turns the distances of beginnings into times that count from the page's base. */
function addUp(starts, from, base) {
  let time = Number(BigInt(from) - BigInt(base));
  for (let i = 0; i < starts.length; i++) starts[i] = time += starts[i];
}
