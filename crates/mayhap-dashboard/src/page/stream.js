// The stream of numbers: one for all pages of a browser, and whether it is silent, as a dead server
// sends no error.

/** The longest silence between two events, of which there is one a second. */
const SILENCE_MS = 1900;
/** The pause before the stream is opened again. */
const PAUSE_MS = 1000;
/** Pages ask for their filters again, so that a crashed one is noticed. */
const AGAIN_MS = 10_000;
/** Filters of a stream, by the server's limit, and streams: half of a browser's connections. */
const MAX_KEYS = 100;
const MAX_STREAMS = 3;

const clock = (at) => new Date(at).toLocaleTimeString('en-GB');

/** A name in the one spelling that the server gives it, however it was escaped. */
const spelled = (key) => key.replace(/%([0-9a-f]{2})/gi, (escape, digits) => {
  const byte = parseInt(digits, 16);
  const letter = String.fromCharCode(byte);
  return byte < 0x80 && /[\w.:-]/.test(letter) ? letter : escape.toUpperCase();
});

/**
 * The streams of several pages. `join(send)` returns `ask(keys, turn)`: from then on `send` has each
 * event with these filters, and the turn; with `null` for keys the page has none.
 */
export function makeHub() {
  const members = new Map();
  let streams = new Map();

  /** The pages by the stream that has their filters: as few streams as they fit in. */
  function planned() {
    const plans = [];
    for (const [send, { keys, turn }] of members) {
      const fits = (plan) => new Set([...plan.keys, ...keys]).size <= MAX_KEYS;
      let plan = plans.find(fits);
      if (!plan && plans.length < MAX_STREAMS) plans.push(plan = { keys: new Set(), pages: [] });
      if (!plan) send({ turn, problem: 'Too many windows are open to keep this one up to date.' });
      else {
        keys.forEach((key) => plan.keys.add(key));
        plan.pages.push({ send, keys, turn });
      }
    }
    return plans;
  }

  function open(url, stream) {
    stream.source = new EventSource(url);
    stream.source.onmessage = ({ data }) => {
      const { server, filters } = JSON.parse(data);
      const found = new Map(filters.map((filter) => [filter.path.slice('/v1/filters/'.length), filter]));
      for (const { send, keys, turn } of stream.pages) {
        send({ turn, keys, numbers: { server, filters: keys.map((key) => found.get(spelled(key))).filter(Boolean) } });
      }
    };
    stream.source.onerror = () => {
      stream.source.close();
      stream.waiting = setTimeout(() => open(url, stream), PAUSE_MS);
    };
  }

  function plan() {
    const next = new Map();
    for (const { keys, pages } of planned()) {
      const url = `/ui/events?${new URLSearchParams({ filters: [...keys].join(',') })}`;
      const stream = streams.get(url) ?? {};
      stream.pages = pages;
      next.set(url, stream);
    }
    for (const [url, stream] of streams) {
      if (next.has(url)) continue;
      clearTimeout(stream.waiting);
      stream.source.close();
    }
    const old = streams;
    streams = next;
    for (const [url, stream] of next) if (!old.has(url)) open(url, stream);
  }

  return {
    join: (send) => (keys, turn) => {
      const last = members.get(send);
      if (keys && last?.turn === turn) return;
      if (keys) members.set(send, { keys: keys.slice(0, MAX_KEYS), turn });
      else members.delete(send);
      plan();
    },
  };
}

/** Asks for filters at the stream that all pages share; or at one of its own, where none can. */
function connect(receive, begin) {
  const own = () => makeHub().join(receive);
  if (!globalThis.SharedWorker) return own();
  const worker = new SharedWorker('/ui/worker.js', { type: 'module', name: 'mayhap' });
  let ask = (keys, turn) => worker.port.postMessage({ keys, turn });
  worker.port.onmessage = ({ data }) => receive(data);
  worker.onerror = (event) => {
    event.preventDefault();
    ask = own();
    begin();
  };
  return (keys, turn) => ask(keys, turn);
}

/**
 * Streams of `/ui/events`: `take(numbers, keys)` has each event of the newest filters. `silent(text)`
 * is called with a sentence when the server does not answer, and with '' when it does again.
 */
export function makeStream(take, silent) {
  const opened = Date.now();
  let keys = [];
  let turn = 0;
  let heard = 0;
  let since = opened;

  const judge = () => {
    if (document.hidden || Date.now() - since < SILENCE_MS) return;
    silent(heard
      ? `No answer since ${clock(heard)}: these are the numbers of then.`
      : `No answer from the server; this page was opened at ${clock(opened)}.`);
  };

  function receive({ turn: of, keys: watched, numbers, problem }) {
    // Of filters that were on the screen before.
    if (of !== turn) return;
    if (problem) {
      // Nothing is listened for.
      since = Infinity;
      take({ server: { problem }, filters: [] }, null);
    } else if (numbers.server.is_lost) take(numbers, null);
    else {
      heard = Date.now();
      since = heard;
      silent('');
      take(numbers, watched);
    }
  }

  const ask = connect(receive, () => begin());
  // Hidden pages leave the connections to others.
  const again = () => ask(document.hidden ? null : keys, turn);
  const begin = () => {
    turn += 1;
    since = Math.min(since, Date.now());
    again();
  };

  document.addEventListener('visibilitychange', () => {
    // What was not listened for is no silence.
    since = Date.now();
    begin();
  });
  addEventListener('pagehide', () => ask(null, turn));
  addEventListener('pageshow', ({ persisted }) => persisted && begin());
  setInterval(judge, 100);
  setInterval(again, AGAIN_MS);
  return {
    watch(wanted) {
      keys = wanted;
      begin();
    },
  };
}
