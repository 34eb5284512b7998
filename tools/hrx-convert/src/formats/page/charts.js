// Charts: how long the regions of each label took, and how fast each lane copied over time.

const WIDTH = 300, HEIGHT = 90, LEFT = 4, BOTTOM = 16, BINS = 300, SHOWN = 12;

const chart = (...content) => element('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT + BOTTOM}`, role: 'img' }, ...content);
const caption = (x, text, anchor = 'start') => element('text', { x, y: HEIGHT + 12, 'text-anchor': anchor }, text);
const figure = (title, quiet, svg) => element('figure', {}, element('figcaption', {}, element('strong', {}, title), element('div', { class: 'quiet' }, quiet)), svg);

/** Counts by duration, on a logarithmic axis. */
function latencyChart(lane, label, fill) {
  const bars = label.histogram.map(([upper, count]) => [Math.log2(Math.max(1, Number(upper))), count]);
  const first = bars[0][0] - 0.25, last = Math.max(bars.at(-1)[0], first + 1), highest = Math.max(...bars.map((bar) => bar[1]));
  const x = (power) => LEFT + Math.max(0, (power - first) / (last - first)) * (WIDTH - 2 * LEFT);
  const svg = chart(element('line', { class: 'axis', x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }));
  for (const [power, count] of bars) {
    const height = Math.max(1, (count / highest) * (HEIGHT - 6));
    svg.append(element('rect', { x: x(power - 0.25), width: Math.max(1.5, x(power) - x(power - 0.25) - 0.5), y: HEIGHT - height, height, fill }));
  }
  for (const [name, value] of [['p50', label.p50_ns], ['p99', label.p99_ns]]) {
    const at = x(Math.log2(Math.max(1, Number(value))));
    const right = at > WIDTH - 40;
    svg.append(element('line', { x1: at, x2: at, y1: name === 'p50' ? 12 : 0, y2: HEIGHT, stroke: 'currentColor', 'stroke-dasharray': '2 2' }));
    svg.append(element('text', { x: at + (right ? -3 : 3), y: name === 'p50' ? 20 : 8, 'text-anchor': right ? 'end' : 'start' }, name));
  }
  svg.append(caption(LEFT, shortTime(2 ** first)), caption(WIDTH - LEFT, shortTime(2 ** last), 'end'));
  svg.setAttribute('aria-label', `Latency of ${printable(label.label)}: p50 ${shortTime(label.p50_ns)}, p99 ${shortTime(label.p99_ns)}, max ${shortTime(label.max_ns)}`);
  return figure(printable(label.label), `${lane.name}: ${plural(label.count, 'region')}, p50 ${shortTime(label.p50_ns)}, p99 ${shortTime(label.p99_ns)}, max ${shortTime(label.max_ns)}`, svg);
}

/** Bytes per second in each bin, for each lane that copied. A region's bytes are spread evenly over its duration. */
function bandwidths(regions, to) {
  const lanes = new Map(), bin = to / BINS;
  for (let i = 0; i < regions.count; i++) {
    if (!regions.bytes[i] || !regions.duration[i] || regions.flags[i] & UNFINISHED) continue;
    const lane = regions.layout.groups[regions.group[i]][0];
    if (!lanes.has(lane)) lanes.set(lane, new Float64Array(BINS));
    const bins = lanes.get(lane), rate = regions.bytes[i] / regions.duration[i];
    const first = Math.floor(regions.start[i] / bin);
    for (let at = first; at < BINS && at * bin < regions.end[i]; at++) {
      bins[at] += rate * (Math.min(regions.end[i], (at + 1) * bin) - Math.max(regions.start[i], at * bin));
    }
  }
  for (const bins of lanes.values()) bins.forEach((bytes, at) => (bins[at] = bytes / bin));
  return [...lanes].sort(([one], [other]) => one - other);
}

function bandwidthChart(title, bins, from, to, highest) {
  const x = (at) => LEFT + (at / BINS) * (WIDTH - 2 * LEFT), y = (rate) => HEIGHT - (rate / highest) * (HEIGHT - 14);
  let path = `M${x(0)} ${HEIGHT}`;
  bins.forEach((rate, at) => (path += `L${x(at).toFixed(2)} ${y(rate).toFixed(2)}L${x(at + 1).toFixed(2)} ${y(rate).toFixed(2)}`));
  const svg = chart(
    element('path', { d: `${path}L${x(BINS)} ${HEIGHT}Z`, fill: 'currentColor', 'fill-opacity': 0.35, stroke: 'currentColor', 'stroke-width': 0.5 }),
    element('line', { class: 'axis', x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }),
    element('text', { x: LEFT, y: 9 }, `${bandwidth(highest)} GB/s`), caption(LEFT, shortTime(from)), caption(WIDTH - LEFT, shortTime(from + to), 'end'),
  );
  svg.setAttribute('aria-label', `Copy bandwidth of ${title}: at most ${bandwidth(Math.max(...bins))} GB/s`);
  return figure(title, `at most ${bandwidth(Math.max(...bins))} GB/s, by ${shortTime(to / BINS)}`, svg);
}

function drawCharts(timeline, regions, captures) {
  const place = byId('charts');
  const several = captures.length > 1;
  const rates = bandwidths(regions, Math.max(...timeline.last, 1));
  if (rates.length) {
    place.append(element('h2', {}, 'Copy bandwidth over time'), element('div', { class: 'charts' }, ...rates.map(([index, bins]) => {
      const lane = regions.layout.lanes[index];
      return bandwidthChart(several ? `${lane.name}, ${captureName(captures[lane.capture])}` : lane.name, bins, regions.base, Math.max(...timeline.last, 1), Math.max(...bins));
    })));
  }
  const labels = captures.flatMap((capture) => capture.lanes.flatMap((lane) => lane.labels.filter((label) => label.histogram?.length).map((label) => [lane, label])));
  labels.sort(([, one], [, other]) => Number(other.total_ns) - Number(one.total_ns));
  if (!labels.length) return;
  const colour = new Map(regions.layout.labels.map((label, index) => [label, timeline.fills[index]]));
  const draw = ([lane, label]) => latencyChart(lane, label, colour.get(label.label) ?? 'gray');
  const grid = element('div', { class: 'charts' }, ...labels.slice(0, SHOWN).map(draw));
  place.append(element('h2', {}, 'Latency of each label'), element('p', { class: 'quiet' }, 'How many regions took how long, on a logarithmic axis. Host-observed.'), grid);
  if (labels.length > SHOWN) {
    const more = element('button', { type: 'button' }, `Show ${grouped(labels.length - SHOWN)} more`);
    more.addEventListener('click', () => {
      grid.append(...labels.slice(SHOWN).map(draw));
      more.remove();
    });
    place.append(element('p', {}, more));
  }
}
