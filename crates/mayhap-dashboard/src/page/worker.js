// One stream for all pages of a browser, which has six connections to a server.

import { makeHub } from '/ui/stream.js';

/** Pages ask again each ten seconds: one that is silent for so long has crashed. */
const SILENT_MS = 30_000;

const hub = makeHub();
globalThis.onconnect = ({ ports: [port] }) => {
  const ask = hub.join((message) => port.postMessage(message));
  let crashed;
  port.onmessage = ({ data: { keys, turn } }) => {
    clearTimeout(crashed);
    if (keys) crashed = setTimeout(() => ask(null, turn), SILENT_MS);
    ask(keys, turn);
  };
};
