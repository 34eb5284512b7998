// Long labels, cut so that they can still be told apart: kernels often differ only in one template argument, somewhere in the middle.

/** Cuts a text to at most this many characters. `differs` is where it differs from the text most like it, which is kept in view. */
function cut(text, most, differs = 0) {
  if (text.length <= most) return text;
  const head = Math.ceil((most - 1) * 0.6), tail = most - 1 - head;
  if (differs < head - 2 || differs > text.length - tail) return `${text.slice(0, head)}…${text.slice(text.length - tail)}`;
  const first = Math.floor(most / 3), rest = Math.max(0, most - first - 2), from = Math.max(first, differs - 1);
  return `${text.slice(0, first)}…${text.slice(from, from + rest)}${from + rest < text.length ? '…' : ''}`;
}

/** The labels of a page, as shown. */
class Labels {
  static MOST = 56;

  constructor(labels) {
    const sorted = [...new Set(labels.map(printable))].sort();
    this.differs = new Map();
    this.users = new Map();
    let before = 0;
    sorted.forEach((label, place) => {
      const next = place + 1 < sorted.length ? Labels.common(label, sorted[place + 1]) : 0;
      this.differs.set(label, Math.max(before, next));
      before = next;
      const short = cut(label, Labels.MOST, this.differs.get(label));
      this.users.set(short, (this.users.get(short) ?? 0) + 1);
    });
  }

  /** How many characters two texts have in common at their beginnings. */
  static common(one, other) {
    let at = 0;
    while (at < one.length && one[at] === other[at]) at++;
    return at;
  }

  /** A label for a table: cut if it is long, with the whole text on hover. Whole if another label would look the same. */
  inTable(label) {
    const whole = printable(label), short = cut(whole, Labels.MOST, this.differs.get(whole));
    return short === whole || this.users.get(short) > 1 ? whole : element('span', { title: whole }, short);
  }
}
