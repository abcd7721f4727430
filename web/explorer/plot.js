// Curves as SVG, on logarithmic axes, and the same numbers as a table.
'use strict';

const WIDTH = 720;
const HEIGHT = 300;
const LEFT = 60;
const RIGHT = 120;
const BOTTOM = 34;
const TOP = 12;

/** Loads for which rates are drawn, as multiples of n. */
page.loads = () => Array.from({ length: 41 }, (_, i) => 10 ** (i / 20 - 1));

/** One plot: `curves` are [name, [[x, y], …]]; points without a rate are left out. */
page.plot = ({ curves, xs, marks, label, xText }) => {
  const { element } = page;
  const ys = curves.flatMap(([, points]) => points.map(([, y]) => y)).filter((y) => y > 1e-18);
  const low = Math.floor(Math.log10(Math.min(...ys, 0.1)));
  const [x0, x1] = [Math.log10(Math.min(...xs)), Math.log10(Math.max(...xs))];
  const x = (value) => LEFT + ((Math.log10(value) - x0) / (x1 - x0)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => TOP + (Math.log10(value) / low) * (HEIGHT - TOP - BOTTOM);
  const svg = element('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label });
  const step = Math.ceil(-low / 6);
  for (let power = 0; power >= low; power -= step) {
    const at = y(10 ** power);
    svg.append(element('line', { class: 'axis', x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at }));
    svg.append(element('text', { x: LEFT - 6, y: at + 4, 'text-anchor': 'end' }, page.rate(10 ** power)));
  }
  for (const mark of marks) {
    const at = x(mark);
    svg.append(element('line', { class: 'mark', x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM }));
    svg.append(element('text', { x: at, y: HEIGHT - 14, 'text-anchor': 'middle' }, xText(mark)));
  }
  const taken = [];
  curves.forEach(([name, points], i) => {
    const drawn = points.filter(([, value]) => value > 1e-18);
    if (drawn.length === 0) return;
    const path = drawn.map(([px, py], j) => `${j ? 'L' : 'M'}${x(px).toFixed(1)} ${y(py).toFixed(1)}`);
    svg.append(element('path', { class: `curve c${i % 5}`, d: path.join('') }));
    const [lastX, lastY] = drawn[drawn.length - 1];
    let at = y(lastY) + 4;
    while (taken.some((other) => Math.abs(other - at) < 14)) at += 14;
    taken.push(at);
    svg.append(element('text', { class: 'name', x: x(lastX) + 8, y: at }, name));
    svg.append(element('line', { class: 'leader', x1: x(lastX), x2: x(lastX) + 6, y1: y(lastY), y2: at - 4 }));
  });
  return svg;
};

page.showCurves = (library, plan) => {
  const { element } = page;
  const best = plan.candidates[0];
  if (!best) {
    ['curve', 'curve-table', 'by-k'].forEach((id) => page.byId(id).replaceChildren());
    return;
  }
  const loads = page.loads();
  const curves = plan.candidates.map(({ kind, curve }) =>
    [kind, loads.map((load, i) => [load, Number.isNaN(curve[i]) ? 0 : curve[i]])]);
  page.byId('curve').replaceChildren(page.plot({
    curves, xs: loads, marks: [0.1, 1, 2, 10], label: 'Rate against keys, for each kind',
    xText: (load) => (load === 1 ? 'n' : `${load} n`),
  }));
  const rows = [0, 10, 14, 20, 26, 34, 40].map((i) => element('tr', {},
    element('th', { scope: 'row' }, page.count(best.items * loads[i])),
    ...plan.candidates.map(({ curve }) => element('td', {}, page.rate(curve[i])))));
  page.byId('curve-table').replaceChildren(element('thead', {}, element('tr', {},
    element('th', { scope: 'col' }, 'Keys'),
    ...plan.candidates.map(({ kind }) => element('th', { scope: 'col' }, kind)))),
  element('tbody', {}, ...rows));
  showByHashes(library, best);
};

/** The plot of p against k: the valley around (m / n) ln 2. */
function showByHashes(library, best) {
  const hashes = Array.from({ length: 32 }, (_, i) => i + 1);
  const numBits = Math.max(64, Math.floor(best.numBits));
  const curve = (rate) => hashes.map((k) => [k, rate(k)]);
  const curves = [
    ['standard', curve((k) => library.expectedFpp('standard', numBits, k, best.items))],
    ['textbook', curve((k) => library.textbookFpp(numBits, k, best.items))],
  ];
  page.byId('by-k').replaceChildren(page.plot({
    curves, xs: hashes, marks: [1, 2, 4, 8, 16, 32], label: 'Rate against k', xText: String,
  }));
}
