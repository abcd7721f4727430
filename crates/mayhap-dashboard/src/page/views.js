// The views next to the table: one filter, durability, clients, slow requests.

import { count, element, isOver, nameOf, pairs, rate, size, stateOf, time } from '/ui/text.js';

/** JSON of a path; the server's own words if it refuses. */
export async function fetchJson(path, options) {
  const response = await fetch(path, options);
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  let problem = `${response.status} ${response.statusText}`;
  try {
    problem = JSON.parse(text).error;
  } catch { /* No JSON: the status says it. */ }
  throw new Error(problem);
}

/** A line over time, from 0 to the largest value. */
function makeChart(title, write) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'polyline');
  svg.setAttribute('viewBox', '0 0 300 100');
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.append(line);
  const caption = element('figcaption');
  const values = [];
  return {
    element: element('figure', {}, caption, svg),
    put(value) {
      values.push(value);
      if (values.length > 300) values.shift();
      const most = Math.max(...values) || 1;
      // From half a minute on it grows to five.
      const width = Math.max(30, values.length) - 1;
      const points = values.map((y, x) => `${(300 * (x + width + 1 - values.length)) / width},${98 - (y / most) * 94}`);
      line.setAttribute('points', points.join(' '));
      caption.textContent = `${title}: ${write(value)}; the top is ${write(most)}, the width ${time(width + 1)}`;
      svg.setAttribute('aria-label', caption.textContent);
    },
  };
}

/** The time of which keys are counted for a forecast. */
const FORECAST_MS = 60_000;

/** The time when a filter will be full, by the keys added in the last minute. */
function makeForecast() {
  const samples = [];
  return (filter, at) => {
    samples.push([at, filter.items]);
    while (samples.length > 2 && samples[1][0] <= at - FORECAST_MS) samples.shift();
    const [[first, items]] = samples;
    const perSecond = at > first ? (filter.items - items) / ((at - first) / 1000) : 0;
    if (!filter.capacity || !Number.isFinite(filter.items)) return '–';
    const left = filter.capacity - filter.items;
    if (left <= 0) return 'it is full';
    return perSecond > 0 ? `${time(left / perSecond)}, at ${count(Math.round(perSecond))} keys/s` : '–';
  };
}

/** A key as it is in the path, as text; as it is if it is none. */
function decoded(key) {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** The page of one filter. */
export function makeFilter(key, report) {
  // As in the path, until the first event has the name, which need not be text.
  const title = element('h2', {}, decoded(key));
  const facts = element('dl', { class: 'column' });
  const now = makeChart('Rate now', rate);
  const keys = makeChart('Keys', count);
  const path = `/v1/filters/${key}`;
  const items = element('textarea', { rows: '2' });
  const answer = element('p', { role: 'status' });
  const copy = element('span', {}, element('a', { href: `${path}/file`, download: '' }, 'Download'));
  const forecast = makeForecast();
  let measured;

  const send = async (verb) => {
    const list = items.value.split('\n').filter((item) => item !== '');
    const body = JSON.stringify({ items: list });
    const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    try {
      const result = await fetchJson(`${path}/${verb}`, sent);
      const yes = verb === 'add' ? result.new : result.present;
      const [one, other] = verb === 'add' ? ['new', 'already there'] : ['maybe in it', 'surely not in it'];
      answer.textContent = list.map((item, i) => `${item}: ${yes[i] ? one : other}`).join('; ');
      report('');
    } catch (error) {
      report(error.message);
    }
  };
  const button = (text, verb) => {
    const made = element('button', { type: 'button' }, text);
    made.addEventListener('click', () => send(verb));
    return made;
  };
  const measure = element('button', { type: 'button' }, 'Measure from the bits');
  measure.addEventListener('click', async () => {
    try {
      measured = await fetchJson(`${path}?measure=true`);
      put(measured, Date.now());
    } catch (error) {
      report(error.message);
    }
  });

  function put(filter, at) {
    const [state, kind] = stateOf(filter);
    title.textContent = nameOf(filter);
    document.title = `${nameOf(filter)}: ${state} – mayhap`;
    if (filter.pull) copy.replaceChildren('Copy it to a file: ', element('code', {}, filter.pull));
    facts.replaceChildren(...pairs([
      ['State', element('span', { class: kind }, state)], ['Kind', filter.kind], ['Keys', `${count(filter.items)} of ${count(filter.capacity)}`],
      ['Full in', forecast(filter, at)],
      ['Rate now', element('span', { class: isOver(filter) ? 'bad' : 'good' }, rate(filter.expected_fpp))],
      ['Rate promised', rate(filter.target_fpp)],
      ['Rate from the bits', rate(measured?.estimated_fpp)], ['Fill', rate(measured?.fill_ratio)],
      'shards' in filter ? ['Values that hold it', count(filter.shards)] : ['Layers', count(filter.layers)],
      ['Memory', size(filter.num_bytes)],
      ...('items_checked' in filter ? [['Queried since the start', count(filter.items_checked)]] : []),
      ['Expires', filter.expires_at ? time((filter.expires_at - at) / 1000) : 'never'],
    ]));
    if (Number.isFinite(filter.expected_fpp)) now.put(filter.expected_fpp);
    if (Number.isFinite(filter.items)) keys.put(filter.items);
  }

  const section = element('section', {}, title, facts,
      element('p', {}, measure, ' ', copy),
      element('form', {}, element('label', {}, 'Keys, a line each', items),
        button('Query', 'check'), button('Add', 'add')),
      answer, now.element, keys.element);
  return {
    element: section,
    keys: [key],
    update: ({ filters: [filter], server }) => {
      const wasGone = section.classList.contains('gone');
      section.classList.toggle('gone', !filter);
      if (filter && wasGone) report('');
      if (filter) put(filter, server.at);
      else report(`There is no filter ${title.textContent}: it was deleted, or expired, or never was.`);
    },
  };
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
  const lag = makeChart('Not yet on disk, milliseconds', count);
  function update({ server: { log, at, persistence, problem } }) {
    lag.element.hidden = !log;
    if (persistence) {
      facts.replaceChildren(...kept(persistence, at));
      return;
    }
    if (problem) {
      facts.replaceChildren(...pairs([['Durability', 'not known: the server does not tell']]));
      return;
    }
    if (!log) {
      facts.replaceChildren(...pairs([['Write-ahead log', 'off: filters end with the server']]));
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
    lag.put(log.unsynced_ms);
  }
  return { element: element('section', {}, element('h2', {}, 'Durability'), facts, lag.element), keys: [], update };
}

/** A list that is fetched again every other second: for administrators. */
function makeList(title, path, columns, report) {
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
      report('');
    } catch (error) {
      report(error.message);
    }
  }
  const scroll = element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': title }, table);
  return { element: element('section', {}, element('h2', {}, title), scroll), keys: [], update };
}

export const makeClients = (report) => makeList('Clients', '/ui/clients', [
  ['Number', (c) => c.id], ['Address', (c) => c.address], ['Name', (c) => c.name], ['User', (c) => c.user ?? ''],
  ['Connected for', (c) => time(c.connected_ms / 1000)], ['Idle for', (c) => time(c.idle_ms / 1000)],
  ['Requests', (c) => c.request ?? count(c.requests)], ['Buffers', (c) => size(c.num_bytes)],
], report);

export const makeSlow = (report) => makeList('Slow requests', '/ui/slow', [
  ['When', (s) => new Date(s.at_ms).toLocaleString()], ['Took', (s) => `${Math.round(s.took_ms)} ms`],
  ['Request', (s) => s.request], ['Address', (s) => s.address], ['Client', (s) => s.client],
], report);
