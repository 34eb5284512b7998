// The timeline under the pointer and the keys: selecting, searching, moving.

class Timeline extends TimelineDrawing {
  constructor(regions, captures, onSelect) {
    super(regions, captures);
    this.onSelect = onSelect;
    this.listen();
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

  /** Dims the regions whose label does not contain the text. Returns how many do contain it. */
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

  /** Selects the next match (`by` 1) or the one before (-1), wrapping around. */
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
