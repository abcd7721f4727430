// The formulas of a Bloom filter, with the numbers of the page in them.
'use strict';

const LN2 = Math.LN2;

page.showFormulas = (library, needs, best) => {
  const place = page.byId('formulas');
  if (!best) {
    place.replaceChildren();
    return;
  }
  const { items: n, targetFpp } = best;
  // With memory given, its bits are m, and p follows.
  const isGiven = needs.maxBytes !== null;
  const m = isGiven ? best.numBits : Math.ceil((-n * Math.log(targetFpp)) / LN2 ** 2);
  const perKey = (m / n) * LN2;
  const k = Math.max(1, Math.round(perKey));
  const p = (1 - Math.exp((-k * n) / m)) ** k;
  const rows = [
    ...(isGiven ? [] : [[
      'Bits', ['m = −n ln p / (ln 2)', power(2)],
      `−${page.count(n)} · ln ${page.short(targetFpp)} / 0.4805 = ${page.count(m)} bits, `
        + `${(m / n).toFixed(2)} a key`,
    ]]),
    ['Hashes', ['k = (m / n) ln 2'], `${(m / n).toFixed(2)} · 0.6931 = ${perKey.toFixed(2)}, so ${k}`],
    ['Rate', ['p = (1 − e', power('−kn/m'), ')', power('k')],
      `(1 − e^(−${k} · ${page.count(n)} / ${page.count(m)}))^${k} = ${page.rate(p)}`],
  ];
  place.replaceChildren(page.facts(rows.map(([name, formula, numbers]) => [name,
    page.element('span', {}, page.element('span', { class: 'formula' }, ...formula), ' = ', numbers)])),
  page.element('p', {}, ours(best)));
};

const power = (text) => page.element('sup', {}, text);

/** How the best kind differs from the formulas. */
function ours({ kind, numBits, expectedFpp }) {
  const size = `${page.count(numBits)} bits and ${page.rate(expectedFpp)} with all keys`;
  if (kind.startsWith('blocked')) {
    return `The table is exact where these are not: in ${kind}, all bits of a key are in one block, some `
      + `blocks get more keys than others, and p is the mean over all loads of a block. That is ${size}, `
      + 'for one cache line a query.';
  }
  if (kind === 'standard') return `The table counts every throw of a bit, and whole blocks: ${size}.`;
  return `A filter of the kind ${kind} has formulas of its own: ${size}.`;
}
