// Checks each page before it is shown, and shows a warning in place of a listed one.

import { load } from './mayhap/reader.js';
import { Checker } from './checker.js';

const api = globalThis.browser ?? chrome;
/** Pages that the user opened in spite of the warning; until the browser is closed. */
const allowed = new Set();

async function start() {
  const { server } = await (await fetch(api.runtime.getURL('config.json'))).json();
  const { Filter } = await load();
  const bytes = { base: 0, update: 0, prefixes: 0 };
  const open = async (name) => {
    const response = await fetch(`${server}/${name}.mayhap`);
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
    const body = new Uint8Array(await response.arrayBuffer());
    bytes[name] = body.length;
    return Filter.open(body);
  };
  const confirm = async (prefix) => {
    const response = await fetch(`${server}/hashes/${prefix}`);
    if (!response.ok) throw new Error(String(response.status));
    const text = await response.text();
    bytes.prefixes += text.length;
    return text.split('\n').filter(Boolean);
  };
  const checker = new Checker([await open('base'), await open('update')], confirm);
  globalThis.checker = checker;
  globalThis.bytes = bytes;
  return checker;
}

let starting;
/** The checker; a start that failed is tried again by the next page. */
const started = () => {
  starting ??= start().catch((error) => {
    starting = undefined;
    throw error;
  });
  return starting;
};

api.webNavigation.onBeforeNavigate.addListener(async ({ tabId, frameId, url }) => {
  if (frameId !== 0 || !/^https?:/.test(url) || allowed.has(url)) return;
  const { listed, expression } = await (await started()).check(url);
  if (!listed) return;
  const warning = new URL(api.runtime.getURL('warning.html'));
  warning.hash = new URLSearchParams({ url, expression });
  await api.tabs.update(tabId, { url: warning.href });
});

api.runtime.onMessage.addListener(({ allow }, sender) => {
  // Only pages of the extension.
  if (allow && sender.url?.startsWith(api.runtime.getURL('warning.html'))) allowed.add(allow);
});

started().catch((error) => console.warn(`the list cannot be loaded yet: ${error.message}`));
