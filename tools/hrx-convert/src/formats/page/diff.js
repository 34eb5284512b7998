// Two captures side by side: what changed, and the tables of `hrx-convert --diff`.

const { files, changes, other_lanes: otherLanes, rows } = JSON.parse(byId('island').textContent);
const ratio = (value) => value === null ? '-' : value >= 1000 ? '>1000' : value.toFixed(2);
const labels = new Labels([...rows, ...changes].flatMap((row) => row.label ?? []));
const name = (row) => row.label === null ? row.lane : element('span', { class: 'inner' }, labels.inTable(row.label));
const kind = (row) => row.label === null ? 'lane' : '';
const claimed = (row) => [row.p50, row.p99].includes('slower') ? 'bad' : [row.p50, row.p99].includes('faster') ? 'good' : kind(row);
const pair = ({ a, b, ratio: by }, text) => [data(a, a === null ? '-' : text(a)), data(b, b === null ? '-' : text(b)), data(by, ratio(by))];
const claim = (text) => ({ unclear: 'none shown' })[text] ?? text.replace('-', ' ');

/** What changed, in the words of the text. */
function changeRow({ change, lane, label, figure, a, b, ratio: by }) {
  const of = label === null ? 'lane' : 'label', value = ['count', 'failed'].includes(figure) ? grouped : shortTime;
  const words = change === 'new' || change === 'missing' ? `${change} ${of}` : change.replace('-', ' ');
  const kind = change === 'faster' ? 'good' : change === 'slower' || change.endsWith('failures') ? 'bad' : '';
  return { kind, cells: [words, lane, label === null ? '' : labels.inTable(label), figure, ...pair({ a, b, ratio: by }, value)] };
}

const lanesText = (lanes) => lanes ? `${lanes.has_more ? 'at least ' : ''}${plural(lanes.count, 'lane')}` : 'none';

document.title = `${files.join(' and ')} (host-observed)`;
byId('main').append(
  ...files.map((file, at) => element('h1', {}, `${'AB'[at]}: ${printable(file)}`)),
  element('p', { class: 'quiet' }, 'Ratios are B by A.'),
  element('h2', {}, 'What changed'),
  changes.length
    ? table(['<Change', '<Lane', '<Label', '<Figure', 'A', 'B', 'Ratio'], changes.map(changeRow))
    : element('p', {}, 'No difference shown: nothing is slower, faster, fails more, is new or is missing.'),
  element('h2', {}, 'Counts and totals'),
  table(['<', 'Count A', 'B', 'Ratio', 'Failed A', 'B', 'Total A', 'B', 'Ratio'], rows.map((row) => ({ kind: kind(row), cells: [name(row), ...pair(row.count, grouped), ...pair(row.failed, grouped).slice(0, 2), ...pair(row.total_ns, shortTime)] }))),
  ...(otherLanes.some(Boolean) ? [element('p', { class: 'quiet' }, `Other lanes: without figures of their own, ${lanesText(otherLanes[0])} in A and ${lanesText(otherLanes[1])} in B.`)] : []),
  element('h2', {}, 'Latency'),
  table(['<', 'p50 A', 'B', 'Ratio', '<', 'p99 A', 'B', 'Ratio', '<'], rows.map((row) => ({ kind: claimed(row), cells: [name(row), ...pair(row.p50_ns, shortTime), claim(row.p50), ...pair(row.p99_ns, shortTime), claim(row.p99)] }))),
  element('p', { class: 'quiet' }, 'Slower, faster: the percentiles’ 95 % confidence intervals lie apart; none shown: they overlap; too few: too few regions for any claim. Host-observed.'),
  element('h2', {}, 'Copies'),
  table(['<', 'GB/s A', 'B', 'Ratio'], rows.filter((row) => row.gigabytes_per_second.a !== null || row.gigabytes_per_second.b !== null).map((row) => ({ kind: kind(row), cells: [name(row), ...pair(row.gigabytes_per_second, bandwidth)] }))),
);
document.documentElement.dataset.complete = '';
