// The bit array, and which bits a key sets or finds.
'use strict';

/** Worked examples with positions given by hand, and a small filter of the library. */
const EXAMPLES = [
  { name: '20 bits: A, B in; is C?', numBits: 20,
    positions: { A: [0, 5, 7], B: [2, 8, 13], C: [0, 4, 7] }, inside: ['A', 'B'], query: 'C' },
  { name: 'baidu, tencent in; is dianping?', numBits: 10,
    positions: { baidu: [1, 4, 7], tencent: [3, 4, 8], dianping: [1, 5, 8] },
    inside: ['baidu', 'tencent'], query: 'dianping' },
  { name: 'k = 3: one bit of three is 0', numBits: 16,
    positions: { x: [1, 5, 11], y: [1, 6, 11] }, inside: ['x'], query: 'y' },
  { name: 'a real one: 12 keys at 5 %', real: { kind: 'standard', items: 12, fpp: 0.05 } },
  { name: 'a living one: 100 keys at 1 %', real: { kind: 'standard', items: 100, fpp: 0.01 } },
];

/** More bits than that are drawn without their numbers. */
const DENSE = 128;

page.startBits = async (library) => {
  const form = page.byId('bits').elements;
  form.preset.replaceChildren(...EXAMPLES.map(({ name }, i) =>
    page.element('option', { value: i }, name)));
  let board;
  const choose = async () => {
    board?.filter?.free();
    board = await boardOf(library, EXAMPLES[form.preset.value]);
    form.query.value = board.query;
    form.insert.value = '';
    form.more.hidden = !board.filter;
    showBoard(board, board.query);
  };
  form.preset.addEventListener('change', choose);
  form.more.addEventListener('click', () => {
    for (let i = 0; i < 100; i += 1) insertInto(board, `more-${board.inside.length}`);
    showBoard(board, form.query.value);
  });
  page.byId('bits').addEventListener('submit', (event) => {
    event.preventDefault();
    if (form.insert.value !== '') insertInto(board, form.insert.value);
    form.insert.value = '';
    showBoard(board, form.query.value);
  });
  await choose();
};

async function boardOf(library, example) {
  const board = { library, inside: [], query: example.query ?? 'key-3', set: new Set() };
  if (example.real) {
    board.filter = await library.Filter.create(example.real);
    board.numBits = board.filter.info().numBits;
    board.positions = (key) => board.filter.positions(key);
    ['key-1', 'key-2', 'key-3'].forEach((key) => insertInto(board, key));
  } else {
    board.numBits = example.numBits;
    board.positions = (key) => example.positions[key];
    example.inside.forEach((key) => insertInto(board, key));
  }
  return board;
}

function insertInto(board, key) {
  const positions = board.positions(key);
  if (!positions) return;
  board.filter?.insertMany([key]);
  positions.forEach((position) => board.set.add(position));
  board.inside.push(key);
}

/** The rate that is predicted for each number of keys, and a dot for the bits as they are. */
function showGrowth({ filter, library, inside }) {
  const place = page.byId('bits-curve');
  if (!filter) {
    place.replaceChildren();
    return;
  }
  const { numBits, numHashes, expectedItems: n, estimatedFpp } = filter.info();
  const most = Math.max(10 * n, inside.length);
  const keys = Array.from({ length: 41 }, (_, i) => Math.max(1, Math.round(most ** (i / 40))));
  const curve = keys.map((count) => [count, library.expectedFpp('standard', numBits, numHashes, count)]);
  const dot = [[inside.length * 0.97, estimatedFpp], [inside.length * 1.03, estimatedFpp]];
  place.replaceChildren(
    page.element('p', {}, `${page.count(inside.length)} keys in a filter for ${page.count(n)}: by its bits, `
      + `${page.rate(estimatedFpp)} of absent keys are answered “maybe” now.`),
    page.plot({
      curves: [['predicted', curve], ['now', dot]], xs: keys, marks: [1, n, 10 * n],
      label: 'Rate against keys of this filter', xText: page.count,
    }));
}

function showBoard(board, key) {
  const probes = key === '' ? [] : board.positions(key);
  const words = page.byId('bits-words');
  const isDense = board.numBits > DENSE;
  const cells = Array.from({ length: board.numBits }, (_, i) => {
    const on = board.set.has(i);
    const probe = probes?.includes(i);
    const classes = ['bit', on && 'on', probe && 'probe', probe && !on && 'miss'].filter(Boolean);
    return page.element('span', { class: classes.join(' ') },
      ...(isDense ? [] : [page.element('b', {}, on ? 1 : 0), i]));
  });
  page.byId('bits-view').replaceChildren(page.element('div', { class: isDense ? 'grid dense' : 'grid', role: 'img',
    'aria-label': `${board.numBits} bits, ${board.set.size} set`
      + (isDense ? '' : `: ${[...board.set].sort((a, b) => a - b).join(', ')}`) },
  ...cells));
  showGrowth(board);
  if (!probes) {
    words.textContent = 'This example has no such key; the last one takes any.';
    return;
  }
  const missing = probes.filter((position) => !board.set.has(position));
  const answer = missing.length
    ? `surely not: bit ${missing.join(' and ')} is 0`
    : board.inside.includes(key) ? 'maybe, and it is inside'
      : 'maybe, and it is not inside: a false positive';
  const inside = board.inside.length > 12 ? `${board.inside.length} keys` : board.inside.join(', ');
  words.textContent = key === '' ? '' : `Inside: ${inside}. `
    + `${key} → bits ${probes.join(', ')}: ${answer}.`;
}
