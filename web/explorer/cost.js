// The cost model: with a filter, with all keys in memory, with neither.
'use strict';

page.showCost = (library, best) => {
  const { element } = page;
  const form = page.byId('cost').elements;
  const table = page.byId('cost-table');
  const [filter, disk] = [Number(form.c1.value), Number(form.c2.value)];
  const absent = library.parseFpp(form.absent.value);
  const keyBytes = library.parseBytes(form.key.value);
  if (!best) {
    table.replaceChildren();
    return;
  }
  if (![filter, disk, absent, keyBytes].every((number) => number >= 0)) {
    table.replaceChildren(element('tbody', {}, element('tr', {},
      element('td', { class: 'problem' }, 'Give two costs as numbers, a share and bytes.'))));
    return;
  }
  const cost = library.costOf(best.expectedFpp, filter, filter + disk, absent);
  const set = library.hashSetBytes(best.items, keyBytes);
  const rows = [
    ['with this filter', cost.withFilter, page.bytes(best.numBytes)],
    ['with all keys in a hash set', cost.withHashMap, page.bytes(set)],
    ['with neither', cost.withoutFilter, '0 bytes'],
    ['of which false positives cost', cost.ofFalsePositives, ''],
  ];
  table.replaceChildren(
    element('thead', {}, element('tr', {}, ...['A query', 'costs', 'and takes memory'].map((text) =>
      element('th', { scope: 'col' }, text)))),
    element('tbody', {}, ...rows.map(([name, number, memory]) => element('tr', {},
      element('th', { scope: 'row' }, name), element('td', {}, page.short(number)),
      element('td', {}, memory)))));
};
