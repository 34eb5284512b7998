// The timeline under the pointer and the keys: selecting regions and ranges, searching, moving.

class Timeline extends TimelineDrawing {
  /** `on` has what to call: `select` with a region and those of its correlation, `mark` with a mark, `range`, and `draw` after each drawing. */
  constructor(regions, marks, captures, labels, on) {
    super(regions, marks, captures, labels);
    this.on = on;
    this.listen();
  }

  draw() {
    super.draw();
    this.on.draw();
  }

  /** The region at a point of the canvas, and how many regions share its pixel; undefined if there is none. */
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

  /** The mark at a point of the canvas, and how many are there; undefined if there is none. */
  markAt(x, y) {
    const { marks, regions } = this;
    if (x < this.gutter || y < AXIS) return undefined;
    const row = this.rowTop.findLastIndex((top) => top + this.shift - 2 <= y), lane = regions.laneOfRow[row];
    if (row < 0 || row !== regions.firstRow[lane] || y > this.rowTop[row] + this.shift + BAR + 2) return undefined;
    const low = marks.from(lane, this.timeAt(x - 5)), high = marks.from(lane, this.timeAt(x + 5));
    if (low === high) return undefined;
    const near = marks.from(lane, this.timeAt(x)), list = marks.lanes[lane];
    const distance = (place) => place < low || place >= high ? Infinity : Math.abs(this.xAt(marks.start[list[place]]) - x);
    return { mark: list[distance(near) < distance(near - 1) ? near : near - 1], count: high - low };
  }

  selectMark(mark) {
    this.selected = -1;
    this.related = [];
    this.selectedMark = mark;
    this.on.mark(mark);
    this.redraw();
  }

  /** Selects a mark and brings it into view. */
  chooseMark(mark) {
    const { view } = this, time = this.marks.start[mark], width = view.to - view.from;
    this.selectMark(mark);
    if (time < view.from || time > view.to) this.show(time - width / 2, time + width / 2);
  }

  select(i) {
    const { regions } = this;
    this.selectedMark = -1;
    this.selected = i;
    this.related = [];
    if (i >= 0) {
      const correlation = regions.correlation[i], exact = exactly(regions.correlation, i), { capture } = regions.laneOf(i);
      if (correlation === 0) this.related = [i];
      for (let other = 0; correlation && other < regions.count && this.related.length < 10_000; other++) {
        if (regions.correlation[other] === correlation && exactly(regions.correlation, other) === exact && regions.laneOf(other).capture === capture) this.related.push(other);
      }
    }
    this.on.select(i, this.related);
    this.redraw();
  }

  /** Selects the neighbour in the row (`by` 1 or -1), or with `rows` the region above or below it. */
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

  /** Dims the regions that a text does not find. */
  search(text) {
    this.matched = text.trim() ? findRegions(this.regions, this.marks, text) : null;
    this.redraw();
  }

  /** Marks a range of time, or none. */
  setRange(range) {
    this.range = range;
    this.on.range();
    this.redraw();
  }

  /** Selects the next match (`by` 1) or the one before (-1), wrapping around: of the regions, or of the marks if no region matches. */
  toMatch(by) {
    const { regions, marks, matched } = this;
    if (!matched?.count && matched?.markCount) {
      let mark = this.selectedMark < 0 && by < 0 ? 0 : this.selectedMark;
      do mark = (mark + by + marks.count) % marks.count;
      while (!matched.marks[mark]);
      this.chooseMark(mark);
    }
    if (!matched?.count) return;
    let i = this.selected < 0 && by < 0 ? 0 : this.selected;
    do i = (i + by + regions.count) % regions.count;
    while (matched.before[regions.place[i] + 1] === matched.before[regions.place[i]]);
    this.choose(i);
  }

  toRelated() {
    if (this.related.length > 1) {
      const related = this.related;
      this.choose(related[(related.indexOf(this.selected) + 1) % related.length]);
    }
  }

  /** The part of the view that the captures cover. */
  inView() { return { from: Math.max(0, this.view.from), to: Math.min(Math.max(1, ...this.last), this.view.to) }; }

