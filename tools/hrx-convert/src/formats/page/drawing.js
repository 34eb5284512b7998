// Draws the timeline: a row for each line of a lane, on one canvas. The cost of a row depends on its pixels, not on its regions: where many regions
// share a pixel, one bar stands for all of them, more opaque the more of the pixel's time they take, and a binary search leads to the next pixel.

/** Regions from this many pixels on have a bar of their own. */
const DEFINITE = 1.5;
/** Steps of the axis in seconds, where days, hours and minutes are round. */
const CLOCK_STEPS = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];

/** Gives a canvas as many pixels as the screen has for it. Drawing on it then counts in CSS pixels. */
function fitCanvas(canvas, width, height, ratio) {
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  canvas.getContext('2d').setTransform(ratio, 0, 0, ratio, 0, 0);
}

class TimelineDrawing extends TimelineView {
  constructor(regions, marks, captures, labels) {
    super(regions, captures);
    this.marks = marks;
    this.labels = regions.layout.names.map(printable);
    this.differs = this.labels.map((label) => labels.differs.get(label));
    this.fitted = new Map();
    this.complete = captures.map((capture) => Number(capture.complete_since_ns) - regions.base);
    // What is highlighted: a range of time, a region, the regions of its correlation, and the matches of a search.
    this.range = null;
    this.selected = -1;
    this.selectedMark = -1;
    this.related = [];
    this.matched = null;
    this.colours();
  }

