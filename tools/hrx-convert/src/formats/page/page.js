// Builds the page: the head at once, the timeline as soon as its regions are unpacked, then tables and charts.

const FIELDS = {
  lane: (regions, i) => `${regions.laneOf(i).name} (${regions.laneNumber(i)})`,
  duration: (regions, i) => regions.duration[i] < 1000 ? exactTime(regions.duration[i]) : `${shortTime(regions.duration[i])} = ${exactTime(exactly(regions.duration, i))}`,
  began: (regions, i) => exactTime(regions.beganAt(i)),
  ended: (regions, i) => regions.flags[i] & UNFINISHED ? 'never' : exactTime(regions.beganAt(i) + BigInt(exactly(regions.duration, i))),
  'copied bytes': (regions, i) => grouped(exactly(regions.bytes, i)),
  bandwidth: (regions, i) => regions.bytes[i] && regions.duration[i] ? `${bandwidth(regions.bytes[i] / regions.duration[i])} GB/s` : '-',
  correlation: (regions, i) => regions.correlation[i] ? String(exactly(regions.correlation, i)) : 'none',
  thread: (regions, i) => String(regions.layout.threads[regions.thread[i]]),
  failed: (regions, i) => regions.flags[i] & FAILED ? `yes, status ${regions.status[i]}` : regions.flags[i] & UNFINISHED ? 'unfinished' : `no, status ${regions.status[i]}`,
  'ring, sequence': (regions, i) => regions.flags[i] & UNFINISHED ? 'none yet' : `${regions.ring[i]}, ${grouped(exactly(regions.sequence, i))}`,
  saturated: (regions, i) => regions.flags[i] & SATURATED ? 'yes: a value did not fit its field' : 'no',
};

function showDetails(regions, i, related) {
  const details = byId('details');
  details.replaceChildren();
  if (i < 0) return;
  const fields = Object.entries(FIELDS).map(([name, text]) => [name, text(regions, i)]), label = printable(regions.labelOf(i));
  const button = element('button', { type: 'button', id: 'copy-facts' }, 'Copy');
  button.addEventListener('click', () => copy([['label', label], ...fields].map(([name, text]) => `${name}: ${text}`).join('\n'), button));
  details.append(
    element('div', { class: 'bar' }, element('div', { class: 'name' }, label), button),
    element('dl', {}, ...fields.map(([name, text]) => element('div', {}, element('dt', {}, name), element('dd', {}, text)))));
  if (related.length > 1) {
    const first = Math.min(...related.map((other) => regions.start[other])), last = Math.max(...related.map((other) => regions.end[other]));
    details.append(element('p', {}, `${plural(related.length, 'region')} of this correlation, ${shortTime(last - first)} from the first beginning to the last end`));
  }
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

/** Draws the bandwidths under the timeline. */
function showRates(timeline, rates) {
  const canvas = byId('rates');
  byId('bandwidth').hidden = !rates.height;
  if (!rates.height) return;
  // With its border.
  canvas.style.width = `${timeline.width + 2}px`;
  canvas.style.height = `${rates.height + 2}px`;
  fitCanvas(canvas, timeline.width, rates.height, devicePixelRatio || 1);
  rates.draw(canvas.getContext('2d'), timeline);
  byId('rates-text').textContent = rates.text(timeline);
}

async function main() {
  const { document: { captures }, timeline: layout } = JSON.parse(byId('island').textContent);
  document.title = `${captures.map((capture) => capture.file).join(', ')} (host-observed)`;
  byId('head').append(...captures.flatMap(endingHead));

  const regions = new Regions(layout, await unpack());
  const labels = new Labels([...layout.labels, ...captures.flatMap((capture) => capture.lanes.flatMap((lane) => lane.labels.map((label) => label.label)))]);
  const search = byId('search'), rates = new Rates(regions);
  const timeline = new Timeline(regions, captures, labels, {
    select: (i, related) => showDetails(regions, i, related),
    range: () => showRange(timeline, labels),
    draw: () => {
      showRates(timeline, rates);
      noteLink();
    },
  });
  const noteLink = linkNoter(timeline, search);
  timeline.draw();
  if (Number(layout.left_out)) byId('left-out').textContent = `The timeline has the newest regions; ${grouped(layout.left_out)} older ones are only in the tables.`;
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
  byId('rates').addEventListener('pointermove', (event) => timeline.tell([rates.at(event.offsetX, event.offsetY, timeline)], event));
  byId('rates').addEventListener('pointerleave', () => timeline.tell());
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
    drawPaper(timeline, rates);
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
