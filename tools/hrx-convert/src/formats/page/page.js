// Builds the page: the head at once, the timeline as soon as its regions are unpacked, then tables and charts.

const FIELDS = {
  lane: (regions, i) => `${printable(regions.laneOf(i).name)} (${regions.laneNumber(i)})`,
  duration: (regions, i) => (regions.flags[i] & UNFINISHED ? 'at least ' : '') + (regions.duration[i] < 1000 ? exactTime(regions.duration[i]) : `${shortTime(regions.duration[i])} = ${exactTime(exactly(regions.duration, i))}`),
  began: (regions, i) => exactTime(regions.beganAt(i)),
  ended: (regions, i) => regions.flags[i] & UNFINISHED ? 'never' : exactTime(regions.beganAt(i) + BigInt(exactly(regions.duration, i))),
  'copied bytes': (regions, i) => grouped(exactly(regions.bytes, i)),
  bandwidth: (regions, i) => regions.bytes[i] && regions.duration[i] ? `${bandwidth(regions.bytes[i] / regions.duration[i])} GB/s` : '-',
  correlation: (regions, i) => regions.correlation[i] ? String(exactly(regions.correlation, i)) : 'none',
  thread: (regions, i) => threadText(regions.layout, regions.thread[i]),
  failed: (regions, i) => stateText(regions.flags[i], regions.status[i]),
  'ring, sequence': (regions, i) => regions.flags[i] & UNFINISHED ? 'none yet' : `${regions.ring[i]}, ${grouped(exactly(regions.sequence, i))}`,
  saturated: (regions, i) => regions.flags[i] & SATURATED ? 'yes: a value did not fit its field' : 'no',
};

/** Whether a region failed, in words. */
function stateText(flags, status) {
  const said = status ? `, status ${status}` : '', hidden = flags & HIDDEN ? '; not shown while it ran' : '';
  if (flags & UNFINISHED) return `unfinished${flags & WAITING ? ', waiting' : ''}${said}`;
  return (flags & FAILED ? `yes${said}` : flags & CANCELLED ? `no: cancelled${said}` : `no, status ${status}`) + hidden;
}

/** Shows the facts of what is selected: their names and texts, and its arguments. */
function showFacts(label, fields, given) {
  const details = byId('details');
  const button = element('button', { type: 'button', id: 'copy-facts' }, 'Copy');
  const said = given.map(({ name, value, isText, note }) => note ? ['', note] : [name, isText ? `"${value}"` : value]);
  const lines = [['label', label], ...fields, ...said.map(([name, text]) => [name ? `argument ${name}` : 'arguments', text])];
  button.addEventListener('click', () => copy(lines.map(([name, text]) => `${name}: ${text}`).join('\n'), button));
  const list = (pairs, kind) => element('dl', kind, ...pairs.map(([name, text]) => element('div', {}, element('dt', {}, name), element('dd', {}, text))));
  details.append(element('div', { class: 'bar' }, element('div', { class: 'name' }, label), button), list(fields, {}));
  if (said.length) details.append(element('h3', {}, 'Arguments'), list(said, { class: 'arguments' }));
}

function showDetails(regions, i, related) {
  byId('details').replaceChildren();
  if (i < 0) return;
  showFacts(printable(regions.labelOf(i)), Object.entries(FIELDS).map(([name, text]) => [name, text(regions, i)]), regions.texts.of(i));
  if (related.length > 1) {
    const first = Math.min(...related.map((other) => regions.start[other])), last = Math.max(...related.map((other) => regions.end[other]));
    byId('details').append(element('p', {}, `${plural(related.length, 'region')} of this correlation, ${shortTime(last - first)} from the first beginning to the last end`));
  }
}

function showMark(marks, mark) {
  byId('details').replaceChildren();
  showFacts(printable(marks.labelOf(mark)), marks.facts(mark), marks.texts.of(mark));
}

/** The index of a table's region on the timeline, or -1. */
function find(regions, capture, wanted) {
  // Doubles round moments beyond 104 days.
  const start = Number(wanted.start_ns) - regions.base, slack = start / 2 ** 51;
  for (let i = 0; i < regions.count; i++) {
    if (regions.start[i] < start - slack) continue;
    if (regions.start[i] > start + slack) return -1;
    const lane = regions.laneOf(i);
    if (lane.capture !== capture || regions.laneNumber(i) !== wanted.lane) continue;
    const unfinished = Boolean(regions.flags[i] & UNFINISHED);
    if (wanted.unfinished ? unfinished && regions.layout.threads[regions.thread[i]] === wanted.thread_id : !unfinished && regions.sequence[i] === Number(wanted.sequence) && regions.ring[i] === wanted.ring) return i;
  }
  return -1;
}

/** Draws bands under the timeline: the bandwidths, or the values. */
function showBands(timeline, bands, figure, canvas, caption) {
  byId(figure).hidden = !bands.height;
  if (!bands.height) return;
  // With its border.
  byId(canvas).style.width = `${timeline.width + 2}px`;
  byId(canvas).style.height = `${bands.height + 2}px`;
  fitCanvas(byId(canvas), timeline.width, bands.height, devicePixelRatio || 1);
  bands.draw(byId(canvas).getContext('2d'), timeline);
  byId(caption).textContent = bands.text(timeline);
}

