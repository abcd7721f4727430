// The table of kinds.
'use strict';

page.showSizes = (library, needs, plan) => {
  const best = plan.candidates[0];
  const body = page.byId('kinds').tBodies[0];
  body.replaceChildren(...plan.candidates.map((kind) => row(library, kind)));
  page.byId('verdict').replaceChildren(...verdict(needs, best));
  const unfit = plan.unfit.map(({ kind, why }) => `${kind} ${why}`).join('; ');
  page.byId('unfit').textContent = unfit ? `Not for this: ${unfit}.` : '';
  page.byId('own-k').textContent = best ? ownHashes(library, needs, best) : '';
};

function row(library, kind) {
  const { element, rate } = page;
  const plain = ['standard', 'blocked', 'blocked128', 'blocked64'].includes(kind.kind);
  const textbook = plain ? library.textbookFpp(kind.numBits, kind.numHashes, kind.items) : null;
  const over = (fpp) => element('td', fpp > kind.targetFpp * 1.001 ? { class: 'over' } : {}, rate(fpp));
  return element('tr', kind.isBest ? { class: 'best' } : {},
    element('th', { scope: 'row' }, kind.kind),
    element('td', {}, page.bytes(kind.numBytes)),
    element('td', {}, kind.bitsPerItem.toFixed(2)),
    element('td', {}, kind.numHashes),
    element('td', {}, rate(kind.expectedFpp)),
    element('td', {}, rate(textbook)),
    over(kind.fppAt2x), over(kind.fppAt10x),
    element('td', {}, `${kind.cacheLinesMiss.toFixed(1)} / ${kind.cacheLinesHit.toFixed(1)}`),
    element('td', { class: 'why' }, kind.isBest ? 'the best of these' : kind.why));
}

function verdict(needs, best) {
  if (!best) return ['No kind of filter serves these needs.'];
  const solved = needs.items === null ? `${page.count(best.items)} keys fit`
    : needs.fpp === null ? `A rate of ${page.rate(best.expectedFpp)} is kept`
      : `${page.bytes(best.numBytes)} are needed`;
  const each = needs.sets > 1 ? ` for each of ${page.count(needs.sets)} sets` : '';
  const bold = page.element('b', { id: 'answer' }, solved);
  return [bold, ` with ${best.kind}: ${page.count(best.numBits)} bits${each}, `
    + `${best.bitsPerItem.toFixed(2)} a key, k = ${best.numHashes}. `
    + `${page.rate(best.expectedFpp)} of absent keys are answered “maybe”, 1 in `
    + `${page.count(1 / best.expectedFpp)}.`];
}

/** The cost of a chosen k, in spread bits of the same m. */
function ownHashes(library, needs, best) {
  if (needs.numHashes === null) return '';
  try {
    const fpp = library.expectedFpp('standard', best.numBits, needs.numHashes, best.items);
    return `With k = ${needs.numHashes} in as many spread bits: ${page.rate(fpp)}; the best k there `
      + `is ${library.numHashesFor(best.numBits, best.items)}.`;
  } catch (error) {
    return `With k = ${needs.numHashes}: ${error.message}.`;
  }
}
