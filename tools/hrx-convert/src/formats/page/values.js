// The values under the timeline: a band for each, of the very time that is in view. Between two samples a value stays what it was.

const VALUE_BAND = 40, VALUES_SHOWN = 6, VALUES_MOST = 300;

/** A number as people read it. */
function numberText(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return value === null || value === undefined ? 'not finite' : String(value);
  const size = Math.abs(value);
  if (size && (size >= 1e15 || size < 1e-4)) return value.toExponential(3);
  return Number.isInteger(value) ? value.toLocaleString('en') : value.toLocaleString('en', { maximumSignificantDigits: size >= 1e6 ? 9 : 6 });
}

/** The same in little room: 1.796 G. */
function shortNumber(value) {
  const size = Math.abs(value ?? NaN);
  if (!(size >= 1e6 && size < 1e15)) return numberText(value);
  const [unit, name] = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M']].find(([unit]) => size >= unit);
  return `${(value / unit).toLocaleString('en', { maximumSignificantDigits: 4 })} ${name}`;
}

class Values {
  constructor(layout, bytes, at, captures) {
    this.bands = [];
    this.shownMost = VALUES_SHOWN;
    const { values } = layout;
    if (!values?.count) return;
    const { start, series, number } = readColumns(values, bytes, at, { start: Float64Array, series: Uint32Array });
    addUp(start, values.base_ns, layout.base_ns);
    const several = captures.length > 1;
    this.bands = layout.series.map(([capture, label]) => ({ name: printable(layout.names[label]) + (several ? ` (process ${captures[capture].pid})` : ''), times: [], numbers: [] }));
    for (let i = 0; i < values.count; i++) {
      const band = this.bands[series[i]];
      band.times.push(start[i]);
      band.numbers.push(number[i]);
    }
  }

  get shownBands() { return this.bands.slice(0, this.shownMost); }

  get height() { return this.shownBands.length * VALUE_BAND; }

  /** The least and the most at each pixel right of the gutter, NaN where there is none yet, and those of the whole view. */
  levels({ times, numbers }, timeline) {
    const { view, scale, gutter } = timeline, count = Math.max(1, Math.ceil(timeline.width - gutter));
    const low = new Float64Array(count).fill(NaN), high = new Float64Array(count).fill(NaN);
    let at = upperBound(times, view.from), value = at ? numbers[at - 1] : NaN, least = Infinity, most = -Infinity;
    const last = Math.max(...timeline.last) + 1 / scale;
    for (let pixel = 0; pixel < count; pixel++) {
      const to = view.from + (pixel + 1) / scale;
      let lowest = value, highest = value;
      for (; at < times.length && times[at] < to; at++) {
        value = numbers[at];
        lowest = Number.isNaN(lowest) ? value : Math.min(lowest, value);
        highest = Number.isNaN(highest) ? value : Math.max(highest, value);
      }
      // Nothing is known beyond the last sign of life.
      if (to > last) break;
      if (!Number.isFinite(lowest) || !Number.isFinite(highest)) continue;
      [low[pixel], high[pixel]] = [lowest, highest];
      least = Math.min(least, lowest);
      most = Math.max(most, highest);
    }
    return { low, high, least, most };
  }

  /** Draws the bands, and remembers them for `text` and `at`. */
  draw(context, timeline) {
    const { colour, gutter, width } = timeline, bands = this.shownBands;
    context.fillStyle = colour.back;
    context.fillRect(0, 0, width, this.height);
    this.shown = bands.map((band) => this.levels(band, timeline));
    this.shown.forEach(({ low, high, least, most }, index) => {
      const top = index * VALUE_BAND, foot = top + VALUE_BAND - 6, room = VALUE_BAND - 12, { name, numbers } = bands[index];
      const y = (value) => most > least ? foot - ((value - least) / (most - least)) * room : foot - room / 2;
      context.fillStyle = colour.line;
      context.fillRect(0, top + VALUE_BAND - 1, width, 1);
      context.fillRect(gutter - 1, top, 1, VALUE_BAND);
      context.textBaseline = 'middle';
      context.font = '12px system-ui, sans-serif';
      context.fillStyle = colour.text;
      context.fillText(timeline.fitting(name, gutter - 12), 6, top + 12);
      context.font = '11px system-ui, sans-serif';
      context.fillStyle = colour.quiet;
      context.fillText(timeline.fitting(`last ${shortNumber(numbers.at(-1))}`, gutter - 12), 6, top + 27);
      context.fillStyle = colour.tick;
      for (let pixel = 0, before = NaN; pixel < low.length; pixel++) {
        if (Number.isNaN(low[pixel])) {
          before = NaN;
          continue;
        }
        // From where the last pixel was to where this one is.
        const from = Number.isNaN(before) ? low[pixel] : Math.min(low[pixel], before), to = Number.isNaN(before) ? high[pixel] : Math.max(high[pixel], before);
        context.fillRect(gutter + pixel, y(to) - 0.75, 1, Math.max(1.5, y(from) - y(to) + 1.5));
        context.globalAlpha = 0.14;
        context.fillRect(gutter + pixel, y(to), 1, Math.max(0, foot + 2 - y(to)));
        context.globalAlpha = 1;
        before = low[pixel] === high[pixel] ? low[pixel] : before > high[pixel] ? high[pixel] : before < low[pixel] ? low[pixel] : before;
      }
      if (most > least) {
        context.fillStyle = colour.quiet;
        context.font = '9.5px system-ui, sans-serif';
        for (const [value, at] of [[most, top + 7], [least, foot + 1]]) {
          const text = shortNumber(value), { width: wide } = context.measureText(text);
          context.globalAlpha = 0.75;
          context.fillStyle = colour.back;
          context.fillRect(gutter + 1, at - 5, wide + 6, 10);
          context.globalAlpha = 1;
          context.fillStyle = colour.quiet;
          context.fillText(text, gutter + 4, at);
        }
      }
    });
  }

  /** What was drawn last, in words. */
  text() {
    const said = this.shown.map(({ least, most }, index) => {
      const { name, numbers } = this.shownBands[index], span = most < least ? 'nothing in view' : most === least ? numberText(least) : `${numberText(least)} to ${numberText(most)}`;
      return `${name} ${span}, last ${numberText(numbers.at(-1))}`;
    });
    return `Values over time (host-observed): ${said.join('; ')}`;
  }

  /** What a point of the bands shows, in words. */
  at(x, y, timeline) {
    const band = this.shownBands[Math.floor(y / VALUE_BAND)], time = timeline.timeAt(x);
    if (!band || x < timeline.gutter) return undefined;
    const place = upperBound(band.times, time) - 1;
    if (place < 0) return `${band.name}: no sample yet at ${timeline.timeText(time)}`;
    return `${band.name}: ${numberText(band.numbers[place])} at ${timeline.timeText(time)}, sampled at ${timeline.timeText(band.times[place], 1)}`;
  }
}
