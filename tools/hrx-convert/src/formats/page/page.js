// Builds the page: the head at once, the timeline as soon as its regions are unpacked, then tables and charts.

const FIELDS = {
  lane: (regions, i) => `${regions.laneOf(i).name} (${regions.laneOf(i).lane})`,
  duration: (regions, i) => regions.duration[i] < 1000 ? exactTime(regions.duration[i]) : `${shortTime(regions.duration[i])} = ${exactTime(exactly(regions.duration, i))}`,
  began: (regions, i) => exactTime(regions.start[i] + regions.base),
  ended: (regions, i) => regions.flags[i] & UNFINISHED ? 'never' : exactTime(regions.end[i] + regions.base),
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
  const fields = Object.entries(FIELDS).map(([name, text]) => element('div', {}, element('dt', {}, name), element('dd', {}, text(regions, i))));
  details.append(element('div', { class: 'name' }, printable(regions.labelOf(i))), element('dl', {}, ...fields));
  if (related.length > 1) {
    const first = Math.min(...related.map((other) => regions.start[other])), last = Math.max(...related.map((other) => regions.end[other]));
    details.append(element('p', {}, `${plural(related.length, 'region')} of this correlation, ${shortTime(last - first)} from the first beginning to the last end`));
  }
}

/** The index of a table's region on the timeline, or -1. */
function find(regions, capture, wanted) {
  const start = Number(wanted.start_ns) - regions.base;
  for (let i = 0; i < regions.count; i++) {
    if (regions.start[i] < start) continue;
    if (regions.start[i] > start) return -1;
    const lane = regions.laneOf(i);
    if (lane.capture !== capture || lane.lane !== wanted.lane) continue;
    const unfinished = Boolean(regions.flags[i] & UNFINISHED);
    if (wanted.unfinished ? unfinished && regions.layout.threads[regions.thread[i]] === wanted.thread_id : !unfinished && regions.sequence[i] === Number(wanted.sequence) && regions.ring[i] === wanted.ring) return i;
  }
  return -1;
}

async function main() {
  const { document: { captures }, timeline: layout } = JSON.parse(byId('island').textContent);
  document.title = `${captures.map((capture) => capture.file).join(', ')} (host-observed)`;
  byId('head').append(...captures.flatMap(endingHead));

  const regions = new Regions(layout, await unpack());
  const timeline = new Timeline(regions, captures, (i, related) => showDetails(regions, i, related));
  timeline.draw();
  if (Number(layout.left_out)) byId('left-out').textContent = `The timeline has the newest regions; ${grouped(layout.left_out)} older ones are only in the tables.`;
  // Tells tests when the first picture is there.
  requestAnimationFrame(() => setTimeout(() => (document.documentElement.dataset.painted = String(Math.round(performance.now())))));

  const search = byId('search');
  search.addEventListener('input', () => (byId('matches').textContent = search.value ? plural(timeline.search(search.value), 'region') : (timeline.search(''), '')));
  search.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') timeline.toMatch(event.shiftKey ? -1 : 1);
    if (event.key === 'Escape') byId('canvas').focus();
  });
  const clicks = {
    next: () => timeline.toMatch(1), previous: () => timeline.toMatch(-1), 'zoom-in': () => timeline.zoom(1 / 2), 'zoom-out': () => timeline.zoom(2), fit: () => timeline.showAll(), end: () => timeline.showEnd(),
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
    recolour();
  });
  addEventListener('afterprint', () => {
    document.documentElement.classList.remove('paper');
    recolour();
  });

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
      byId('tables').append(element('section', {}, ...name, ...sections(capture, button)));
    });
    drawCharts(timeline, regions, captures);
    document.documentElement.dataset.complete = '';
  });
}

main().catch((error) => byId('head').append(element('p', { class: 'bad' }, `This page could not be drawn: ${error.message}. It needs a browser of 2023 or later.`)));
