// The cost model: with a filter, with all keys in memory, with neither.
'use strict';

page.showCost = (library, best) => {
  const { element, text } = page;
  const form = page.byId('cost').elements;
  const table = page.byId('cost-table');
  const parse = (control, read) => read(page.dotted(control.value.trim()));
  const [filter, disk] = [parse(form.c1, Number), parse(form.c2, Number)];
  const absent = parse(form.absent, library.parseFpp);
  const keyBytes = parse(form.key, library.parseBytes);
  if (!best) {
    table.replaceChildren();
    return;
  }
  if (![filter, disk, absent, keyBytes].every((number) => number >= 0)) {
    table.replaceChildren(element('tbody', {}, element('tr', {},
      element('td', { class: 'problem' }, text('cost_bad')))));
    return;
  }
  const cost = library.costOf(best.expectedFpp, filter, filter + disk, absent);
  const { items, targetFpp } = best;
  const rows = [
    ['cost_filter', cost.withFilter, best.numBytes],
    ['cost_false', cost.ofFalsePositives, null],
    ['cost_one', cost.withFilter, items / targetFpp / 8],
    ['cost_md5', cost.withHashMap, 16 * items],
    ['cost_set', cost.withHashMap, library.hashSetBytes(items, keyBytes)],
    ['cost_none', cost.withoutFilter, 0],
  ];
  table.replaceChildren(
    element('thead', {}, element('tr', {}, ...['cost_query', 'cost_costs', 'cost_memory'].map((name) =>
      element('th', { scope: 'col' }, text(name))))),
    element('tbody', {}, ...rows.map(([name, number, memory]) => element('tr', {},
      element('th', { scope: 'row' }, text(name)), element('td', {}, page.short(number)),
      element('td', {}, memory === null ? '' : page.bytes(Math.round(memory)))))));
};
