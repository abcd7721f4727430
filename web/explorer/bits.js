// The bit array, and which bits a key sets or finds.
'use strict';

/** Worked examples with positions given by hand, and a small filter of the library. */
const THREE = { baidu: [1, 4, 7], tencent: [3, 4, 8], dianping: [1, 5, 8], taobao: [1, 3, 8] };
const EXAMPLES = [
  { name: 'ex_abc', numBits: 20,
    positions: { A: [0, 5, 7], B: [2, 8, 13], C: [0, 4, 7] }, inside: ['A', 'B'], query: 'C' },
  { name: 'ex_baidu', numBits: 10, positions: THREE, inside: ['baidu', 'tencent'], query: 'dianping' },
  { name: 'ex_taobao', numBits: 10, positions: THREE, inside: ['baidu', 'tencent'], query: 'taobao' },
  { name: 'ex_three', numBits: 16,
    positions: { 1: [1, 5, 11], 10: [3, 5, 14], 3: [2, 6, 9] }, inside: ['1', '10'], query: '3' },
  { name: 'ex_real', real: { kind: 'standard', items: 12, fpp: 0.05 } },
  { name: 'ex_living', real: { kind: 'standard', items: 100, fpp: 0.01 } },
];

/** More bits than that are drawn without their numbers. */
const DENSE = 128;

page.startBits = async (library) => {
  const form = page.byId('bits').elements;
  form.preset.replaceChildren(...EXAMPLES.map(({ name }, i) =>
    page.element('option', { value: i, 'data-t': name }, page.text(name))));
  let board;
  page.showBits = () => showBoard(board, form.query.value);
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
  place.replaceChildren(
    page.element('p', {}, page.text('growth', page.count(inside.length), page.count(n), page.rate(estimatedFpp))),
    page.plot({
      curves: [[page.text('predicted'), curve]], xs: keys, marks: [1, n, 10 * n], width: place.clientWidth,
      point: [inside.length, estimatedFpp], pointText: page.rate(estimatedFpp), label: page.text('plot_growth'),
      xText: page.count, xTitle: page.text('col_keys'), yTitle: page.text('y_rate'),
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
    'aria-label': page.text('bits_are', board.numBits, board.set.size)
      + (isDense ? '' : `: ${[...board.set].sort((a, b) => a - b).join(', ')}`) },
  ...cells));
  showGrowth(board);
  if (!probes) {
    words.textContent = page.text('no_such_key');
    return;
  }
  const missing = probes.filter((position) => !board.set.has(position));
  const answer = missing.length ? page.text('no_bit', missing.join(page.text('and')))
    : page.text(board.inside.includes(key) ? 'is_inside' : 'is_false');
  const inside = board.inside.length > 12 ? page.text('d_keys', board.inside.length) : board.inside.join(', ');
  words.textContent = key === '' ? ''
    : page.text('inside', inside) + page.text('key_bits', key, probes.join(', '), answer);
}
