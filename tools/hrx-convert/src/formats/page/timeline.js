// The timeline: a row for each line of a lane, on one canvas. What it draws of a row depends on its pixels, not on its regions: where many
// share a pixel, one bar stands for them, the fuller the more of the pixel's time they take; a search in sorted places leads to the next pixel.

const LANE_GAP = 7, HEAD = 20, MARKS = 17, AXIS = 22, NARROWEST_NS = 20, DEFINITE = 1.5;
// Rows are higher where there are few.
let ROW, BAR;

class Timeline {
  constructor(regions, captures, onSelect) {
    Object.assign(this, { regions, captures, onSelect });
    this.canvas = byId('canvas');
    this.context = this.canvas.getContext('2d');
    this.scroller = byId('scroller');
    this.last = captures.map((capture) => Number(capture.last_ns) - regions.base);
    this.complete = captures.map((capture) => Number(capture.complete_since_ns) - regions.base);
    const to = Math.max(NARROWEST_NS, ...this.last);
    this.whole = { from: -to * 0.004, to: to * 1.012 };
    this.view = { ...this.whole };
    this.selected = -1;
    this.related = [];
    this.matched = null;
    this.layOut();
    this.colours();
    this.listen();
  }

  /** Where every row stands, from the top of all rows. */
  layOut() {
    const { lanes } = this.regions.layout;
    ROW = this.regions.laneOfRow.length <= 12 ? 25 : 18;
    BAR = ROW - 4;
    this.rowTop = [];
    this.heads = [];
    this.extents = [];
    let y = 4, capture = -1;
    lanes.forEach((lane, index) => {
      if (lane.capture !== capture) {
        if (capture >= 0) y += MARKS;
        capture = lane.capture;
        if (this.captures.length > 1) {
          this.heads.push({ y, capture });
          y += HEAD;
        }
        this.extents.push({ capture, top: y, bottom: y });
      }
      for (let row = 0; row < lane.rows; row++) {
        this.rowTop.push(y);
        y += ROW;
      }
      this.extents.at(-1).bottom = y;
      y += LANE_GAP;
    });
    this.height = y + MARKS;
    const shown = Math.min(this.height, Math.max(220, innerHeight * 0.62)) + AXIS;
    this.scroller.style.height = `${shown}px`;
    this.canvas.style.height = `${shown - 2}px`;
    byId('spacer').style.height = `${Math.max(0, this.height + AXIS - shown)}px`;
  }

