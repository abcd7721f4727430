// The kinds as bars: what they take, and what a query touches.
'use strict';

const ROW = 26;
/** Room for the names of the kinds, and for the number behind a bar. */
const NAMES = 92;
const NUMBERS = 78;

page.showBars = ({ candidates }) => {
  const { element, text } = page;
  const place = page.byId('bars');
  if (candidates.length === 0) {
    place.replaceChildren();
    return;
  }
  const width = Math.max(place.clientWidth, 300);
  const height = ROW * (candidates.length + 1);
  const half = NAMES + (width - NAMES) * 0.56;
  const columns = [
    ['bars_memory', NAMES, half - NAMES, ({ numBytes }) => numBytes, page.bytes],
    ['bars_lines_head', half, width - half, page.cacheLines,
      (lines) => page.decimal(lines.toFixed(1))],
  ];
  const svg = element('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img' },
    element('title', {}, text('bars')));
  candidates.forEach(({ kind, isBest }, i) => {
    const y = ROW * (i + 1) + 17;
    svg.append(element('text', { class: isBest ? 'name best' : 'name', x: 0, y }, kind));
  });
  for (const [name, left, room, value, write] of columns) {
    svg.append(element('text', { x: left, y: 15 }, text(name)));
    const most = Math.max(...candidates.map(value));
    candidates.forEach((candidate, i) => {
      const long = Math.max(2, (value(candidate) / most) * (room - NUMBERS));
      const [y, rows] = [ROW * (i + 1), candidate.isBest ? 'bar best' : 'bar'];
      svg.append(element('rect', { class: rows, x: left, y: y + 4, width: long, height: ROW - 8, rx: 2 }));
      svg.append(element('text', { class: 'name', x: left + long + 6, y: y + 17 }, write(value(candidate))));
    });
  }
  place.replaceChildren(svg);
};
