// Curves as SVG, on logarithmic axes, with the point of the page, and the same numbers as a table.
'use strict';

const HEIGHT = 300;
const LEFT = 64;
const RIGHT = 86;
const BOTTOM = 48;
const TOP = 26;
/** Rates below it are not drawn, except as of kinds that are made for them. */
const LOW = 1e-18;

/** Loads for which rates are drawn, as multiples of n. */
page.loads = () => Array.from({ length: 41 }, (_, i) => 10 ** (i / 20 - 1));

/** A count in few letters: 10M. */
page.compact = (number) =>
  new Intl.NumberFormat(page.language, { notation: 'compact', maximumSignificantDigits: 3 }).format(number);

/**
 * One plot: `curves` are [name, [[x, y], …]]; points below `least` are left out. `marks` are the
 * values of x that are named, and `point` is the filter of the page.
 */
page.plot = ({ curves, xs, marks, label, xText, xTitle, yTitle, point, pointText, width,
  yText = page.rate, least = LOW }) => {
  const { element } = page;
  const wide = Math.max(width || 720, 280);
  const ys = [...curves.flatMap(([, points]) => points), ...(point ? [point] : [])].map(([, y]) => y)
    .filter((y) => y >= least);
  const [low, high] = [Math.floor(Math.log10(Math.min(...ys, 1))), Math.ceil(Math.log10(Math.max(...ys)))];
  const top = yText === page.rate ? 0 : high;
  const bottom = yText === page.rate ? Math.min(low, -1) : Math.floor(Math.log10(Math.min(...ys)));
  const [x0, x1] = [Math.log10(Math.min(...xs)), Math.log10(Math.max(...xs))];
  const x = (value) => LEFT + ((Math.log10(value) - x0) / (x1 - x0)) * (wide - LEFT - RIGHT);
  const y = (value) => TOP + ((top - Math.log10(value)) / (top - bottom)) * (HEIGHT - TOP - BOTTOM);
  const svg = element('svg', { viewBox: `0 0 ${wide} ${HEIGHT}`, width: wide, height: HEIGHT, role: 'img' },
    element('title', {}, label));
  svg.append(element('text', { x: 0, y: 14 }, yTitle),
    element('text', { x: (LEFT + wide - RIGHT) / 2, y: HEIGHT - 6, 'text-anchor': 'middle' }, xTitle));
  const step = Math.ceil((top - bottom) / 6);
  for (let power = top; power >= bottom; power -= step) {
    const at = y(10 ** power);
    svg.append(element('line', { class: 'axis', x1: LEFT, x2: wide - RIGHT, y1: at, y2: at }));
    svg.append(element('text', { x: LEFT - 6, y: at + 4, 'text-anchor': 'end' }, yText(10 ** power)));
  }
  let last = -99;
  for (const mark of marks) {
    const at = x(mark);
    svg.append(element('line', { class: 'mark', x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM }));
    // Names that would touch are left out.
    if (at - last < 44) continue;
    last = at;
    svg.append(element('text', { x: at, y: HEIGHT - BOTTOM + 19, 'text-anchor': 'middle' }, xText(mark)));
  }
  draw(svg, curves.map(([name, points]) =>
    [name, points.filter(([, value]) => value >= least).map(([px, py]) => [x(px), y(py)])]));
  if (point) {
    const [px, py] = [x(point[0]), y(Math.max(point[1], 10 ** bottom))];
    const isLeft = px < LEFT + 90;
    svg.append(element('circle', { class: 'point', cx: px, cy: py, r: 5 }),
      element('text', { class: 'own', x: isLeft ? px + 9 : px - 9, y: py - 8, 'text-anchor': isLeft ? 'start' : 'end' },
        pointText));
  }
  return svg;
};

/** Curves in the places of the plot, with their names behind the ends, the highest first. */
function draw(svg, curves) {
  const { element } = page;
  const named = [];
  curves.forEach(([name, points], i) => {
    if (points.length === 0) return;
    const path = points.map(([px, py], j) => `${j ? 'L' : 'M'}${px.toFixed(1)} ${py.toFixed(1)}`);
    svg.append(element('path', { class: `curve c${i % 5}`, d: path.join('') }));
    if (name) named.push([name, ...points[points.length - 1]]);
  });
  let free = 0;
  for (const [name, px, py] of named.sort((one, other) => one[2] - other[2])) {
    const at = Math.max(py + 4, free);
    free = at + 14;
    svg.append(element('line', { class: 'leader', x1: px + 1, x2: px + 8, y1: py, y2: at - 4 }),
      element('text', { class: 'name', x: px + 11, y: at }, name));
  }
}

