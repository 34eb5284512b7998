// Finding regions and marks: by a part of their label, of an argument or of their thread's name, or by their correlation, thread or status.

/** `correlation:301` finds by one field only; `301` by all of them. */
const SEARCH_FIELDS = ['label', 'correlation', 'thread', 'status', 'argument'];
/** What a region may be. */
const STATES = { failed: FAILED, unfinished: UNFINISHED, waiting: WAITING, cancelled: CANCELLED, hidden: HIDDEN };

/** What a text looks for. Numbers may be hexadecimal. */
function searchOf(text) {
  const [, named, rest] = text.match(/^\s*(\w+)\s*[:=]\s*(.*?)\s*$/) ?? [];
  const field = SEARCH_FIELDS.find((field) => named && field.startsWith(named.toLowerCase())) ?? null;
  const wanted = (field ? rest : text).toLowerCase(), plain = wanted.trim();
  return { field, wanted, number: /^(\d+|0x[0-9a-f]+)$/.test(plain) ? BigInt(plain) : null, state: STATES[plain] ?? 0 };
}

/**
 * The regions that a text finds. `before[place]` counts those before a place, so that whether any part of a row has one takes one subtraction.
 * `by` counts them by the fields that agreed. `marks` tells which marks it finds, and `markCount` how many.
 */
function findRegions(regions, marks, text) {
  const { field, wanted, number, state } = searchOf(text), { layout } = regions;
  const looks = (name) => !field || field === name;
  const labels = layout.names.map((label) => looks('label') && wanted !== '' && label.toLowerCase().includes(wanted));
  const byGroup = Uint8Array.from(layout.groups, ([, label]) => labels[label]);
  const named = (place) => layout.thread_names?.[place]?.toLowerCase().includes(wanted) ?? false;
  const byThread = Uint8Array.from(layout.threads, (thread, place) => looks('thread') && wanted !== '' && ((number !== null && BigInt(thread) === number) || named(place)));
  const byArgument = looks('argument') ? regions.texts.find(wanted) : [];
  const near = Number(number), correlated = looks('correlation') && number !== null && near !== 0, flagged = looks('status');
  // Nearly every region has the status 0.
  const status = flagged && number !== null && (near !== 0 || field) ? near : -1;
  const flags = flagged ? state : 0;
  const before = new Uint32Array(regions.count + 1), by = { label: 0, correlation: 0, thread: 0, status: 0, argument: 0 };
  for (let place = 0; place < regions.count; place++) {
    const i = regions.order[place];
    let found = 0;
    if (byGroup[regions.group[i]]) found = ++by.label;
    if (byThread[regions.thread[i]]) found = ++by.thread;
    if (correlated && regions.correlation[i] === near && BigInt(exactly(regions.correlation, i)) === number) found = ++by.correlation;
    if (regions.flags[i] & flags || (regions.status[i] === status && !(regions.flags[i] & UNFINISHED))) found = ++by.status;
    if (byArgument[i]) found = ++by.argument;
    before[place + 1] = before[place] + (found > 0);
  }
  const marksByArgument = looks('argument') ? marks.texts.find(wanted) : [];
  const found = new Uint8Array(marks.count);
  for (let i = 0; i < marks.count; i++) {
    const correlates = correlated && marks.correlation[i] === near && BigInt(exactly(marks.correlation, i)) === number;
    found[i] = byGroup[marks.group[i]] || byThread[marks.thread[i]] || marksByArgument[i] || correlates ? 1 : 0;
  }
  return { before, by, count: before[regions.count], marks: found, markCount: found.reduce((sum, one) => sum + one, 0) };
}

/** How many were found, and by what if not by their label alone. */
function foundText({ count, by, markCount }) {
  const fields = Object.entries(by).filter(([, hits]) => hits);
  const how = fields.length > 1 || (count && !by.label) ? `, by ${fields.map(([field, hits]) => fields.length > 1 ? `${field} (${grouped(hits)})` : field).join(', ')}` : '';
  return plural(count, 'region') + how + (markCount ? `, ${plural(markCount, 'mark')}` : '');
}