/** What the timeline leaves out, in words. */
function leftOutText({ left_out: regions, marks_left_out: marks, values_left_out: samples, arguments_left_out: texts }) {
  const older = [[regions, 'region'], [marks, 'mark'], [samples, 'sample']].filter(([count]) => Number(count ?? 0)).map(([count, what]) => plural(count, what));
  const said = older.length ? `The timeline has the newest; ${older.join(', ')} that are older are only in the tables.` : '';
  return said + (Number(texts ?? 0) ? ` Of ${plural(texts, 'older event')} it has no arguments.` : '');
}

async function main() {
  const { document: { captures }, timeline: layout } = JSON.parse(byId('island').textContent);
  document.title = `${captures.map((capture) => capture.file).join(', ')} (host-observed)`;
  byId('head').append(...captures.flatMap(endingHead));

  const bytes = await unpack(), regions = new Regions(complete(layout), bytes);
  const marks = new Marks(layout, bytes, sectionBytes(layout)), values = new Values(layout, bytes, sectionBytes(layout) + sectionBytes(layout.marks), captures);
  const tabled = captures.flatMap((capture) => [...capture.lanes.flatMap((lane) => lane.labels), ...capture.values, ...capture.marks, ...capture.open_regions].map(named));
  const labels = new Labels([...layout.names, ...tabled]);
  const search = byId('search'), rates = new Rates(regions);
  const timeline = new Timeline(regions, marks, captures, labels, {
    select: (i, related) => showDetails(regions, i, related),
    mark: (mark) => showMark(marks, mark),
    range: () => showRange(timeline, labels),
    draw: () => {
      showBands(timeline, rates, 'bandwidth', 'rates', 'rates-text');
      showBands(timeline, values, 'values', 'levels', 'levels-text');
      noteLink();
    },
  });
  const noteLink = linkNoter(timeline, search);
  timeline.draw();
  byId('left-out').textContent = leftOutText(layout);
  const more = byId('more-values');
  more.hidden = values.bands.length <= VALUES_SHOWN;
  more.textContent = values.bands.length > VALUES_MOST ? `Show ${VALUES_MOST} of ${grouped(values.bands.length)} values` : `Show all ${values.bands.length} values`;
  more.addEventListener('click', () => {
    values.shownMost = VALUES_MOST;
    more.hidden = true;
    timeline.draw();
  });
  // Tells tests when the first picture is there.
  requestAnimationFrame(() => setTimeout(() => (document.documentElement.dataset.painted = String(Math.round(performance.now())))));

  const look = () => {
    timeline.search(search.value);
    byId('matches').textContent = timeline.matched ? foundText(timeline.matched) : '';
  };
  search.addEventListener('input', look);
  search.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') timeline.toMatch(event.shiftKey ? -1 : 1);
    if (event.key === 'Escape') byId('canvas').focus();
  });
  for (const [id, bands] of [['rates', rates], ['levels', values]]) {
    byId(id).addEventListener('pointermove', (event) => timeline.tell([bands.at(event.offsetX, event.offsetY, timeline)], event));
    byId(id).addEventListener('pointerleave', () => timeline.tell());
  }
  const clicks = {
    next: () => timeline.toMatch(1), previous: () => timeline.toMatch(-1), 'zoom-in': () => timeline.zoom(1 / 2), 'zoom-out': () => timeline.zoom(2), fit: () => timeline.showAll(), end: () => timeline.showEnd(),
    statistics: () => timeline.setRange(timeline.inView()),
    link: () => copy(location.href.split('#')[0] + linkOf(timeline, search.value), byId('link')),
  };
  for (const [id, act] of Object.entries(clicks)) byId(id).addEventListener('click', act);
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && document.activeElement !== search) {
      search.focus();
      event.preventDefault();
    }
  });
  const recolour = () => {
    timeline.colours();
    timeline.draw();
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolour);
  // Paper is white, whatever the colour scheme.
  addEventListener('beforeprint', () => {
    document.documentElement.classList.add('paper');
    timeline.colours();
    drawPaper(timeline, [rates, values]);
  });
  addEventListener('afterprint', () => {
    document.documentElement.classList.remove('paper');
    byId('paper').replaceChildren();
    recolour();
  });

  const reopen = () => openLink(timeline, location.hash, (text) => {
    search.value = text;
    look();
  });
  addEventListener('hashchange', reopen);
  reopen();

  setTimeout(() => {
    captures.forEach((capture, index) => {
      const button = (region) => {
        const made = element('button', { type: 'button', 'aria-label': 'Show on the timeline' }, 'Show');
        made.addEventListener('click', () => {
          const i = find(regions, index, region);
          if (i < 0) return;
          timeline.choose(i, true);
          byId('canvas').focus();
          byId('timeline-title').scrollIntoView();
        });
        return made;
      };
      const name = captures.length > 1 ? [element('h2', {}, captureName(capture))] : [];
      byId('tables').append(element('section', {}, ...name, ...sections(capture, labels, button)));
    });
    drawCharts(timeline, regions, captures);
    document.documentElement.dataset.complete = '';
  });
}

main().catch((error) => byId('head').append(element('p', { class: 'bad' }, `This page could not be drawn: ${error.message}. It needs a browser of 2023 or later.`)));