page.showCurves = (library, plan) => {
  const { element, text } = page;
  const best = plan.candidates[0];
  if (!best) {
    ['curve', 'curve-table', 'by-k', 'by-n', 'by-m'].forEach((id) => page.byId(id).replaceChildren());
    return;
  }
  const loads = page.loads();
  const curves = plan.candidates.map(({ kind, curve }) =>
    [kind, loads.map((load, i) => [load, Number.isNaN(curve[i]) ? 0 : curve[i]])]);
  page.byId('curve').replaceChildren(page.plot({
    curves, xs: loads, marks: [0.1, 1, 2, 10], label: text('plot_kinds'),
    xText: (load) => (load === 1 ? 'n' : `${page.decimal(load)} n`),
    xTitle: text('x_load', page.compact(best.items)), yTitle: text('y_rate'),
    ...own('curve', 1, best.expectedFpp),
  }));
  const rows = [0, 10, 14, 20, 26, 34, 40].map((i) => element('tr', {},
    element('th', { scope: 'row' }, page.count(best.items * loads[i])),
    ...plan.candidates.map(({ curve }) => element('td', {}, page.rate(curve[i])))));
  page.byId('curve-table').replaceChildren(element('thead', {}, element('tr', {},
    element('th', { scope: 'col' }, text('col_keys')),
    ...plan.candidates.map(({ kind }) => element('th', { scope: 'col' }, kind)))),
  element('tbody', {}, ...rows));
  showByHashes(library, best);
  showByKeys(library, best);
  showByBits(best);
};

/** The width of a place, and the point of the page in it. */
const own = (id, at, value, written = page.rate(value)) =>
  ({ width: page.byId(id).clientWidth, point: [at, value], pointText: page.text('yours', written) });

/** The valley of p over k, around (m / n) ln 2. */
function showByHashes(library, { items, numBits, numHashes, expectedFpp, kind }) {
  const hashes = Array.from({ length: 32 }, (_, i) => i + 1);
  const rate = (k) => library.textbookFpp(Math.max(64, Math.floor(numBits)), k, items);
  // Of the kinds that set no k bits a key, the point is at the best k of the formula.
  const isOther = ['compact', 'fuse', 'ribbon', 'segment'].includes(kind);
  const k = Math.min(32, Math.max(1, isOther ? library.numHashesFor(numBits, items) : numHashes));
  page.byId('by-k').replaceChildren(page.plot({
    curves: [['', hashes.map((each) => [each, rate(each)])]], xs: hashes, marks: [1, 2, 4, 8, 16, 32],
    label: page.text('by_k'), xText: String, yTitle: page.text('y_rate'),
    xTitle: page.text('x_hashes', page.decimal(((numBits / items) * LN2).toFixed(1))),
    ...own('by-k', k, expectedFpp),
  }));
}

/** p over n in the same bits, for some k. */
function showByKeys(library, { items, numBits, expectedFpp }) {
  const bits = Math.max(64, Math.floor(numBits));
  const keys = Array.from({ length: 31 }, (_, i) => Math.max(1, Math.round(items * 10 ** (i / 15 - 1))));
  const best = Math.min(32, Math.max(1, library.numHashesFor(numBits, items)));
  const hashes = [...new Set([1, 3, best, Math.min(32, 2 * best)])];
  page.byId('by-n').replaceChildren(page.plot({
    curves: hashes.map((k) => [`k = ${k}`, keys.map((n) => [n, library.textbookFpp(bits, k, n)])]),
    xs: keys, marks: [0.1, 1, 10].map((load) => items * load).filter((n) => n >= 1),
    label: page.text('by_n'), xText: page.compact, yTitle: page.text('y_rate'),
    xTitle: page.text('x_keys', page.bytes(numBits / 8)), least: 1e-9,
    ...own('by-n', items, expectedFpp),
  }));
}

/** n over m, for some rates. */
function showByBits({ items, numBits, targetFpp, expectedFpp }) {
  const sizes = Array.from({ length: 21 }, (_, i) => (numBits / 8) * 10 ** (i / 10 - 1));
  const rates = [...new Set([expectedFpp > 0 ? targetFpp : 0.01, 0.1, 0.01, 1e-4, 1e-8])].slice(0, 5);
  const keys = (bytes, rate) => (8 * bytes * LN2 ** 2) / -Math.log(rate);
  page.byId('by-m').replaceChildren(page.plot({
    curves: rates.map((rate) => [page.rate(rate), sizes.map((bytes) => [bytes, keys(bytes, rate)])]),
    xs: sizes, marks: [0.1, 1, 10].map((times) => (numBits / 8) * times), label: page.text('by_m'),
    xText: (bytes) => page.bytes(bytes), xTitle: page.text('x_memory'), yTitle: page.text('y_keys'),
    yText: page.compact, least: 1e-3,
    ...own('by-m', numBits / 8, items, page.compact(items)),
  }));
}