  listen() {
    const { canvas } = this;
    let drag = null;
    const between = (one, other) => ({ from: Math.min(one, other), to: Math.max(one, other, Math.min(one, other) + 1) });
    const local = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener('pointerdown', (event) => {
      drag = { x: event.clientX, view: this.view, moved: false, from: event.shiftKey ? this.timeAt(Math.max(local(event)[0], this.gutter)) : null };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      const [x, y] = local(event);
      if (drag) {
        const by = event.clientX - drag.x;
        drag.moved ||= Math.abs(by) > 3;
        if (drag.moved && drag.from === null) this.show(drag.view.from - by / this.scale, drag.view.to - by / this.scale);
        if (drag.moved && drag.from !== null) {
          // Its statistics wait for the end of the drag.
          this.range = between(drag.from, this.timeAt(Math.max(x, this.gutter)));
          this.redraw();
        }
      }
      this.hover(drag?.moved ? undefined : this.markAt(x, y) ?? this.at(x, y), event);
    });
    canvas.addEventListener('pointerup', (event) => {
      if (drag?.moved && drag.from !== null) this.setRange(this.range);
      if (drag && !drag.moved) {
        const there = this.markAt(...local(event));
        if (there) this.selectMark(there.mark);
        else this.select(this.at(...local(event))?.i ?? -1);
      }
      drag = null;
    });
    canvas.addEventListener('pointercancel', () => (drag = null));
    canvas.addEventListener('pointerleave', () => this.hover());
    canvas.addEventListener('dblclick', (event) => {
      const there = this.markAt(...local(event)) ? undefined : this.at(...local(event));
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
        Enter: () => this.selected >= 0 && this.reveal(this.selected, true), Escape: () => this.selected < 0 && this.selectedMark < 0 ? this.setRange(null) : this.select(-1), c: () => this.toRelated(), r: () => this.setRange(this.inView()),
      }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (act) {
        act();
        event.preventDefault();
      }
    });
  }

  hover(there, event) {
    if (!there) return this.tell();
    if (there.mark !== undefined) return this.hoverMark(there, event);
    const { regions } = this, { i, count } = there, lane = regions.laneOf(i), flags = regions.flags[i];
    const lines = [
      `${printable(lane.name)}, ${flags & UNFINISHED ? 'at least ' : ''}${shortTime(regions.duration[i])} (host-observed), from ${this.timeText(regions.start[i], 1)}`,
      flags & FAILED && failedText(regions.status[i]),
      flags & CANCELLED && 'cancelled',
      flags & UNFINISHED && `unfinished: it ${flags & WAITING ? 'waited' : 'was running'} at the last sign of life`,
      flags & HIDDEN && 'not shown while it ran: the open table was full',
      regions.bytes[i] && byteText(regions.bytes[i]),
      regions.correlation[i] && `correlation ${exactly(regions.correlation, i)}`,
      argumentsLine(regions.texts.of(i)),
      count > 1 && `the longest of ${grouped(count)} here`,
    ];
    return this.tell([element('span', { class: 'name' }, printable(regions.labelOf(i))), ...lines], event);
  }

  hoverMark({ mark, count }, event) {
    const { marks } = this;
    this.tell([
      element('span', { class: 'name' }, printable(marks.labelOf(mark))),
      `mark on ${printable(marks.laneOf(mark).name)}, at ${this.timeText(marks.start[mark], 1)} (host-observed)`,
      marks.correlation[mark] && `correlation ${exactly(marks.correlation, mark)}`,
      argumentsLine(marks.texts.of(mark)),
      count > 1 && `one of ${grouped(count)} here`,
    ], event);
  }

  /** Shows lines at the pointer, or hides them. */
  tell(lines = [], event) {
    const box = byId('hover');
    box.replaceChildren(...lines.filter(Boolean).map((line) => element('div', {}, line)));
    box.hidden = !box.childNodes.length;
    if (box.hidden) return;
    const width = box.offsetWidth, height = box.offsetHeight;
    box.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
    box.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
  }
}

/** A failure, with its status if it has one. */
const failedText = (status) => status ? `failed, status ${status}` : 'failed';

/** Arguments in one line, or nothing. */
const argumentsLine = (list) => list.length ? cut(list.map(argumentText).join(' '), 240) : '';