  colours() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colour = Object.fromEntries(['back', 'raised', 'text', 'quiet', 'line', 'accent', 'bad', 'mark', 'tick', 'light', 'ink'].map((name) => [name, value(name)]));
    this.dim = Number(value('dim'));
    this.fills = this.regions.layout.names.map((label) => {
      let hash = 7;
      for (let i = 0; i < label.length; i++) hash = (Math.imul(hash, 31) + label.charCodeAt(i)) >>> 0;
      // Steps of the golden angle. Red is left to failures.
      return `hsl(${20 + ((hash % 997) * 137.5) % 320} 52% ${this.colour.light})`;
    });
  }

  draw() {
    const { canvas, regions, view } = this;
    const visible = this.drawOn(canvas, canvas.clientWidth, canvas.clientHeight, devicePixelRatio || 1, this.scroller.scrollTop);
    byId('window').textContent = `${plural(visible, 'region')} of ${grouped(regions.count)} in view, ${shortTime(view.to - view.from)} from ${this.timeText(Math.max(view.from, 0))}`;
  }

  /** Draws the view on any canvas, from `scrolled` pixels below the first row on. Returns how many regions are in view, drawn or not. */
  drawOn(canvas, width, height, ratio, scrolled) {
    const { regions, view, colour } = this, context = canvas.getContext('2d');
    Object.assign(this, { context, width });
    fitCanvas(canvas, width, height, ratio);
    this.scale = (this.width - this.gutter) / (view.to - view.from);
    this.shift = AXIS - scrolled;
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
    regions.layout.lanes.forEach((lane, index) => {
      const y = this.rowTop[regions.firstRow[index]] + this.shift;
      if (y > AXIS - ROW && y < height) this.drawMarks(index, y);
    });
    this.drawRelated();
    this.drawRange(height);
    this.drawEnds(height);
    context.restore();
    this.drawAxis();
    this.drawNames(height);
    return visible;
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
      // One bar for all regions that begin in this pixel, up to the next one that is wide enough for its own.
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
    // A thin gap before the next region.
    context.fillRect(from, y, Math.max(1, room - (room > 4 ? 0.5 : 0)), BAR);
    if (flags & FAILED) {
      context.fillStyle = colour.bad;
      context.fillRect(from, y + BAR - 4, room, 4);
    }
    if (flags & CANCELLED) {
      context.fillStyle = colour.quiet;
      context.fillRect(from, y + BAR - 4, room, 4);
    }
    if (flags & UNFINISHED) {
      context.strokeStyle = flags & WAITING ? colour.mark : colour.bad;
      context.setLineDash([4, 3]);
      context.lineWidth = 2;
      context.strokeRect(from + 1, y + 1, Math.max(1, room - 2), BAR - 2);
      context.setLineDash([]);
      context.lineWidth = 1;
    }
    if (room > 34) {
      context.fillStyle = colour.ink;
      const label = this.labelIndex(i), sign = flags & FAILED ? '✗ ' : '';
      const name = sign + this.labels[label] + (flags & WAITING ? ' (waiting)' : flags & UNFINISHED ? ' (unfinished)' : flags & CANCELLED ? ' (cancelled)' : '');
      context.fillText(this.fitting(name, room - 8, sign.length + this.differs[label]), from + 4, y + BAR / 2 + 0.5);
    }
  }

  /** The marks of a lane, on its first row: a tick each, or one for all that share a pixel. Where no region runs, with their labels. */
  drawMarks(lane, y) {
    const { marks, regions, context, view, colour, matched } = this, list = marks.lanes[lane], row = regions.firstRow[lane];
    const bare = regions.from[row] === regions.from[row + 1];
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (let place = marks.from(lane, view.from); place < list.length && marks.start[list[place]] < view.to;) {
      const x = Math.floor(this.xAt(marks.start[list[place]])), next = Math.max(place + 1, marks.from(lane, this.timeAt(x + 1)));
      let found = !matched, chosen = false;
      for (let at = place; at < next && at < place + 1000; at++) {
        found ||= matched?.marks[list[at]] === 1;
        chosen ||= list[at] === this.selectedMark;
      }
      context.globalAlpha = found ? 1 : this.dim;
      context.fillStyle = chosen ? colour.accent : colour.tick;
      context.fillRect(x, y - 1, chosen ? 3 : 2, BAR + 2);
      context.beginPath();
      context.moveTo(x - 4, y - 2);
      context.lineTo(x + 6, y - 2);
      context.lineTo(x + 1, y + 5);
      context.fill();
      if (bare) {
        const end = next < list.length ? Math.min(this.xAt(marks.start[list[next]]), this.width) : this.width;
        if (end - x > 34) {
          const label = regions.layout.groups[marks.group[list[place]]][1];
          context.fillStyle = colour.text;
          context.fillText(this.fitting(this.labels[label], end - x - 14, this.differs[label]), x + 9, y + BAR / 2 + 0.5);
        }
      }
      place = next;
    }
    context.globalAlpha = 1;
  }

  /** The text, cut in the middle if there is not enough room. Widths are estimated first and kept afterwards, because measuring is slow. */
  fitting(text, room, differs = 0) {
    if (text.length * 7 < room) return text;
    room = Math.floor(room / 6) * 6;
    const key = `${room} ${this.context.font} ${text}`, known = this.fitted.get(key);
    if (known !== undefined) return known;
    const fits = (text) => this.context.measureText(text).width <= room;
    let low = 0, high = Math.min(text.length, Math.floor(room / 3));
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (fits(cut(text, middle, differs))) low = middle;
      else high = middle - 1;
    }
    const fitting = low > 1 ? cut(text, low, differs) : '';
    if (this.fitted.size > 20_000) this.fitted.clear();
    this.fitted.set(key, fitting);
    return fitting;
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

  drawRange(height) {
    if (!this.range) return;
    const { context, colour } = this;
    const from = Math.max(this.xAt(this.range.from), this.gutter - 2), to = Math.min(this.xAt(this.range.to), this.width + 2);
    context.fillStyle = context.strokeStyle = colour.accent;
    context.globalAlpha = 0.12;
    context.fillRect(from, AXIS, to - from, height);
    context.globalAlpha = 1;
    context.strokeRect(from, AXIS - 2, to - from, height);
  }

  /** Hatches the time in which some ring has lost events to overwriting. */
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

  /** A line where each capture ends. */
  drawEnds() {
    const words = { live: 'read here', finished: 'finished' };
    for (const { capture, top, bottom } of this.extents) {
      const { ending } = this.captures[capture];
      const colour = ['live', 'finished', 'left-by-exit'].includes(ending) ? this.colour.quiet : this.colour.bad;
      this.upright(this.xAt(this.last[capture]), top + this.shift, bottom + this.shift, colour, words[ending] ?? 'last sign of life', true);
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

  /** Moments on the axis. Between them: 1, 2 or 5 times a power of ten of nanoseconds or days, or a round number of seconds. */
  *ticks() {
    const room = this.regions.base + this.view.to < CLOCK_NS ? 110 : 145;
    const rough = room / this.scale, unit = rough > 43200e9 ? 86400e9 : 1, power = 10 ** Math.floor(Math.log10(rough / unit)) * unit;
    const decimal = Math.max(unit, [1, 2, 5, 10].find((factor) => factor * power >= rough) * power);
    const step = (rough > 10e9 && CLOCK_STEPS.find((seconds) => seconds * 1e9 >= rough) * 1e9) || decimal;
    // Round in the timeline's own times, which do not begin with the first region.
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
    if (this.gutter < 100) context.font = '9.5px system-ui, sans-serif';
    context.fillText('host-observed', 6, AXIS / 2);
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
      context.fillText(this.fitting(printable(lane.name), this.gutter - 12), 6, y + BAR / 2);
      if (lane.rows > 1) {
        context.fillStyle = colour.quiet;
        context.fillText(this.fitting(lane.rows < ROWS_MAX ? `${lane.rows} at once` : `${lane.rows} or more at once`, this.gutter - 20), 12, y + BAR / 2 + ROW);
      }
    });
    context.restore();
  }
}
