// The dashboard: which view is open, and the stream of numbers that keeps it up to date.

import { makeFilter } from '/ui/filter.js';
import { makeStream } from '/ui/stream.js';
import { makeTable } from '/ui/table.js';
import { count, empty, pairs, size, time } from '/ui/text.js';
import { makeClients, makeDurability, makeSlow, readJson } from '/ui/views.js';

const main = document.getElementById('view');
const problem = document.getElementById('problem');
const report = (text) => {
  problem.textContent = text;
  problem.hidden = text === '';
};

const stale = document.getElementById('stale');
let view;
let last;

const stream = makeStream((numbers, keys) => {
  if (numbers.server.problem) report(numbers.server.problem);
  else if (last?.problem) report('');
  if (keys) {
    strip(numbers.server);
    view.update(numbers, keys);
  }
  last = numbers.server;
}, (text) => {
  if (stale.textContent === text) return;
  stale.textContent = text;
  stale.hidden = text === '';
  document.body.classList.toggle('stale', text !== '');
});
const { watch } = stream;

function strip(server) {
  const seconds = last ? (server.at - last.at) / 1000 : 0;
  const perSecond = (name) => (seconds > 0 && server[name] >= last[name]
    ? count(Math.round((server[name] - last[name]) / seconds)) : '–');
  // Redis and Valkey have others, and not all of these; a store is behind the server.
  const place = server.store ?? server.name;
  document.getElementById('server').replaceChildren(...pairs([
    ...(place ? [[server.store ? 'Store' : 'Server', place], ['Version', server.version ?? '–'], ['Nodes', count(server.nodes)]] : []),
    ['Filters', count(server.filters)],
    ...('keys' in server ? [['Keys of all types', count(server.keys)]] : []),
    [server.store ? 'Memory of the store' : 'Memory',
      server.max_bytes ? `${size(server.num_bytes)} of ${size(server.max_bytes)}` : size(server.num_bytes)],
    ['Connections', count(server.connections)], ['Requests / s', perSecond('requests')],
    ...('items_checked' in server
      ? [['Queried / s', perSecond('items_checked')], ['Added / s', perSecond('items_added')]] : []),
    ['Up', time(server.uptime_seconds)],
  ]));
}

/** The table, filled page by page: the first page is on the screen before the second is requested. */
function makeFilters() {
  let waiting;
  const table = makeTable((keys) => {
    // Not for each row that scrolls by.
    clearTimeout(waiting);
    waiting = setTimeout(() => view.element === table.element && watch(keys), 200);
  });
  // The list is read again when their number is another one, and now and then.
  let known;
  let filled = 0;
  let filling = false;
  const fill = async () => {
    filling = true;
    const started = Date.now();
    const slow = setTimeout(() => report('The filters are being looked for among the keys of the server.'), 1000);
    const paths = new Set();
    let cursor = 0;
    try {
      do {
        const limit = cursor ? 1000 : 200;
        const answer = globalThis.firstFilters ?? fetch(`/v1/filters?limit=${limit}&cursor=${cursor}`);
        globalThis.firstFilters = undefined;
        const page = await readJson(answer).finally(() => clearTimeout(slow));
        if (!cursor && !known) report('');
        page.filters.forEach(({ path }) => paths.add(path));
        table.put(page.filters, Date.now());
        performance.mark('filters');
        if (page.is_cut) report('There are more filters than are shown.');
        else if (page.unnamed) report(`Not shown: ${count(page.unnamed)} whose name is not UTF-8.`);
        cursor = page.next;
        const all = last?.filters ? ` of ${count(last.filters)}` : '';
        if (!known) table.tell(cursor ? `${count(paths.size)}${all} filters are read` : '');
      } while (cursor && view.element === table.element);
      if (!cursor) table.keep(paths);
      known ??= paths.size;
    } finally {
      filling = false;
      // A long list is not read again at once.
      filled = Date.now() + 10 * (Date.now() - started);
    }
  };
  let isEmpty = false;
  const begin = () => fill().catch((error) => report(error.message));
  const first = (server) => server.create_command
    ?? `curl -X PUT -H 'content-type: application/json' -d '{"capacity": 1000000, "target_fpp": 0.001}' ${
      location.origin}/v1/filters/seen`;
  return {
    element: table.element,
    keys: [],
    begin,
    update: ({ filters, server }, keys) => {
      table.put(filters, server.at);
      table.drop(keys, filters);
      if (server.filters === 0 && !isEmpty) {
        isEmpty = true;
        table.none(empty('There are no filters yet. To create one for a million keys:', first(server)));
      }
      if (filling || Date.now() < filled + (server.filters === known ? 60_000 : 1000)) return;
      known = server.filters;
      begin();
    },
  };
}

const VIEWS = {
  filters: makeFilters,
  durability: makeDurability,
  clients: () => makeClients(report),
  slow: () => makeSlow(report),
};

const TITLES = { durability: 'Durability', clients: 'Clients', slow: 'Slow requests' };

function open() {
  const hash = location.hash.slice(1);
  report('');
  document.title = `${TITLES[hash] ?? 'Filters'} – mayhap`;
  view = hash.startsWith('filter=') ? makeFilter(hash.slice('filter='.length), report) : (VIEWS[hash] ?? makeFilters)();
  main.replaceChildren(view.element);
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === (location.hash || '#filters')) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  watch(view.keys);
  view.begin?.();
}

addEventListener('hashchange', open);
open();
