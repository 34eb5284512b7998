// What was running at the end: grouped by lane and label, then one by one; the newest is never left out, nor is what does not wait.

/** Regions that are all listed one by one; of more, the newest and the longest are. */
const LISTED = 20, LISTED_OF_MANY = 10, LISTED_MAX = 5000;

/** Arguments of the document, as `batch=64 path="x"`, and how many are lost. */
function argumentsOf({ arguments: all, arguments_lost: lost }) {
  const one = (name, value) => `${name}=${typeof value === 'string' ? JSON.stringify(value) : value}`;
  const said = Object.entries(all ?? {}).flatMap(([name, value]) => [value].flat().map((value) => one(name, value)));
  const left = Number(lost ?? 0) ? [`(${plural(lost, 'argument')} lost)`] : [];
  const text = printable([...said, ...left].join(' '));
  return text.length > 80 ? element('span', { title: text }, cut(text, 80)) : text;
}

/** How many regions of each lane and label were running, how long at least, and when the newest began. */
function runningGroups(regions) {
  const groups = new Map();
  for (const region of regions) {
    const key = JSON.stringify([region.lane, region.group ?? null, region.label]);
    const group = groups.get(key) ?? { count: 0, waiting: 0, longest: region, newest: region };
    group.count++;
    group.waiting += region.waiting;
    if (Number(region.running_ns) > Number(group.longest.running_ns)) group.longest = region;
    if (Number(region.running_ns) <= Number(group.newest.running_ns)) group.newest = region;
    groups.set(key, group);
  }
  return [...groups.values()].sort((one, other) => other.count - one.count || Number(other.longest.running_ns) - Number(one.longest.running_ns));
}

/** The tables of what was running. `find` makes the button that shows a region on the timeline. */
function runningTables(capture, labels, find) {
  const all = capture.open_regions.toSorted((one, other) => Number(one.start_ns) - Number(other.start_ns)), hidden = Number(capture.account.hidden_now ?? 0);
  const shown = (region) => find({ ...region, unfinished: true });
  const ago = (region) => data(region.running_ns, Number(region.running_ns) ? `${shortTime(region.running_ns)} before` : 'at it');
  const row = (region) => ({
    kind: region.waiting ? 'waits' : 'bad',
    cells: [
      printable(region.lane_name), labels.inTable(named(region)), region.waiting ? 'waiting' : '', time(region.running_ns), time(region.start_ns), argumentsOf(region), bytesCell(region.copied_bytes), number(region.correlation_id),
      data(region.thread_id, region.thread === undefined ? String(region.thread_id) : `${printable(region.thread)} (${region.thread_id})`), shown(region),
    ],
  });
  const seen = capture.witness?.seen_exactly && capture.ending !== 'finished';
  const list = (regions) => table(['<Lane', '<Label', '<', seen ? 'For' : 'For at least', 'Since', '<Arguments', 'Bytes', 'Correlation', '<Thread', ''], regions.map(row));
  const groups = runningGroups(all), waiting = all.filter((region) => region.waiting).length;
  const made = [];
  if (all.length + hidden > 1) {
    const told = [waiting && `${grouped(waiting)} of them waiting`, hidden && `and ${grouped(hidden)} more that the full table of open regions does not show`].filter(Boolean);
    made.push(element('p', { class: 'running' }, `${plural(all.length, 'region')}${told.length ? `, ${told.join(', ')}` : ''}.`));
  } else if (hidden) made.push(element('p', { class: 'running' }, `${plural(hidden, 'region')} that the full table of open regions does not show.`));
  if (groups.length < all.length) {
    made.push(table(['<Lane', '<Label', 'Running', 'Waiting', seen ? 'Longest' : 'Longest, at least', '', 'Newest began', ''], groups.map(({ count, waiting, longest, newest }) => ({
      kind: waiting === count ? 'waits' : 'bad',
      cells: [printable(longest.lane_name), labels.inTable(named(longest)), data(count, grouped(count)), data(waiting, waiting ? grouped(waiting) : ''), time(longest.running_ns), shown(longest), ago(newest), shown(newest)],
    }))), element('p', { class: 'quiet' }, seen ? 'Before: before the end was seen.' : 'Before: before the last sign of life.'));
  }
  if (all.length > LISTED) {
    const more = element('button', { type: 'button', class: 'all-running' }, `List all ${grouped(Math.min(all.length, LISTED_MAX))}`);
    const newest = all.toReversed();
    more.addEventListener('click', () => more.parentElement.replaceWith(list(newest.slice(0, LISTED_MAX))));
    const busy = newest.filter((region) => !region.waiting);
    if (busy.length && busy.length < all.length) made.push(element('h3', {}, `Those that do not wait${busy.length > LISTED_OF_MANY ? ', the newest' : ''}`), list(busy.slice(0, LISTED_OF_MANY)));
    made.push(element('h3', {}, 'The newest'), list(newest.slice(0, LISTED_OF_MANY)), element('h3', {}, 'The longest'), list(all.slice(0, LISTED_OF_MANY)), element('p', {}, more));
  } else if (all.length) made.push(list(all));
  return made.length ? made : [element('p', {}, 'Nothing.')];
}
