// The statistics of a range of time: of all regions of the timeline that ran in it, by lane and label. Exact, in contrast to the tables'.

const RANGE_ROWS_MAX = 1000;

/** Counts, failures, busy time and durations of the regions in [from, to), of each group and each lane. */
function rangeFigures(regions, from, to) {
  const { groups, lanes } = regions.layout;
  const make = () => ({ count: 0, failed: 0, unfinished: 0, busy: 0, until: from, durations: [] });
  const byGroup = groups.map(() => null), byLane = lanes.map(() => null);
  let count = 0;
  for (let i = 0; i < regions.count && regions.start[i] < to; i++) {
    // A region without duration is in the range in which it began.
    if (regions.end[i] <= from && !(regions.duration[i] === 0 && regions.start[i] === from)) continue;
    const group = regions.group[i], [lane] = groups[group], flags = regions.flags[i];
    const end = Math.min(regions.end[i], to);
    count++;
    for (const figures of [byGroup[group] ??= make(), byLane[lane] ??= make()]) {
      // Regions come in the order of their beginnings, so what ran at once is covered from the left.
      if (end > figures.until) figures.busy += end - Math.max(regions.start[i], figures.until);
      figures.until = Math.max(figures.until, end);
      if (flags & UNFINISHED) {
        figures.unfinished++;
        continue;
      }
      figures.count++;
      figures.failed += flags & FAILED;
      figures.durations.push(regions.duration[i]);
    }
  }
  return { count, byGroup, byLane };
}

/** The smallest duration that this share of the sorted ones does not exceed. */
const percentile = (sorted, share) => sorted.length ? sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] : null;

function rangeTable(regions, captures, labels, { byGroup, byLane }, span) {
  const { groups, lanes } = regions.layout;
  const row = (kind, name, figures) => {
    const sorted = Float64Array.from(figures.durations).sort();
    return {
      kind, cells: [
        name, data(figures.count, grouped(figures.count)), data(figures.failed, grouped(figures.failed)), data(figures.unfinished, grouped(figures.unfinished)), data(figures.busy, percent(figures.busy / span)),
        ...[percentile(sorted, 0.5), percentile(sorted, 0.99), percentile(sorted, 1)].map(time),
      ],
    };
  };
  const groupsOfLane = lanes.map(() => []);
  groups.forEach(([lane, label], group) => byGroup[group] && groupsOfLane[lane].push([label, byGroup[group]]));
  const rows = [];
  lanes.forEach((lane, index) => {
    if (!byLane[index]) return;
    rows.push(() => row('lane', captures.length > 1 ? `${printable(lane.name)}, ${captureName(captures[lane.capture])}` : printable(lane.name), byLane[index]));
    groupsOfLane[index].sort(([, one], [, other]) => other.busy - one.busy);
    for (const [label, figures] of groupsOfLane[index]) rows.push(() => row(figures.failed ? 'bad' : '', inner(labels.inTable(regions.layout.names[label])), figures));
  });
  const left = rows.length - RANGE_ROWS_MAX;
  return [
    table(['<', 'Count', 'Failed', 'Unfinished', 'Busy', 'p50', 'p99', 'Max'], rows.slice(0, RANGE_ROWS_MAX).map((make) => make())),
    ...(left > 0 ? [element('p', { class: 'quiet' }, `${plural(left, 'row')} left out.`)] : []),
  ];
}

/** Shows the statistics of the timeline's range, or nothing if it has none. */
function showRange(timeline, labels) {
  const place = byId('range'), { regions, range, captures } = timeline;
  place.replaceChildren();
  if (!range) return;
  const figures = rangeFigures(regions, range.from, range.to), span = range.to - range.from;
  const button = (text, act) => {
    const made = element('button', { type: 'button' }, text);
    made.addEventListener('click', act);
    return made;
  };
  place.append(
    element('p', { class: 'bar' },
      element('strong', {}, 'Range'), `${plural(figures.count, 'region')} in ${shortTime(span)}, from ${timeline.timeText(range.from, span / 1000)} to ${timeline.timeText(range.to, span / 1000)}`,
      button('Zoom to it', () => timeline.show(range.from, range.to)), button('Clear', () => timeline.setRange(null))),
    ...(figures.count ? rangeTable(regions, captures, labels, figures, span) : []),
    element('p', { class: 'quiet' }, 'All that ran in the range, with their whole durations. Busy: share of the range with at least one running. Host-observed.'),
  );
}
