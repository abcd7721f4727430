// The table of filters: only the rows on the screen exist, so that 10,000 filters scroll as ten do.

import { bar, count, crowded, element, fullness, isExpiring, isFull, isOver, keyOf, nameIn, nameOf, rate, size, stateOf,
  time, visible } from '/ui/text.js';

/** The height of a row, and of a card below 40 rem, as in the style sheet. */
const ROW = 29;
const CARD = 69;
const narrow = matchMedia('(max-width: 40rem)');
const height = () => (narrow.matches ? CARD : ROW);

/** The order of rows before any column sorts them: the first of these that is true. */
const WORST = [isOver, ({ problem }) => Boolean(problem), isFull, (filter) => crowded(filter) !== '', isExpiring];
const badness = (filter) => {
  const found = WORST.findIndex((is) => is(filter));
  return found < 0 ? WORST.length : found;
};

/** The columns, and by which value each sorts: what is worst or most comes first. */
const COLUMNS = [
  ['Name', null], ['State', (f) => -badness(f)], ['Kind', null], ['Keys', (f) => f.items], ['Full', fullness],
  ['Rate now', (f) => f.expected_fpp / (f.target_fpp || 1)], ['Promised', (f) => f.target_fpp],
  ['Memory', (f) => f.num_bytes], ['Queries/s', (f) => f.queried], ['Adds/s', (f) => f.added],
  ['Expires', (f) => (f.expires_at ? -f.expires_at : undefined)],
];
/** What a name or a kind sorts by. */
const TEXTS = { Name: nameOf, Kind: ({ kind }) => kind };

/** Parts of the line above the table, each of which leaves only its filters in it. */
const PARTS = [
  { is: isOver, kind: 'bad', write: (found, all) =>
    `${count(found)} of ${count(all)} ${found === 1 ? 'breaks its' : 'break their'} promise` },
  { is: isFull, kind: 'bad', write: (found) => `${count(found)} full, which refuse keys` },
  { is: isExpiring, kind: 'warn',
    write: (found) => `${count(found)} ${found === 1 ? 'expires' : 'expire'} within the hour` },
];

/** A table; `watch` is called with the keys of the filters on the screen when those change. */
export function makeTable(watch) {
  let filters = [];
  // Those of the part of the summary that is chosen, or all.
  let chosen = null;
  let rows = filters;
  const places = new Map();
  let shown = '';
  const body = element('tbody', { role: 'rowgroup' });
  let sorted = null;
  const head = COLUMNS.map(([text], i) => {
    const button = element('button', { type: 'button' }, text);
    const cell = element('th', { scope: 'col', role: 'columnheader', class: i > 2 ? 'number' : '' }, button);
    button.addEventListener('click', () => {
      sorted = sorted === i ? null : i;
      head.forEach((other) => other.removeAttribute('aria-sort'));
      if (sorted === i) cell.setAttribute('aria-sort', TEXTS[text] ? 'ascending' : 'descending');
      begin();
    });
    return cell;
  });
  // Roles by name: cards are no table to browsers.
  const table = element('table', { class: 'fixed', role: 'table', 'aria-rowcount': '0' },
    element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...head)), body);
  const empty = element('div', { class: 'empty-table', hidden: '' });
  const scroll = element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Filters' }, table);

  function range() {
    const first = Math.max(0, Math.floor(scroll.scrollTop / height()) - 5);
    const onScreen = Math.ceil((scroll.clientHeight || 600) / height()) + 10;
    return [Math.min(first, rows.length), Math.min(rows.length, first + onScreen)];
  }

  function draw() {
    const [first, end] = range();
    const shownRows = rows.slice(first, end);
    table.setAttribute('aria-rowcount', rows.length + 1);
    body.replaceChildren(space(first), ...shownRows.map((filter, i) => row(filter, first + i)),
      space(rows.length - end));
    const keys = shownRows.map(keyOf);
    if (keys.join() !== shown) {
      shown = keys.join();
      watch(keys);
    }
  }

  /** Chooses and sorts the rows again. */
  function select() {
    const text = search.value.toLowerCase();
    const wanted = (filter) => (!chosen || chosen(filter)) && nameOf(filter).toLowerCase().includes(text);
    rows = chosen || text ? filters.filter(wanted) : filters;
    if (sorted === null) {
      rows = worstFirst(rows);
    } else {
      const [name, value] = COLUMNS[sorted];
      rows = [...rows].sort(TEXTS[name] ? byText(TEXTS[name]) : byMost(value));
    }
    summarize();
    showEmpty();
    draw();
  }
  const begin = () => {
    scroll.scrollTop = 0;
    select();
  };

  const search = element('input', { type: 'search', placeholder: 'Find a name', 'aria-label': 'Find a name' });
  search.addEventListener('input', begin);
  const summary = element('p', { class: 'summary', 'aria-label': 'What needs a look' });
  const parts = PARTS.map(({ is }) => {
    const button = element('button', { type: 'button', 'aria-pressed': 'false' });
    button.addEventListener('click', () => {
      chosen = chosen === is ? null : is;
      parts.forEach((part, i) => part.setAttribute('aria-pressed', String(PARTS[i].is === chosen)));
      begin();
    });
    return button;
  });
  const progress = element('span', { class: 'dim', role: 'status' });
  summary.append(...parts, search, progress);

  function summarize() {
    const known = filters.filter((filter) => filter.num_bytes !== undefined);
    PARTS.forEach(({ is, write, kind }, i) => {
      const found = known.filter(is).length;
      parts[i].textContent = write(found, known.length);
      parts[i].className = found ? kind : '';
    });
  }

  // In place of a table without rows: what `none` has made, or that no filter fits.
  let without = element('p', { class: 'empty' }, 'The filters are being read.');
  const unfit = element('p', { class: 'empty' }, 'No filter has this name, or is of this part.');
  function showEmpty() {
    empty.replaceChildren(...(rows.length ? [] : [filters.length ? unfit : without]));
    empty.hidden = rows.length > 0;
    scroll.hidden = !empty.hidden;
  }

  narrow.addEventListener('change', draw);
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
    select();
  }

  /** Leaves only the filters for which this is true. */
  function leave(stays) {
    const left = filters.filter(stays);
    if (left.length === filters.length) return;
    filters = left;
    places.clear();
    filters.forEach(({ path }, place) => places.set(path, place));
    select();
  }
  /** Removes those that are on no list any more. */
  const keep = (paths) => leave(({ path }) => paths.has(path));
  /** Removes those that were asked for by `keys` and are not among the answers. */
  function drop(keys, answers) {
    const asked = new Set(keys);
    answers.forEach((filter) => asked.delete(keyOf(filter)));
    if (asked.size) leave((filter) => !asked.has(keyOf(filter)));
  }

  /** Shows this while there are no filters. */
  function none(made) {
    without = made;
    showEmpty();
  }
  showEmpty();

  /** Says how many filters are read, while they are. */
  const tell = (text) => {
    progress.textContent = text;
  };

  return { element: element('section', {}, summary, empty, scroll), put, keep, drop, none, tell };
}

