// Two captures side by side: the tables of `hrx-convert --diff`.

const { files, rows } = JSON.parse(byId('island').textContent);
const ratio = (value) => value === null ? '-' : value >= 1000 ? '>1000' : value.toFixed(2);
const name = (row) => row.label === null ? row.lane : element('span', { class: 'inner' }, printable(row.label));
const kind = (row) => row.label === null ? 'lane' : '';
const claimed = (row) => [row.p50, row.p99].includes('slower') ? 'bad' : [row.p50, row.p99].includes('faster') ? 'good' : kind(row);
const pair = ({ a, b, ratio: by }, text) => [a === null ? '-' : text(a), b === null ? '-' : text(b), ratio(by)];
const claim = (text) => text.replace('-', ' ');

document.title = `${files.join(' and ')} (host-observed)`;
byId('main').append(
  ...files.map((file, at) => element('h1', {}, `${'AB'[at]}: ${printable(file)}`)),
  element('p', { class: 'quiet' }, 'Ratios are B by A.'),
  element('h2', {}, 'Counts and totals'),
  table(['<', 'Count A', 'B', 'Ratio', 'Failed A', 'B', 'Total A', 'B', 'Ratio'], rows.map((row) => ({ kind: kind(row), cells: [name(row), ...pair(row.count, grouped), ...pair(row.failed, grouped).slice(0, 2), ...pair(row.total_ns, shortTime)] }))),
  element('h2', {}, 'Latency'),
  table(['<', 'p50 A', 'B', 'Ratio', '<', 'p99 A', 'B', 'Ratio', '<'], rows.map((row) => ({ kind: claimed(row), cells: [name(row), ...pair(row.p50_ns, shortTime), claim(row.p50), ...pair(row.p99_ns, shortTime), claim(row.p99)] }))),
  element('p', { class: 'quiet' }, 'Slower, faster: the percentiles’ 95 % confidence intervals lie apart; unclear: they overlap; too few: too few regions for any claim. Host-observed.'),
  element('h2', {}, 'Copies'),
  table(['<', 'GB/s A', 'B', 'Ratio'], rows.filter((row) => row.gigabytes_per_second.a !== null || row.gigabytes_per_second.b !== null).map((row) => ({ kind: kind(row), cells: [name(row), ...pair(row.gigabytes_per_second, bandwidth)] }))),
);
document.documentElement.dataset.complete = '';
