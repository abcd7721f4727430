// The table of filters: only the rows on the screen exist, so that 10,000 filters scroll as ten do.

import { count, element, keyOf, nameOf, promise, rate, size, time } from '/ui/text.js';

const ROW = 29;
const HEADS = ['Name', 'Kind', 'Keys', 'Full', 'Rate now', 'Promised', 'Memory', 'Queried / s', 'Added / s', 'Expires'];

/** A table; `watch` is called with the keys of the filters on the screen when those change. */
export function makeTable(watch) {
  const filters = [];
  const places = new Map();
  let shown = '';
  const body = element('tbody');
  const head = HEADS.map((text, i) => element('th', { scope: 'col', class: i > 1 ? 'number' : '' }, text));
  const table = element('table', { class: 'fixed', 'aria-rowcount': '0' },
    element('thead', {}, element('tr', {}, ...head)), body);
  const scroll = element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Filters' }, table);

  function range() {
    const first = Math.max(0, Math.floor(scroll.scrollTop / ROW) - 5);
    const rows = Math.ceil((scroll.clientHeight || 600) / ROW) + 10;
    return [first, Math.min(filters.length, first + rows)];
  }

  function draw() {
    const [first, end] = range();
    const rows = filters.slice(first, end).map((filter, i) => row(filter, first + i));
    table.setAttribute('aria-rowcount', filters.length + 1);
    body.replaceChildren(space(first), ...rows, space(filters.length - end));
    const keys = filters.slice(first, end).map(keyOf);
    if (keys.join() !== shown) {
      shown = keys.join();
      watch(keys);
    }
  }

  let asked = 0;
  scroll.addEventListener('scroll', () => {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(draw);
  });

  /** Adds filters, or updates existing ones. */
  function put(list, at) {
    for (const filter of list) {
      const place = places.get(filter.path);
      const last = place === undefined ? undefined : filters[place];
      const seconds = last?.at ? (at - last.at) / 1000 : 0;
      const perSecond = (name, before) => {
        const more = filter[name] - last?.[name];
        return seconds > 0.2 && Number.isFinite(more) ? Math.max(0, more) / seconds : before;
      };
      filter.added = perSecond('items', last?.added);
      filter.queried = perSecond('items_checked', last?.queried);
      filter.at = at;
      if (place === undefined) places.set(filter.path, filters.push(filter) - 1);
      else filters[place] = filter;
    }
    draw();
  }

  return { element: scroll, put, draw };
}

const space = (rows) => {
  const cell = element('td', { colspan: HEADS.length });
  cell.style.height = `${rows * ROW}px`;
  return element('tr', { class: 'space', 'aria-hidden': 'true' }, cell);
};

function row(filter, index) {
  const full = filter.capacity ? filter.items / filter.capacity : null;
  const number = (text, kind = '') => element('td', { class: `number ${kind}` }, text);
  const link = element('a', { href: `#filter=${keyOf(filter)}` }, nameOf(filter));
  const expires = filter.expires_at ? time((filter.expires_at - Date.now()) / 1000) : '–';
  return element('tr', { 'aria-rowindex': index + 2 },
    element('td', { title: nameOf(filter) }, link),
    element('td', filter.problem ? { title: filter.problem, class: 'bad' } : {}, filter.problem ? 'unusable' : filter.kind),
    number(count(filter.items)),
    number(full === null ? '–' : `${Math.round(full * 100)} %`, full > 0.8 && !filter.expansion && !filter.grows ? 'bad' : ''),
    number(rate(filter.expected_fpp), promise(filter)),
    number(rate(filter.target_fpp)),
    number(size(filter.num_bytes)),
    number(filter.queried === undefined ? '–' : count(Math.round(filter.queried))),
    number(filter.added === undefined ? '–' : count(Math.round(filter.added))),
    number(expires));
}