/** Rows with the worst first, else in their order: without a sort, as there may be 20,000. */
function worstFirst(rows) {
  const parts = [...WORST, null].map(() => []);
  for (const filter of rows) parts[badness(filter)].push(filter);
  return parts.flat();
}

/** The order of texts, and of numbers, unknown ones last. */
const byText = (text) => (a, b) => text(a).localeCompare(text(b));
const known = (number) => (Number.isFinite(number) ? number : -Number.MAX_VALUE);
const byMost = (value) => (a, b) => known(value(b)) - known(value(a));

const space = (rows) => {
  const cell = element('td', { role: 'cell', colspan: COLUMNS.length });
  cell.style.height = `${rows * height()}px`;
  return element('tr', { class: 'space', 'aria-hidden': 'true' }, cell);
};

/** Names of states that fit a column. */
const SHORT = {
  'full: adds are refused': 'full',
  'over its promise; full: adds are refused': 'over and full',
};

function row(filter, index) {
  const cell = (name, kind, ...children) => element('td', { role: 'cell', class: `${name} ${kind}` }, ...children);
  const number = (text) => cell('number', '', text);
  const link = element('a', { href: `#filter=${keyOf(filter)}` }, nameIn(nameOf(filter)));
  const expires = filter.expires_at ? time((filter.expires_at - Date.now()) / 1000) : '–';
  const [word, kind] = stateOf(filter);
  const state = filter.problem ? 'unusable' : (SHORT[word] ?? word);
  const full = fullness(filter);
  const name = cell('name', '', link);
  name.title = visible(nameOf(filter));
  const status = cell('status', kind === 'good' ? 'dim' : kind, state);
  if (filter.problem) status.title = filter.problem;
  return element('tr', { role: 'row', 'aria-rowindex': index + 2 },
    name, status,
    cell('', '', filter.kind),
    number(count(filter.items)),
    cell('number full', crowded(filter), full === null ? '–' : `${Math.floor(full * 100)} %`,
      ...(full === null ? [] : [bar(full, isFull(filter) ? 'bad' : crowded(filter))])),
    cell('number rate', isOver(filter) ? 'bad' : '', rate(filter.expected_fpp),
      element('span', { class: 'of' }, ` of ${rate(filter.target_fpp)}`)),
    number(rate(filter.target_fpp)),
    number(size(filter.num_bytes)),
    number(filter.queried === undefined ? '–' : count(Math.round(filter.queried))),
    number(filter.added === undefined ? '–' : count(Math.round(filter.added))),
    number(expires));
}
