// A link that reopens what is in view: `#from=…&to=…`, in the nanoseconds that the page shows, and `select`, `find` and `range` if there are any.

/** How a link names a region: by capture, ring and sequence, or while it has none by capture, thread and beginning. */
function regionName(regions, i) {
  const { capture } = regions.laneOf(i);
  return regions.flags[i] & UNFINISHED
    ? `${capture}.open.${regions.layout.threads[regions.thread[i]]}.${regions.beganAt(i)}`
    : `${capture}.${regions.ring[i]}.${exactly(regions.sequence, i)}`;
}

/** The region of a name, or -1. */
function regionNamed(regions, name) {
  const open = name.includes('.open.'), [, ring, sequence] = name.split('.').map(Number);
  for (let i = 0; i < regions.count; i++) {
    const near = regions.flags[i] & UNFINISHED ? open : !open && regions.sequence[i] === sequence && regions.ring[i] === ring;
    if (near && regionName(regions, i) === name) return i;
  }
  return -1;
}

function linkOf(timeline, find) {
  const { regions, view, range, selected } = timeline;
  // Whole nanoseconds, except where they are pixels wide.
  const moment = (time) => String(Number((time + regions.base).toFixed(view.to - view.from < 10_000 ? 3 : 0)));
  const parts = [['from', moment(view.from)], ['to', moment(view.to)]];
  if (selected >= 0) parts.push(['select', regionName(regions, selected)]);
  if (find) parts.push(['find', find]);
  if (range) parts.push(['range', `${moment(range.from)}..${moment(range.to)}`]);
  return `#${parts.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}`;
}

/** Shows what a link says. Whatever it says wrongly is left as it is. `search` sets the text to find. */
function openLink(timeline, hash, search) {
  const { regions } = timeline, said = new URLSearchParams(hash.slice(1));
  const span = (from, to) => {
    const times = [from, to].map((text) => text ? Number(text) - regions.base : NaN);
    return times.every(Number.isFinite) && times[0] < times[1] ? times : null;
  };
  const window = span(said.get('from'), said.get('to')), range = span(...(said.get('range') ?? '').split('..'));
  if (said.has('find')) search(said.get('find'));
  if (range) timeline.setRange({ from: range[0], to: range[1] });
  const selected = said.has('select') ? regionNamed(regions, said.get('select')) : -1;
  if (selected >= 0) timeline.choose(selected, !window);
  if (window) timeline.show(...window);
}

/** Returns what keeps the page's own address up to date. Browsers refuse an address that changes at every frame. */
function linkNoter(timeline, search) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => history.replaceState(null, '', linkOf(timeline, search.value)), 150);
  };
}

/** Copies a text, and says so on the button. */
async function copy(text, button) {
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    // Without the clipboard's permission, the older way.
    const area = element('textarea', { readonly: '' }, text);
    document.body.append(area);
    area.select();
    button.textContent = document.execCommand('copy') ? 'Copied' : 'Not allowed';
    area.remove();
  }
  setTimeout(() => (button.textContent = words), 1500);
}
