// What the timeline shows: the rows from top to bottom, and the window of time that is in view.

const LANE_GAP = 7, HEAD = 20, MARKS = 17, AXIS = 22, NARROWEST_NS = 20;
// Rows are higher if there are few.
let ROW, BAR;

class TimelineView {
  constructor(regions, captures) {
    Object.assign(this, { regions, captures });
    this.canvas = byId('canvas');
    this.scroller = byId('scroller');
    this.last = captures.map((capture) => Number(capture.last_ns) - regions.base);
    const to = Math.max(NARROWEST_NS, ...this.last);
    this.whole = { from: -to * 0.004, to: to * 1.012 };
    this.view = { ...this.whole };
    this.layOut();
  }

  /** Computes where each row is, counted from the top of the first. */
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

  get gutter() { return this.width < 560 ? 74 : 118; }

  timeAt(x) { return this.view.from + (x - this.gutter) / this.scale; }

  xAt(time) { return this.gutter + (time - this.view.from) * this.scale; }

  /** A moment in words, with as many digits as a step needs. */
  timeText(time, step = (this.view.to - this.view.from) / 1000) {
    const absolute = time + this.regions.base;
    const [unit, name] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs']].find(([unit]) => absolute >= unit * 0.9 || step >= unit) ?? [1, 'ns'];
    const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(unit) - Math.log10(Math.max(1, step)) - 1e-9)));
    return `${(absolute / unit).toFixed(digits)} ${name}`;
  }

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

  /** Shows the last hundredth of the time. */
  showEnd() { this.show(this.whole.to - (this.whole.to - this.whole.from) / 100, this.whole.to); }

  /** Brings a region into view. Zooms only if the region would be too small to see, or with `close`. */
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

  /** Calls the subclass's `draw` in the browser's next frame: once, however often it was asked for. */
  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }
}
