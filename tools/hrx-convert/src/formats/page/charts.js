// Charts: how long the regions of each label took.

const WIDTH = 300, HEIGHT = 90, LEFT = 4, BOTTOM = 16, SHOWN = 12;

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
  svg.setAttribute('aria-label', `Latency of ${printable(named(label))}: p50 ${shortTime(label.p50_ns)}, p99 ${shortTime(label.p99_ns)}, max ${shortTime(label.max_ns)}`);
  return figure(printable(named(label)), `${printable(lane.name)}: ${plural(label.count, 'region')}, p50 ${shortTime(label.p50_ns)}, p99 ${shortTime(label.p99_ns)}, max ${shortTime(label.max_ns)}`, svg);
}

function drawCharts(timeline, regions, captures) {
  const place = byId('charts');
  const labels = captures.flatMap((capture) => capture.lanes.flatMap((lane) => lane.labels.filter((label) => label.histogram?.length).map((label) => [lane, label])));
  labels.sort(([, one], [, other]) => Number(other.total_ns) - Number(one.total_ns));
  if (!labels.length) return;
  const colour = new Map(regions.layout.names.map((label, index) => [label, timeline.fills[index]]));
  const draw = ([lane, label]) => latencyChart(lane, label, colour.get(named(label)) ?? 'gray');
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
