// The stream of numbers, and whether it is silent: a dead server sends no error.

/** The longest silence between two events, of which there is one a second. */
const SILENCE_MS = 1900;
/** The pause before the stream is opened again. */
const PAUSE_MS = 1000;

const clock = (at) => new Date(at).toLocaleTimeString('en-GB');

/**
 * Streams of `/ui/events`: `take(numbers, keys)` has each event of the newest one. `silent(text)` is
 * called with a sentence when the server does not answer, and with '' when it does again.
 */
export function makeStream(take, silent) {
  const opened = Date.now();
  let source;
  let keys = [];
  let heard = 0;
  let since = opened;
  let waiting;

  const judge = () => {
    if (document.hidden || Date.now() - since < SILENCE_MS) return;
    silent(heard
      ? `No answer since ${clock(heard)}: these are the numbers of then.`
      : `No answer from the server; this page was opened at ${clock(opened)}.`);
  };

  function open() {
    clearTimeout(waiting);
    source?.close();
    source = undefined;
    // Browsers have six connections to a server, which hidden pages leave to others.
    if (document.hidden) return;
    const watched = keys;
    source = new EventSource(`/ui/events?${new URLSearchParams({ filters: watched.join(',') })}`);
    source.onmessage = ({ data }) => {
      const numbers = JSON.parse(data);
      if (numbers.server.is_lost) return take(numbers, null);
      heard = Date.now();
      since = heard;
      silent('');
      return take(numbers, watched);
    };
    source.onerror = () => {
      source.close();
      waiting = setTimeout(open, PAUSE_MS);
    };
  }

  document.addEventListener('visibilitychange', () => {
    // What was not listened for is no silence.
    since = Date.now();
    open();
  });
  setInterval(judge, 100);
  return {
    watch(wanted) {
      keys = wanted;
      open();
    },
  };
}