  colours() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colour = Object.fromEntries(['back', 'raised', 'text', 'quiet', 'line', 'accent', 'bad', 'mark', 'light', 'ink'].map((name) => [name, value(name)]));
    this.dim = Number(value('dim'));
    this.fills = this.regions.layout.labels.map((label) => {
      let hash = 7;
      for (let i = 0; i < label.length; i++) hash = (Math.imul(hash, 31) + label.charCodeAt(i)) >>> 0;
      // Steps of the golden angle, without the reds, which are for failures.
      return `hsl(${20 + ((hash % 997) * 137.5) % 320} 52% ${this.colour.light})`;
    });
  }

  // What is seen.

  get gutter() { return this.width < 560 ? 74 : 118; }

  timeAt(x) { return this.view.from + (x - this.gutter) / this.scale; }

  xAt(time) { return this.gutter + (time - this.view.from) * this.scale; }

  show(from, to) {
    const widest = this.whole.to - this.whole.from;
    const width = Math.min(Math.max(to - from, NARROWEST_NS), widest);
    const middle = (from + to) / 2;
    from = Math.min(Math.max(middle - width / 2, this.whole.from), this.whole.to - width);
    this.view = { from, to: from + width };
    this.redraw();
  }

  zoom(factor, x = this.gutter + (this.width - this.gutter) / 2) {
    const time = this.timeAt(x);
    this.show(time - (time - this.view.from) * factor, time + (this.view.to - time) * factor);
  }

  pan(share) {
    const by = (this.view.to - this.view.from) * share;
    this.show(this.view.from + by, this.view.to + by);
  }

  showAll() { this.show(this.whole.from, this.whole.to); }

  /** The last hundredth of the time. */
  showEnd() { this.show(this.whole.to - (this.whole.to - this.whole.from) / 100, this.whole.to); }

  /** Brings a region into view; zooms only if it would be too small to be seen, or if `close`. */
  reveal(i, close = false) {
    const { regions, view } = this;
    const start = regions.start[i], end = regions.end[i], width = view.to - view.from;
    const visible = start < view.to && end > view.from;
    const wanted = Math.max(end - start, NARROWEST_NS) * 3;
    if (close || (end - start) * this.scale < 0.05) this.show((start + end - wanted) / 2, (start + end + wanted) / 2);
    else if (!visible) this.show((start + end - width) / 2, (start + end + width) / 2);
    const top = this.rowTop[regions.absoluteRow[i]], room = this.scroller.clientHeight - AXIS;
    if (top < this.scroller.scrollTop || top + ROW > this.scroller.scrollTop + room) this.scroller.scrollTop = top - room / 2;
    this.redraw();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const { canvas, context, regions, view, colour } = this;
    const ratio = devicePixelRatio || 1;
    this.width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (canvas.width !== Math.round(this.width * ratio)) canvas.width = Math.round(this.width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.scale = (this.width - this.gutter) / (view.to - view.from);
    this.shift = AXIS - this.scroller.scrollTop;
    context.fillStyle = colour.back;
    context.fillRect(0, 0, this.width, height);
    context.save();
    context.beginPath();
    context.rect(this.gutter, AXIS, this.width, height);
    context.clip();
    this.drawGrid(height);
    this.drawIncomplete();
    let visible = 0;
    for (let row = 0; row < this.rowTop.length; row++) {
      const low = regions.endsAfter(view.from, regions.from[row], regions.from[row + 1]);
      visible += regions.beginsFrom(view.to, low, regions.from[row + 1]) - low;
      const y = this.rowTop[row] + this.shift;
      if (y > AXIS - ROW && y < height) this.drawRow(row, low, y);
    }
    this.drawRelated();
    this.drawEnds(height);
    context.restore();
    this.drawAxis();
    this.drawNames(height);
    byId('window').textContent = `${plural(visible, 'region')} of ${grouped(regions.count)} in view, ${shortTime(view.to - view.from)} from ${this.timeText(Math.max(view.from, 0))}`;
  }

  drawRow(row, low, y) {
    const { regions, context, view, scale, matched } = this;
    const high = regions.from[row + 1], pixel = 1 / scale;
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (let place = low; place < high;) {
      const i = regions.order[place], start = regions.start[i];
      if (start >= view.to) break;
      const width = regions.duration[i] * scale;
      if (width >= DEFINITE) {
        this.drawRegion(i, y, width, !matched || matched.before[place + 1] > matched.before[place]);
        place++;
        continue;
      }
      // One bar for all that begin in this pixel, up to the next one wide enough for its own.
      const x = Math.max(Math.floor(this.xAt(start)), this.gutter);
      let next = regions.beginsFrom(this.timeAt(x + 1), place + 1, high);
      if (next > place + 1 && regions.duration[regions.order[next - 1]] * scale >= DEFINITE) next--;
      const share = Math.min(1, (regions.busyBefore[next] - regions.busyBefore[place]) / pixel);
      const failed = regions.failedBefore[next] > regions.failedBefore[place];
      const found = !matched || matched.before[next] > matched.before[place];
      context.globalAlpha = (0.5 + 0.5 * share) * (found ? 1 : this.dim);
      context.fillStyle = failed ? this.colour.bad : this.fills[this.labelIndex(regions.order[(place + next) >> 1])];
      context.fillRect(x, y, 1, BAR);
      place = next;
    }
    context.globalAlpha = 1;
  }

  drawRegion(i, y, width, found) {
    const { regions, context, colour } = this;
    const from = Math.max(this.xAt(regions.start[i]), this.gutter - 2), to = Math.min(this.xAt(regions.end[i]), this.width + 2);
    const flags = regions.flags[i], room = to - from;
    context.globalAlpha = found ? 1 : this.dim;
    context.fillStyle = this.fills[this.labelIndex(i)];
    // A hair of space to the next region.
    context.fillRect(from, y, Math.max(1, room - (room > 4 ? 0.5 : 0)), BAR);
    if (flags & FAILED) {
      context.fillStyle = colour.bad;
      context.fillRect(from, y + BAR - 4, room, 4);
    }
    if (flags & UNFINISHED) {
      context.strokeStyle = colour.bad;
      context.setLineDash([4, 3]);
      context.lineWidth = 2;
      context.strokeRect(from + 1, y + 1, Math.max(1, room - 2), BAR - 2);
      context.setLineDash([]);
      context.lineWidth = 1;
    }
    if (room > 34) {
      context.fillStyle = colour.ink;
      const name = (flags & FAILED ? '✗ ' : '') + printable(regions.labelOf(i)) + (flags & UNFINISHED ? ' (unfinished)' : '');
      context.fillText(this.fitting(name, room - 8), from + 4, y + BAR / 2 + 0.5);
    }
  }

  /** The beginning of a text that fits. Widths are estimated first: measuring is slow. */
  fitting(text, room) {
    const most = Math.floor(room / 3);
    if (text.length > most) text = text.slice(0, most);
    if (text.length * 7 < room || this.context.measureText(text).width <= room) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
      else high = middle - 1;
    }
    return low ? `${text.slice(0, low)}…` : '';
  }

  labelIndex(i) { return this.regions.layout.groups[this.regions.group[i]][1]; }

  drawRelated() {
    const { context, regions, colour } = this;
    const centres = this.related.map((i) => [Math.max(this.xAt(regions.start[i]), -9), this.rowTop[regions.absoluteRow[i]] + this.shift + BAR / 2, i]);
    context.strokeStyle = colour.accent;
    if (centres.length > 1) {
      context.globalAlpha = 0.7;
      context.beginPath();
      centres.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.stroke();
      context.globalAlpha = 1;
    }
    for (const [, y, i] of centres) {
      const from = this.xAt(regions.start[i]), width = Math.max(3, regions.duration[i] * this.scale);
      context.lineWidth = i === this.selected ? 2.5 : 1.5;
      context.strokeRect(from - 1.5, y - BAR / 2 - 1.5, width + 3, BAR + 3);
    }
    context.lineWidth = 1;
  }

  /** Where older events were overwritten in some ring. */
  drawIncomplete() {
    const { context, colour } = this;
    for (const { capture, top, bottom } of this.extents) {
      if (isComplete(this.captures[capture])) continue;
      const to = Math.min(this.xAt(this.complete[capture]), this.width);
      if (to <= this.gutter) continue;
      const y = top + this.shift;
      context.save();
      context.beginPath();
      context.rect(this.gutter, y, to - this.gutter, bottom - top);
      context.clip();
      context.strokeStyle = colour.mark;
      context.globalAlpha = 0.22;
      for (let x = this.gutter - (bottom - top); x < to; x += 9) {
        context.beginPath();
        context.moveTo(x, y + bottom - top);
        context.lineTo(x + bottom - top, y);
        context.stroke();
      }
      context.restore();
      this.upright(this.xAt(this.complete[capture]), y, y + bottom - top, colour.mark, 'complete from here');
    }
  }

  /** Where each capture's time ends. */
  drawEnds() {
    const words = { 'writer-died': 'writer died', finished: 'finished', live: 'read here' };
    for (const { capture, top, bottom } of this.extents) {
      const { ending } = this.captures[capture];
      const colour = ending === 'writer-died' ? this.colour.bad : this.colour.quiet;
      this.upright(this.xAt(this.last[capture]), top + this.shift, bottom + this.shift, colour, words[ending], true);
    }
  }

  upright(x, top, bottom, colour, text, left) {
    const { context } = this;
    if (x < this.gutter || x > this.width) return;
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x, top - 4);
    context.lineTo(x, bottom + MARKS - 1);
    context.stroke();
    context.lineWidth = 1;
    context.font = '600 11.5px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.fillText(text, left ? x - context.measureText(text).width - 6 : x + 6, bottom + MARKS / 2);
  }

  /** Moments on the axis: 1, 2 or 5 of a power of ten apart. */
  *ticks() {
    const rough = 110 / this.scale, power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(1, [1, 2, 5, 10].find((factor) => factor * power >= rough) * power);
    // Round numbers of the timeline, not of the first region.
    const base = this.regions.base;
    for (let at = Math.ceil((base + this.view.from) / step) * step; at < base + this.view.to; at += step) yield [at - base, step];
  }

  drawGrid(height) {
    this.context.fillStyle = this.colour.line;
    this.context.globalAlpha = 0.6;
    for (const [time] of this.ticks()) this.context.fillRect(Math.round(this.xAt(time)), AXIS, 1, height);
    this.context.globalAlpha = 1;
  }

  drawAxis() {
    const { context, colour } = this;
    context.fillStyle = colour.raised;
    context.fillRect(0, 0, this.width, AXIS - 1);
    context.fillStyle = colour.text;
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (const [time, step] of this.ticks()) {
      const x = this.xAt(time);
      if (x >= this.gutter && x < this.width - 60) context.fillText(this.timeText(time, step), x + 3, AXIS / 2);
    }
    context.fillStyle = colour.quiet;
    context.fillText('host-observed', 6, AXIS / 2);
  }

  /** A moment, with as many digits as a step needs. */
  timeText(time, step = (this.view.to - this.view.from) / 1000) {
    const absolute = time + this.regions.base;
    const [unit, name] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs']].find(([unit]) => absolute >= unit * 0.9 || step >= unit) ?? [1, 'ns'];
    const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(unit) - Math.log10(Math.max(1, step)) - 1e-9)));
    return `${(absolute / unit).toFixed(digits)} ${name}`;
  }

  drawNames(height) {
    const { context, colour, regions } = this;
    context.save();
    context.beginPath();
    context.rect(0, AXIS, this.width, height);
    context.clip();
    context.fillStyle = colour.back;
    context.fillRect(0, AXIS, this.gutter - 1, height);
    context.fillStyle = colour.line;
    context.fillRect(this.gutter - 1, AXIS, 1, height);
    context.textBaseline = 'middle';
    for (const { y, capture } of this.heads) {
      context.fillStyle = colour.raised;
      context.fillRect(0, y + this.shift, this.width, HEAD - 3);
      context.font = '600 12px system-ui, sans-serif';
      context.fillStyle = colour.text;
      context.fillText(this.fitting(captureName(this.captures[capture]), this.width - 12), 6, y + this.shift + HEAD / 2 - 1);
    }
    context.font = '12px system-ui, sans-serif';
    regions.layout.lanes.forEach((lane, index) => {
      const y = this.rowTop[regions.firstRow[index]] + this.shift;
      context.fillStyle = colour.line;
      context.fillRect(0, y + lane.rows * ROW - 1, this.width, 1);
      context.fillStyle = colour.text;
      context.fillText(this.fitting(lane.name, this.gutter - 12), 6, y + BAR / 2);
      if (lane.rows > 1) {
        context.fillStyle = colour.quiet;
        context.fillText(this.fitting(`${lane.rows} at once`, this.gutter - 20), 12, y + BAR / 2 + ROW);
      }
    });
    context.restore();
  }

  // What is chosen.

  /** The region at a point of the canvas and how many share its pixel, or nothing. */
  at(x, y) {
    const { regions } = this;
    if (x < this.gutter || y < AXIS) return undefined;
    const row = this.rowTop.findLastIndex((top) => top + this.shift <= y);
    if (row < 0 || y > this.rowTop[row] + this.shift + BAR + 2) return undefined;
    const from = this.timeAt(x - 2), to = this.timeAt(x + 2);
    const low = regions.endsAfter(from, regions.from[row], regions.from[row + 1]);
    const high = regions.beginsFrom(to, low, regions.from[row + 1]);
    if (low === high) return undefined;
    let longest = regions.order[low];
    for (let place = low; place < Math.min(high, low + 50_000); place++) {
      const i = regions.order[place];
      if (regions.duration[i] > regions.duration[longest]) longest = i;
    }
    return { i: longest, count: high - low };
  }

  select(i) {
    const { regions } = this;
    this.selected = i;
    this.related = [];
    if (i >= 0) {
      const correlation = regions.correlation[i], exact = exactly(regions.correlation, i), { capture } = regions.laneOf(i);
      if (correlation === 0) this.related = [i];
      for (let other = 0; correlation && other < regions.count && this.related.length < 10_000; other++) {
        if (regions.correlation[other] === correlation && exactly(regions.correlation, other) === exact && regions.laneOf(other).capture === capture) this.related.push(other);
      }
    }
    this.onSelect(i, this.related);
    this.redraw();
  }

  /** Selects the neighbour in the row (`by` 1 or -1), or the one above or below at the same time. */
  step(by, rows) {
    const { regions } = this;
    if (!regions.count) return;
    if (this.selected < 0) {
      this.choose(regions.count - 1);
      return;
    }
    const row = regions.absoluteRow[this.selected];
    if (!rows) {
      const place = regions.place[this.selected] + by;
      if (place >= regions.from[row] && place < regions.from[row + 1]) this.choose(regions.order[place]);
      return;
    }
    for (let other = row + by; other >= 0 && other < this.rowTop.length; other += by) {
      if (regions.from[other] === regions.from[other + 1]) continue;
      const place = Math.min(regions.endsAfter(regions.start[this.selected], regions.from[other], regions.from[other + 1]), regions.from[other + 1] - 1);
      this.choose(regions.order[place]);
      return;
    }
  }

  choose(i, close) {
    this.select(i);
    this.reveal(i, close);
  }

  /** Dims what has no such text in its label. Returns how many have it. */
  search(text) {
    const { regions } = this;
    this.matched = null;
    if (text) {
      const wanted = text.toLowerCase();
      const labels = regions.layout.labels.map((label) => label.toLowerCase().includes(wanted));
      const groups = Uint8Array.from(regions.layout.groups, ([, label]) => labels[label]);
      const before = new Uint32Array(regions.count + 1);
      for (let place = 0; place < regions.count; place++) before[place + 1] = before[place] + groups[regions.group[regions.order[place]]];
      this.matched = { groups, before, count: before[regions.count] };
    }
    this.redraw();
    return this.matched?.count ?? 0;
  }

  /** Selects the next match (`by` 1) or the one before (-1), round and round. */
  toMatch(by) {
    const { regions, matched } = this;
    if (!matched?.count) return;
    let i = this.selected < 0 && by < 0 ? 0 : this.selected;
    do i = (i + by + regions.count) % regions.count;
    while (!matched.groups[regions.group[i]]);
    this.choose(i);
  }

  toRelated() {
    if (this.related.length > 1) {
      const related = this.related;
      this.choose(related[(related.indexOf(this.selected) + 1) % related.length]);
    }
  }

  // Pointer and keys.

  listen() {
    const { canvas } = this;
    let drag = null;
    const local = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener('pointerdown', (event) => {
      drag = { x: event.clientX, view: this.view, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      const [x, y] = local(event);
      if (drag) {
        const by = event.clientX - drag.x;
        drag.moved ||= Math.abs(by) > 3;
        if (drag.moved) this.show(drag.view.from - by / this.scale, drag.view.to - by / this.scale);
      }
      this.hover(drag?.moved ? undefined : this.at(x, y), event);
    });
    canvas.addEventListener('pointerup', (event) => {
      if (drag && !drag.moved) this.select(this.at(...local(event))?.i ?? -1);
      drag = null;
    });
    canvas.addEventListener('pointercancel', () => (drag = null));
    canvas.addEventListener('pointerleave', () => this.hover());
    canvas.addEventListener('dblclick', (event) => {
      const there = this.at(...local(event));
      if (there) this.choose(there.i, true);
    });
    canvas.addEventListener('wheel', (event) => {
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      if (event.ctrlKey || event.metaKey) this.zoom(1.0018 ** event.deltaY, local(event)[0]);
      else if (Math.abs(sideways) > (event.shiftKey ? 0 : Math.abs(event.deltaY))) this.pan(sideways / 1200);
      else return;
      event.preventDefault();
    }, { passive: false });
    this.scroller.addEventListener('scroll', () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(this.scroller);
    canvas.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = {
        '+': () => this.zoom(1 / 1.5), '=': () => this.zoom(1 / 1.5), w: () => this.zoom(1 / 1.5), '-': () => this.zoom(1.5), s: () => this.zoom(1.5),
        a: () => this.pan(-0.2), d: () => this.pan(0.2), 0: () => this.showAll(), Home: () => this.showAll(), End: () => this.showEnd(),
        ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), ArrowUp: () => this.step(-1, true), ArrowDown: () => this.step(1, true),
        Enter: () => this.selected >= 0 && this.reveal(this.selected, true), Escape: () => this.select(-1), c: () => this.toRelated(),
      }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (act) {
        act();
        event.preventDefault();
      }
    });
  }

  hover(there, event) {
    const box = byId('hover');
    box.hidden = !there;
    if (!there) return;
    const { regions } = this, { i, count } = there, lane = regions.laneOf(i);
    const lines = [
      `${lane.name}, ${shortTime(regions.duration[i])} (host-observed), from ${this.timeText(regions.start[i], 1)}`,
      regions.flags[i] & FAILED && `failed, status ${regions.status[i]}`,
      regions.flags[i] & UNFINISHED && 'unfinished: it was running at the last moment known',
      regions.bytes[i] && byteText(regions.bytes[i]),
      regions.correlation[i] && `correlation ${exactly(regions.correlation, i)}`,
      count > 1 && `the longest of ${grouped(count)} here`,
    ];
    box.replaceChildren(element('div', { class: 'name' }, printable(regions.labelOf(i))), ...lines.filter(Boolean).map((line) => element('div', {}, line)));
    const width = box.offsetWidth, height = box.offsetHeight;
    box.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
    box.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
  }
}

/** Whether nothing was overwritten. The moment since when that holds does not tell: it may be the very first. */
const isComplete = ({ account }) => !Number(account.overwritten) && !Number(account.overtaken);

/** What a capture is called beside others. */
function captureName(capture) {
  const attributes = Object.entries(capture.attributes).map(([key, value]) => ` ${key}=${value}`).join('');
  return printable(`${capture.program || 'unnamed program'}${attributes}, process ${capture.pid}: ${capture.file}`);
}
