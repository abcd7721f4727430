// The views next to the table and a filter: durability, clients, slow requests.

import { makeChart } from '/ui/chart.js';
import { count, element, empty, pairs, size, time } from '/ui/text.js';

/** JSON of a path; the server's own words if it refuses. */
export const fetchJson = (path, options) => readJson(fetch(path, options));

/** The same of an answer that is on its way. */
export async function readJson(answer) {
  const response = await answer;
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  let problem = `${response.status} ${response.statusText}`;
  try {
    problem = JSON.parse(text).error;
  } catch { /* No JSON: the status says it. */ }
  throw new Error(problem);
}

const good = (is, yes, no) => element('span', { class: is ? 'good' : 'bad' }, is ? yes : no);

/** The persistence of Redis and Valkey, and whether they evict filters for lack of memory. */
const kept = (persistence, at) => pairs([
  ['Append-only file', good(persistence.has_log, 'on', 'off: what was added since the snapshot ends with the server')],
  ['Last snapshot', persistence.saved_at ? `${time((at - persistence.saved_at) / 1000)} ago` : 'none yet, since the server was started'],
  ['Last writes', persistence.saved_at || persistence.has_log ? good(persistence.is_saved, 'good', 'failed') : 'none yet'],
  ['Changes in no snapshot', count(persistence.unsaved_changes)],
  ['At the limit of memory', good(persistence.eviction === 'noeviction', 'writes are refused',
    `keys are removed (${persistence.eviction}), filters too`)],
  ['Keys removed so far', count(persistence.evicted_keys)],
]);

/** The write-ahead log and the images; the persistence of Redis. */
export function makeDurability() {
  const facts = element('dl', { class: 'column' });
  const lag = makeChart({ title: 'Not yet on disk, milliseconds', write: count });
  const none = empty('Nothing is kept: filters end with the server. To keep them, start it with a folder.',
    'mayhap serve --data filters --http 8080');
  function update({ server: { log, at, persistence, problem, store } }) {
    lag.element.hidden = !log;
    none.hidden = Boolean(log ?? persistence ?? problem ?? store);
    if (persistence) {
      facts.replaceChildren(...kept(persistence, at));
      return;
    }
    if (problem ?? store) {
      facts.replaceChildren(...pairs([['Durability', `not known: the ${store ? 'store' : 'server'} does not tell`]]));
      return;
    }
    if (!log) {
      facts.replaceChildren(...pairs([['Write-ahead log', 'off']]));
      return;
    }
    facts.replaceChildren(...pairs([
      ['Policy', log.policy], ['Writes', good(log.writable, 'taken', 'refused')],
      ['Write-ahead log', size(log.log_bytes)], ['Images', size(log.image_bytes)],
      ['Not yet on disk', `${count(log.unsynced_frames)} records, ${count(log.unsynced_ms)} ms`],
      ['Filters changed since the checkpoint', count(log.changed_filters)],
      ['Last checkpoint', log.checkpoint_at ? `${time((at - log.checkpoint_at) / 1000)} ago` : 'none yet'],
      ['Checkpoint', good(!log.checkpoint_failed, log.checkpoint_running ? 'running' : 'good', 'failed')],
    ]));
    lag.put(at, log.unsynced_ms);
  }
  return { element: element('section', {}, element('h2', {}, 'Durability'), facts, none, lag.element), keys: [], update };
}

/** A list that is fetched again every other second: for administrators. */
function makeList(title, path, columns, report, none) {
  const body = element('tbody');
  const heads = columns.map(([text]) => element('th', { scope: 'col' }, text));
  const table = element('table', {}, element('thead', {}, element('tr', {}, ...heads)), body);
  let ticks = 0;
  async function update() {
    ticks += 1;
    if (ticks % 2 === 0) return;
    try {
      const rows = await fetchJson(path);
      body.replaceChildren(...rows.map((row) =>
        element('tr', {}, ...columns.map(([, write]) => element('td', {}, String(write(row)))))));
      none.hidden = rows.length > 0;
      scroll.hidden = !none.hidden;
      report('');
    } catch (error) {
      report(error.message);
    }
  }
  none.hidden = true;
  const scroll = element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': title }, table);
  return { element: element('section', {}, element('h2', {}, title), none, scroll), keys: [], update };
}

export const makeClients = (report) => makeList('Clients', '/ui/clients', [
  ['Number', (c) => c.id], ['Address', (c) => c.address], ['Name', (c) => c.name], ['User', (c) => c.user ?? ''],
  ['Connected for', (c) => time(c.connected_ms / 1000)], ['Idle for', (c) => time(c.idle_ms / 1000)],
  ['Requests', (c) => c.request ?? count(c.requests)], ['Buffers', (c) => size(c.num_bytes)],
], report, empty('No client is connected.', `curl -s ${location.origin}/ui/clients`));

export const makeSlow = (report) => makeList('Slow requests', '/ui/slow', [
  ['When', (s) => new Date(s.at_ms).toLocaleString()], ['Took', (s) => `${Math.round(s.took_ms)} ms`],
  ['Request', (s) => s.request], ['Address', (s) => s.address], ['Client', (s) => s.client],
], report, empty('No request took longer than the limit of the server.', `curl -s ${location.origin}/ui/slow`));
