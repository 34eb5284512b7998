// The tables of the summary: the same figures as `hrx-convert --summary`.

/** A table. "<" before a heading makes its column one of text. A click on a heading sorts. */
function table(headings, rows) {
  const text = headings.map((heading) => heading.startsWith('<'));
  const cell = (name, content, column) => element(name, text[column] ? { class: 'text' } : {}, content);
  const buttons = headings.map((heading) => heading.replace('<', '') && element('button', { type: 'button', title: 'Sort' }, heading.replace('<', '')));
  const heads = headings.map((_, column) => {
    const made = cell('th', buttons[column] || '', column);
    made.scope = 'col';
    return made;
  });
  const made = rows.map(({ kind = '', cells }) => element('tr', kind ? { class: kind } : {}, ...cells.map((content, column) => cell('td', content, column))));
  const body = element('tbody', {}, ...made);
  buttons.forEach((button, column) => button && button.addEventListener('click', () => {
    // Figures begin with the largest; the third click restores the order.
    const cycle = text[column] ? ['ascending', 'descending', null] : ['descending', 'ascending', null];
    const order = cycle[(cycle.indexOf(heads[column].getAttribute('aria-sort')) + 1) % 3];
    heads.forEach((head) => head.removeAttribute('aria-sort'));
    if (order) heads[column].setAttribute('aria-sort', order);
    body.append(...(order ? sorted(made, column, order === 'ascending' ? 1 : -1) : made));
  }));
  return element('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'Table' }, element('table', {}, element('thead', {}, element('tr', {}, ...heads)), body));
}

/** Rows sorted by a column. The inner ones stay under the one that they belong to; cells without a value come last. */
function sorted(rows, column, direction) {
  const valueOf = (row) => {
    const cell = row.cells[column], figure = cell.querySelector('data');
    return figure ? (figure.value === '' ? null : Number(figure.value)) : cell.textContent || null;
  };
  const compare = ([one], [other]) => {
    const [a, b] = [valueOf(one), valueOf(other)];
    if (a === null || b === null) return (a === null) - (b === null);
    return direction * (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', { numeric: true }));
  };
  const groups = [];
  for (const row of rows) {
    if (row.querySelector('.inner') && groups.length) groups.at(-1).push(row);
    else groups.push([row]);
  }
  return groups.sort(compare).flatMap(([head, ...rows]) => [head, ...rows.map((row) => [row]).sort(compare).flat()]);
}

const inner = (text) => element('span', { class: 'inner' }, text);
const time = (ns) => data(ns, ns === null ? '-' : shortTime(ns));
const bytesCell = (bytes) => Number(bytes) ? data(bytes, byteText(bytes)) : '';
const number = (value) => Number(value) ? data(value, String(value)) : '';

/** The label of a row of the document, as it is shown. */
const named = ({ label, group }) => labelText(label, group);

const SIGNALS = { 1: 'SIGHUP', 2: 'SIGINT', 3: 'SIGQUIT', 4: 'SIGILL', 5: 'SIGTRAP', 6: 'SIGABRT', 7: 'SIGBUS', 8: 'SIGFPE', 9: 'SIGKILL', 11: 'SIGSEGV', 13: 'SIGPIPE', 14: 'SIGALRM', 15: 'SIGTERM', 24: 'SIGXCPU', 25: 'SIGXFSZ', 31: 'SIGSYS' };

/** What another process saw of the end. */
function witnessText({ cause, status, seen_ns: seen, seen_exactly: exactly, peak_resident_bytes: peak, core_dumped: core, out_of_memory: memory }, capture) {
  const how = { exit: `exited with status ${status}`, signal: `killed by ${SIGNALS[status] ?? `signal ${status}`}`, exec: 'replaced its program by another' }[cause] ?? 'ended';
  const more = [
    memory && 'by the kernel, to get memory', core && 'core dumped', Number(peak) && `at most ${byteText(peak)} in memory`,
    `seen ${exactly ? '' : 'about '}${shortTime(Number(seen) - Number(capture.shift_ns))} after it began`,
  ].filter(Boolean);
  return `It was seen to end: ${how}, ${more.join(', ')}.`;
}

/** How a capture ended, worded as in the summary. */
function endingHead(capture) {
  const words = {
    live: 'still recording', ending: 'ending: the kernel is taking the process down', finished: 'finished', 'left-by-exit': 'left by exit', 'ended-without-finish': 'ended without finish',
    'writer-died': 'the writer died', 'replaced-by-exec': 'replaced by exec', 'cannot-tell': 'cannot be told whether it still runs', 'not-finished': 'not finished',
  };
  const good = ['live', 'finished', 'left-by-exit'].includes(capture.ending), ended = capture.ending === 'finished';
  const when = capture.ended ? ` at ${capture.ended.replace('T', ' ').replace(/\.(\d{3})\d*Z$/, '.$1 UTC')}` : '';
  const after = `${shortTime(Number(capture.last_ns) - Number(capture.shift_ns))} after it began`;
  const { count, failed, unfinished, busy_share: busy } = capture.regions;
  const attributes = Object.entries(capture.attributes).map(([key, value]) => `, ${key}=${value}`).join('');
  return [
    element('h1', {}, printable(capture.file)),
    element('p', { class: `ending ${good ? 'good' : 'bad'}` }, `${words[capture.ending] ?? capture.ending}${ended ? `${when}, ${after}` : `; last sign of life${when}, ${after}`}`),
    ...(capture.witness ? [element('p', { class: 'witness' }, witnessText(capture.witness, capture))] : []),
    element('p', {}, printable(`${capture.program || 'unnamed program'}, process ${capture.pid} on ${capture.host || 'an unnamed host'}${attributes}`)),
    element('p', {}, `${plural(count, 'region')}, ${grouped(failed)} failed, ${grouped(unfinished)} unfinished, over ${shortTime(capture.span_ns)}${busy === null ? '' : `, at least one running ${percent(busy)} of it`}`),
    ...(capture.filtered_out ? [element('p', {}, `The filter left out ${plural(capture.filtered_out[0], 'event')} and ${plural(capture.filtered_out[1], 'open region')}.`)] : []),
  ];
}

function regionRows(regions, when, labels, find) {
  return regions.map((region) => ({
    kind: region.failed ? 'bad' : '',
    cells: [
      printable(region.lane_name), labels.inTable(named(region)), time(region.duration_ns), when(region), bytesCell(region.copied_bytes), number(region.correlation_id),
      region.failed ? (region.status ? `failed: ${region.status}` : 'failed') : region.cancelled ? 'cancelled' : '', find(region),
    ],
  }));
}

/** The account of all records, worded as in the summary. */
function accountText(account) {
  const more = [[account.skipped, 'of an unknown kind'], [account.in_flight, 'being written'], [account.overtaken, 'overtaken'], [account.not_read ?? 0, 'not read']];
  const sum = more.filter(([count]) => Number(count)).map(([count, what]) => ` + ${grouped(count)} ${what}`).join('');
  return `${grouped(account.claimed)} claimed = ${grouped(account.recovered)} recovered + ${grouped(account.overwritten)} overwritten + ${grouped(account.torn)} torn${sum}`;
}

/** The sections of a capture. `find` makes the button that shows a region on the timeline. */
function sections(capture, labels, find) {
  const before = (region) => data(-Number(region.before_the_end_ns), Number(region.before_the_end_ns) ? `${shortTime(region.before_the_end_ns)} before` : 'at the end');
  const began = (region) => time(region.start_ns);
  const figure = (value) => data(value, numberText(value));
  const valueRow = (value) => ({ cells: [labels.inTable(named(value)), figure(value.last), before(value), figure(value.least), figure(value.most), data(value.samples, grouped(value.samples))] });
  const markRow = (mark) => ({
    cells: [
      printable(mark.lane_name), labels.inTable(named(mark)), before(mark), argumentsOf(mark), number(mark.correlation_id),
      data(mark.thread_id, mark.thread === undefined ? String(mark.thread_id) : `${printable(mark.thread)} (${mark.thread_id})`),
    ],
  });
  const figures = (name, kind, row) => ({
    kind, cells: [name, data(row.count, grouped(row.count)), data(row.failed, grouped(row.failed)), data(row.busy_share, percent(row.busy_share)), time(row.total_ns), time(row.mean_ns), time(row.p50_ns), time(row.p90_ns), time(row.p99_ns), time(row.max_ns)],
  });
  const copies = (name, kind, row) => Number(row.copied_bytes) ? [{ kind, cells: [name, bytesCell(row.copied_bytes), data(row.gigabytes_per_second, bandwidth(row.gigabytes_per_second))] }] : [];
  const eachLane = (of) => capture.lanes.flatMap((lane) => [of(printable(lane.name), 'lane', lane), ...lane.labels.map((label) => of(inner(labels.inTable(named(label))), Number(label.failed) ? 'bad' : '', label))]).flat();
  const overlaps = capture.overlaps.filter((overlap) => Number(overlap.overlap_ns)).sort((one, other) => Number(other.overlap_ns) - Number(one.overlap_ns));
  const gaps = capture.lanes.flatMap((lane) => lane.gaps.map((gap) => ({ cells: [printable(lane.name), time(gap.duration_ns), time(gap.start_ns), gap.to_the_end ? 'to the end' : ''] })));
  const { account } = capture;
  const since = Number(capture.complete_since_ns);
  const lost = [
    [account.torn, 'torn'], [account.skipped, 'of a kind unknown to this version'], [account.in_flight, 'being written as the file was read'], [account.overtaken, 'overtaken by the writer as the file was read'],
    [account.rejected, 'rejected, begun before the capture or with no handle left'], [account.open_refused, 'not shown while running, the open table being full'], [account.open_torn, 'torn in the open table'], [account.hidden_now, 'running and not shown at the end, the open table being full'], [account.names_refused, 'without its name, the name table being full'], [account.names_too_long, 'without its name, which was too long'], [account.arguments_refused, 'argument or change that could not be recorded'],
  ].filter(([count]) => Number(count)).map(([count, what]) => `${grouped(count)} ${what}`);
  const title = (text) => element('h2', {}, text);
  const regionHeads = (when) => ['<Lane', '<Label', 'Took', when, 'Bytes', 'Correlation', '<', ''];
  return [
    title('Running at the end'),
    ...runningTables(capture, labels, find),
    ...(capture.values.length ? [
      title('Last values before the end'), table(['<Value', 'Last', 'Sampled', 'Least', 'Most', 'Samples'], capture.values.map(valueRow)),
      ...(Number(capture.other_samples ?? 0) ? [element('p', { class: 'quiet' }, `${plural(capture.other_samples, 'sample')} of further values.`)] : []),
    ] : []),
    ...(capture.marks.length ? [
      title('Last marks, the last first'), table(['<Lane', '<Mark', 'When', '<Arguments', 'Correlation', '<Thread'], capture.marks.toReversed().map(markRow)),
    ] : []),
    title('Last before the end, on each lane'),
    table(regionHeads('Ended'), regionRows(capture.lanes.flatMap((lane) => lane.last.toReversed()), before, labels, find)),
    ...(capture.failures.length ? [
      title('Failed, the last first'), table(regionHeads('Began'), regionRows(capture.failures.toReversed(), began, labels, find)),
      element('p', { class: 'quiet' }, `${grouped(capture.failures.length)} of ${grouped(capture.regions.failed)} that failed.`),
    ] : []),
    title('Regions, by lane and label'),
    table(['<', 'Count', 'Failed', 'Busy', 'Total', 'Mean', 'p50', 'p90', 'p99', 'Max'], eachLane(figures)),
    ...(capture.other_lanes ? [element('p', { class: 'quiet' }, `Other lanes: ${capture.other_lanes.has_more ? 'at least ' : ''}${plural(capture.other_lanes.count, 'lane')} without figures of their own.`)] : []),
    element('p', { class: 'quiet' }, 'Busy: share of the span with at least one running. Percentiles at most 0.1 % above the exact ones. Host-observed.'),
    title('Copies'),
    table(['<', 'Bytes', 'GB/s'], eachLane(copies)),
    element('p', { class: 'quiet' }, 'GB/s: bytes by the time of the regions that copied any; 1 GB = 10^9 bytes.'),
    title('Overlap of lanes'),
    overlaps.length
      ? table(['<', 'Time', 'Of the span', 'Of the first', 'Of the second'], overlaps.map((overlap) => ({ cells: [printable(overlap.lanes.join(' and ')), time(overlap.overlap_ns), ...[overlap.share_of_span, ...overlap.share_of_each].map((share) => data(share, percent(share)))] })))
      : element('p', {}, 'No two lanes were busy at once.'),
    title('Longest gaps, with nothing running on the lane'),
    gaps.length ? table(['<Lane', 'Gap', 'From', '<'], gaps) : element('p', {}, 'None.'),
    title('Slowest'),
    table(regionHeads('Began'), regionRows(capture.slowest, began, labels, find)),
    title('What is missing'),
    element('p', {}, accountText(account)),
    element('p', {}, !isComplete(capture) ? `Complete for all that ended after ${shortTime(since)}: the last ${shortTime(Number(capture.last_ns) - since)} of ${shortTime(capture.span_ns)}.` : 'Complete from the start: nothing was overwritten.'),
    element('p', lost.length ? { class: 'bad' } : {}, lost.length ? `Losses: ${lost.join('; ')}.` : 'No other losses.'),
    ...capture.damages.map((damage) => element('p', { class: 'bad' }, printable(`At offset ${damage.offset}: ${damage.what}`))),
  ];
}
