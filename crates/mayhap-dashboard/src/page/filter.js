// The page of one filter: its state, two figures, its last hour, and what can be done with it.

import { makeChart } from '/ui/chart.js';
import { adviceOf, bar, count, crowded, element, empty, fullness, isFrozen, isFull, isOver, nameIn, nameOf, pairs,
  rate, size, stateOf, time, visible } from '/ui/text.js';
import { fetchJson } from '/ui/views.js';

/** The time of which keys are counted for a forecast. */
const FORECAST_MS = 60_000;

/** The time until a filter is full, by the keys added in the last minute. */
function makeForecast() {
  const samples = [];
  return {
    before(list) {
      samples.unshift(...list.filter(([at, items]) => at < (samples[0]?.[0] ?? Infinity) && Number.isFinite(items)));
    },
    put(filter, at) {
      if (isFrozen(filter)) return 'Built from all of its keys; it takes no others';
      if (!filter.capacity || !Number.isFinite(filter.items)) return 'No forecast: there is no capacity';
      samples.push([at, filter.items]);
      const from = at - FORECAST_MS;
      while (samples.length > 2 && samples[1][0] <= from) samples.shift();
      const [[first, items], [second, more] = []] = samples;
      const left = filter.capacity - filter.items;
      if (left <= 0) return isFull(filter) ? 'New keys are refused' : 'Its capacity is reached';
      if (at <= first) return 'No forecast yet';
      // The first may be from long before, as of a page that was hidden: a straight line to the next.
      const since = Math.max(first, from);
      const then = since > first ? items + (more - items) * (since - first) / (second - first) : items;
      const perSecond = (filter.items - then) / ((at - since) / 1000);
      return perSecond > 0 ? `Full in ${time(left / perSecond)}, at ${count(Number(perSecond.toPrecision(3)))} keys/s`
        : 'No new keys in the last minute';
    },
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

/** The form that queries the filter and adds to it. */
function makeKeys(path) {
  const items = element('textarea', { rows: '2' });
  // Beside the buttons, where it is seen on a telephone, too.
  const answer = element('p', { role: 'status' });
  const send = async (verb) => {
    const list = items.value.split('\n').filter((item) => item !== '');
    const body = JSON.stringify({ items: list });
    const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    try {
      const result = await fetchJson(`${path}/${verb}`, sent);
      const yes = verb === 'add' ? result.new : result.present;
      const [one, other] = verb === 'add' ? ['new', 'already there'] : ['maybe in it', 'surely not in it'];
      answer.textContent = list.map((item, i) => `${item}: ${yes[i] ? one : other}`).join('; ');
      answer.className = '';
    } catch (error) {
      answer.textContent = error.message;
      answer.className = 'bad';
    }
  };
  const button = (text, verb) => {
    const made = element('button', { type: 'button' }, text);
    made.addEventListener('click', () => send(verb));
    return made;
  };
  return [element('form', {}, element('label', {}, 'Keys, a line each', items),
    button('Query', 'check'), button('Add', 'add')), answer];
}

/** The two numbers that matter: the rate beside its promise, and how full it is. */
function figures(filter, forecast) {
  const full = fullness(filter);
  const fill = isFull(filter) ? 'bad' : crowded(filter);
  const one = (kind, number, text, ...more) => element('div', { class: 'figure' },
    element('p', { class: `big ${kind}` }, number), element('p', {}, text), ...more);
  return [
    one(isOver(filter) ? 'bad' : '', rate(filter.expected_fpp), Number.isFinite(filter.target_fpp)
      ? `false positives now, of ${rate(filter.target_fpp)} promised` : 'false positives now; the promise is not known'),
    one(fill, full === null ? count(filter.items) : `${Math.floor(full * 100)} %`,
      full === null ? (isFrozen(filter) ? 'keys' : 'keys; there is no capacity') : `full: ${count(filter.items)} of ${count(filter.capacity)} keys`,
      ...(full === null ? [] : [bar(full, fill)]),
      element('p', { class: 'forecast dim' }, forecast)),
  ];
}

/** The page of one filter. */
export function makeFilter(key, report) {
  // As in the path, until the first event has the name, which need not be text.
  let name = decoded(key);
  const title = element('h2', {}, nameIn(name));
  const state = element('p', { class: 'state' });
  const advice = element('p', { class: 'advice' });
  const top = element('div', { class: 'figures' });
  const facts = element('dl', { class: 'column' });
  const now = makeChart({ title: 'Rate of false positives', write: rate, limit: 'promised', isLog: true });
  const keys = makeChart({ title: 'Keys', write: count, limit: 'capacity' });
  const path = `/v1/filters/${key}`;
  const copy = element('span', {}, element('a', { href: `${path}/file`, download: '' }, 'Download'));
  const forecast = makeForecast();
  const gone = element('div', { hidden: '' });
  let measured;
  let seen = Date.now();

  const measure = element('button', { type: 'button' }, 'Measure from the bits');
  measure.addEventListener('click', async () => {
    try {
      measured = await fetchJson(`${path}?measure=true`);
      put(measured, seen);
    } catch (error) {
      report(error.message);
    }
  });

  /** What the server has seen of it in the last hour; servers of before have none. */
  async function begin() {
    const past = await fetchJson(`/ui/history?filter=${encodeURIComponent(key)}`).catch(() => ({ samples: [] }));
    now.before(past.samples.map(([at, value]) => [at, value]));
    const items = past.samples.map(([at, , value]) => [at, value]);
    keys.before(items);
    forecast.before(items);
  }

  function put(filter, at) {
    const [word, kind] = stateOf(filter);
    if (name !== nameOf(filter) || !title.textContent) {
      name = nameOf(filter);
      title.replaceChildren(nameIn(name));
    }
    state.textContent = word;
    state.className = `state ${kind}`;
    advice.textContent = adviceOf(filter);
    document.title = `${visible(name)}: ${word} – mayhap`;
    if (filter.pull) copy.replaceChildren('Copy it to a file: ', element('code', {}, filter.pull));
    top.replaceChildren(...figures(filter, forecast.put(filter, at)));
    facts.replaceChildren(...pairs([
      ['Kind', filter.kind], ['Rate promised', rate(filter.target_fpp)],
      ['Rate from the bits', rate(measured?.estimated_fpp)], ['Fill', rate(measured?.fill_ratio)],
      'shards' in filter ? ['Values that hold it', count(filter.shards)] : ['Layers', count(filter.layers)],
      ['Memory', size(filter.num_bytes)],
      ...('items_checked' in filter ? [['Queried since the start', count(filter.items_checked)]] : []),
      ['Expires', filter.expires_at ? `in ${time((filter.expires_at - at) / 1000)}` : 'never'],
    ]));
    now.put(at, filter.expected_fpp, filter.target_fpp);
    keys.put(at, filter.items, filter.capacity);
  }

  const section = element('section', { class: 'filter' }, title, state, advice, gone, top,
    element('div', { class: 'halves' },
      element('div', {}, now.element, keys.element),
      element('div', {}, facts, element('p', {}, measure, ' ', copy), ...makeKeys(path))));
  return {
    element: section,
    keys: [key],
    begin,
    update: ({ filters: [filter], server }) => {
      const wasGone = section.classList.contains('gone');
      section.classList.toggle('gone', !filter);
      gone.hidden = Boolean(filter);
      seen = server.at ?? seen;
      if (filter) {
        put(filter, server.at);
      } else if (!wasGone) {
        document.title = `${visible(name)}: not there – mayhap`;
        state.textContent = '';
        advice.textContent = '';
        gone.replaceChildren(empty(`There is no filter ${visible(name)}: it was deleted, or expired, or never was.`,
          `curl '${location.origin}/v1/filters?limit=1000'`));
      }
    },
  };
}
