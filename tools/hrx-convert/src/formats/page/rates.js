// The bandwidth of copies under the timeline: a band for each lane, of the very time that is in view. All ranks' lanes of one number share a band.

const BAND = 34, BANDS_MAX = 4;

class Rates {
  constructor(regions) {
    this.regions = regions;
    const lanes = new Map();
    for (let row = 0; row < regions.laneOfRow.length; row++) {
      const bytes = regions.bytesBefore[regions.from[row + 1]] - regions.bytesBefore[regions.from[row]];
      if (!bytes) continue;
      const { lane, name } = regions.layout.lanes[regions.laneOfRow[row]];
      if (!lanes.has(lane)) lanes.set(lane, { name: printable(name), bytes: 0, rows: [] });
      lanes.get(lane).bytes += bytes;
      lanes.get(lane).rows.push(row);
    }
    this.bands = [...lanes.values()].sort((one, other) => other.bytes - one.bytes);
    if (this.bands.length > BANDS_MAX) {
      const others = this.bands.splice(BANDS_MAX - 1);
      this.bands.push({ name: plural(others.length, 'other lane'), rows: others.flatMap((lane) => lane.rows) });
    }
  }

  get height() { return this.bands.length * BAND; }

  /** Gigabytes per second at each pixel right of the gutter. A region's bytes are spread evenly over its duration, which is 1 ns at least. */
  rates({ rows }, timeline) {
    const { regions } = this, { view, scale, gutter } = timeline;
    const pixels = new Float64Array(Math.max(1, Math.ceil(timeline.width - gutter)));
    const add = (pixel, bytes) => (pixels[Math.min(pixels.length - 1, Math.max(0, pixel))] += bytes);
    for (const row of rows) {
      const high = regions.from[row + 1];
      for (let place = regions.endsAfter(view.from, regions.from[row], high); place < high;) {
        const i = regions.order[place], start = regions.start[i];
        if (start >= view.to) break;
        const wide = Math.max(1, regions.duration[i]) * scale >= 1;
        if (wide) {
          const bytes = regions.bytesBefore[place + 1] - regions.bytesBefore[place];
          const from = (start - view.from) * scale, to = from + Math.max(1, regions.duration[i]) * scale;
          if (bytes) {
            for (let pixel = Math.max(0, Math.floor(from)); pixel < Math.min(pixels.length, to); pixel++) {
              add(pixel, bytes * (Math.min(to, pixel + 1) - Math.max(from, pixel)) / (to - from));
            }
          }
          place++;
          continue;
        }
        const pixel = Math.floor((start - view.from) * scale);
        let next = regions.beginsFrom(view.from + (pixel + 1) / scale, place + 1, high);
        // The last one may be wider than the pixel.
        if (next > place + 1 && Math.max(1, regions.duration[regions.order[next - 1]]) * scale >= 1) next--;
        add(pixel, regions.bytesBefore[next] - regions.bytesBefore[place]);
        place = next;
      }
    }
    return pixels.map((bytes) => bytes * scale);
  }

  /** Draws all bands, and remembers them for `text` and `at`. */
  draw(context, timeline) {
    const { colour, gutter, width } = timeline;
    context.fillStyle = colour.back;
    context.fillRect(0, 0, width, this.height);
    this.shown = this.bands.map((band) => this.rates(band, timeline));
    this.shown.forEach((rates, index) => {
      const top = index * BAND, foot = top + BAND - 4, highest = rates.reduce((one, other) => Math.max(one, other), 0);
      context.fillStyle = colour.line;
      context.fillRect(0, top + BAND - 1, width, 1);
      context.fillRect(gutter - 1, top, 1, BAND);
      context.textBaseline = 'middle';
      context.font = '12px system-ui, sans-serif';
      context.fillStyle = colour.text;
      context.fillText(timeline.fitting(this.bands[index].name, gutter - 12), 6, top + 10);
      context.font = '11px system-ui, sans-serif';
      context.fillStyle = colour.quiet;
      context.fillText(timeline.fitting(highest ? `${bandwidth(highest)} GB/s` : 'none', gutter - 12), 6, top + 24);
      context.fillStyle = colour.accent;
      context.globalAlpha = 0.75;
      context.beginPath();
      rates.forEach((rate, pixel) => rate && context.rect(gutter + pixel, foot - Math.max(1, (rate / highest) * (BAND - 8)), 1, Math.max(1, (rate / highest) * (BAND - 8))));
      context.fill();
      context.globalAlpha = 1;
    });
  }

  /** What was drawn last, in words. */
  text(timeline) {
    const most = this.shown.map((rates, index) => `${this.bands[index].name} at most ${bandwidth(rates.reduce((one, other) => Math.max(one, other), 0))} GB/s`);
    return `Copy bandwidth over time: ${most.join(', ')}, by ${shortTime(Math.max(1, 1 / timeline.scale))}`;
  }

  /** What a point of the bands shows, in words. */
  at(x, y, timeline) {
    const index = Math.floor(y / BAND), pixel = Math.floor(x - timeline.gutter), rate = this.shown?.[index]?.[pixel];
    return rate === undefined ? undefined : `${this.bands[index].name}: ${rate ? `${bandwidth(rate)} GB/s` : 'nothing copied'} at ${timeline.timeText(timeline.timeAt(x))}`;
  }
}
