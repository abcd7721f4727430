// The table of kinds.
'use strict';

page.showSizes = (library, needs, plan) => {
  const best = plan.candidates[0];
  const body = page.byId('kinds').tBodies[0];
  body.replaceChildren(...plan.candidates.map((kind) => row(library, kind)));
  page.byId('verdict').replaceChildren(...verdict(needs, best));
  const unfit = plan.unfit.map(({ kind, why }) => `${kind} ${page.reason(why)}`).join('; ');
  page.byId('unfit').textContent = unfit ? page.text('unfit', unfit) : '';
  page.byId('own-k').textContent = best ? ownHashes(library, needs, best) : '';
};

/** Cache lines that a query touches: the mean by which the planner chooses, half of absent keys. */
page.cacheLines = ({ cacheLinesMiss, cacheLinesHit }) => (cacheLinesMiss + cacheLinesHit) / 2;

function row(library, kind) {
  const { element, rate } = page;
  const plain = ['standard', 'blocked', 'blocked128', 'blocked64'].includes(kind.kind);
  const textbook = plain ? library.textbookFpp(kind.numBits, kind.numHashes, kind.items) : null;
  const over = (fpp) => element('td', fpp > kind.targetFpp * 1.001 ? { class: 'over' } : {}, rate(fpp));
  return element('tr', kind.isBest ? { class: 'best' } : {},
    element('th', { scope: 'row' }, kind.kind),
    element('td', {}, page.bytes(kind.numBytes)),
    element('td', {}, page.decimal(kind.bitsPerItem.toFixed(2))),
    element('td', {}, kind.numHashes),
    element('td', {}, rate(kind.expectedFpp)),
    element('td', {}, rate(textbook)),
    over(kind.fppAt2x), over(kind.fppAt10x),
    element('td', {}, page.decimal(page.cacheLines(kind).toFixed(1))),
    element('td', { class: 'why' }, kind.isBest ? page.text('best_of') : page.reason(kind.why)));
}

function verdict(needs, best) {
  const { text, count, rate } = page;
  if (!best) return [text('no_kind')];
  const grows = best.kind === 'scalable';
  const solved = needs.items === null ? text('keys_fit', count(best.items))
    : needs.fpp === null ? text('rate_kept', rate(grows ? best.targetFpp : best.expectedFpp))
      : text('bytes_needed', page.bytes(best.numBytes));
  const each = needs.sets > 1 ? text('of_sets', count(needs.sets)) : '';
  return [page.element('b', { id: 'answer' }, solved),
    text('verdict', best.kind, count(best.numBits), each, page.decimal(best.bitsPerItem.toFixed(2)),
      best.numHashes, rate(best.expectedFpp), count(1 / best.expectedFpp)),
    grows ? text('verdict_grows', rate(best.targetFpp)) : '',
    // Not of kinds that keep it however many keys come.
    best.fppAt2x > best.targetFpp * 1.001
      ? text('verdict_2n', count(2 * best.items), rate(best.fppAt2x), count(1 / best.fppAt2x)) : ''];
}

/** The cost of a chosen k, in spread bits of the same m. */
function ownHashes(library, needs, best) {
  if (needs.numHashes === null) return '';
  try {
    const fpp = library.expectedFpp('standard', best.numBits, needs.numHashes, best.items);
    return page.text('own_k', needs.numHashes, page.rate(fpp), library.numHashesFor(best.numBits, best.items));
  } catch (error) {
    page.byId('needs').elements.k.setAttribute('aria-invalid', 'true');
    return `k = ${needs.numHashes}: ${error.message}.`;
  }
}
