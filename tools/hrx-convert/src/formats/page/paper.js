// The timeline on paper: everything from the first moment to the last, at the width of a page, in parts that each fit on one.

const PAPER_WIDTH = 720, PAPER_HEIGHT = 880, PAPER_PARTS = 40, PAPER_RATIO = 2;

function drawPaper(timeline, underneath) {
  const { view, height } = timeline, room = PAPER_HEIGHT - AXIS, place = byId('paper');
  timeline.view = { ...timeline.whole };
  const canvas = (height) => {
    const made = element('canvas', { width: PAPER_WIDTH * PAPER_RATIO, height: Math.round(height * PAPER_RATIO) });
    place.append(made);
    return made;
  };
  const parts = Math.min(PAPER_PARTS, Math.ceil(height / room));
  for (let part = 0; part < parts; part++) {
    const shown = Math.min(room, height - part * room) + AXIS;
    timeline.drawOn(canvas(shown), PAPER_WIDTH, shown, PAPER_RATIO, part * room);
  }
  if (parts * room < height) place.append(element('p', {}, 'The lanes below are left out on paper.'));
  for (const bands of underneath.filter(({ height }) => height)) {
    const context = canvas(bands.height).getContext('2d');
    context.setTransform(PAPER_RATIO, 0, 0, PAPER_RATIO, 0, 0);
    bands.draw(context, timeline);
    place.append(element('p', { class: 'quiet' }, bands.text(timeline)));
  }
  timeline.view = view;
}
