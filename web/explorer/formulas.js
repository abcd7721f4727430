// The formulas of a Bloom filter, with the numbers of the page in them.
'use strict';

const LN2 = Math.LN2;

page.showFormulas = (library, needs, best) => {
  const place = page.byId('formulas');
  if (!best) {
    place.replaceChildren();
    return;
  }
  const { text, count, decimal } = page;
  const { items: n, targetFpp } = best;
  // With memory given, its bits are m, and p follows.
  const isGiven = needs.maxBytes !== null;
  const m = isGiven ? best.numBits : Math.ceil((-n * Math.log(targetFpp)) / LN2 ** 2);
  const perKey = (m / n) * LN2;
  const k = Math.max(1, Math.round(perKey));
  const p = (1 - Math.exp((-k * n) / m)) ** k;
  const rows = [
    ...(isGiven ? [] : [[
      text('f_bits'), ['m = −n ln p / (ln 2)', power(2)],
      `−${count(n)} · ln ${page.short(targetFpp)} / ${decimal('0.4805')} = `
        + text('f_bits_is', count(m), decimal((m / n).toFixed(2))),
    ]]),
    [text('f_hashes'), ['k = (m / n) ln 2'],
      `${decimal((m / n).toFixed(2))} · ${decimal('0.6931')} = ${decimal(perKey.toFixed(2))}, ${text('f_so', k)}`],
    [text('f_rate'), ['p = (1 − e', power('−kn/m'), ')', power('k')],
      `(1 − e^(−${k} · ${count(n)} / ${count(m)}))^${k} = ${page.rate(p)}`],
  ];
  place.replaceChildren(page.facts([...rows.map(([name, formula, numbers]) => [name,
    page.element('span', {}, page.element('span', { class: 'formula' }, ...formula), ' = ', numbers)]),
  [text('f_darts'), text('f_darts_is', page.rate(Math.exp((-k * n) / m)))]]),
  page.element('p', {}, ours(best), best.numHashes && best.numHashes !== k ? text('ours_k', best.numHashes, k) : ''));
};

const power = (text) => page.element('sup', {}, text);

/** How the best kind differs from the formulas. */
function ours({ kind, numBits, expectedFpp }) {
  const which = kind.startsWith('blocked') ? 'blocked' : kind === 'standard' ? 'standard' : 'other';
  return page.text(`ours_${which}`, kind, page.count(numBits), page.rate(expectedFpp));
}
