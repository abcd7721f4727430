// Checks each page, in Firefox before it is requested, and shows a warning in place of a listed one.

import { load } from './mayhap/reader.js';
import { Checker } from './checker.js';

const api = globalThis.browser ?? chrome;

/** Lists older than this are asked for again, by the next page. */
const FRESH_MS = 5 * 60_000;

/** State that outlives the worker, until the browser is closed. */
const session = {
  get: async (key) => (await api.storage.session.get(key))[key],
  set: (key, value) => api.storage.session.set({ [key]: value }),
};

/** The bytes of a list: those that are kept if `isKept`, else the newest of the server. */
async function fetched(url, isKept) {
  const keep = await caches.open('lists');
  const old = isKept ? await keep.match(url) : undefined;
  if (old) return new Uint8Array(await old.arrayBuffer());
  // An unchanged list costs the server a comparison of tags.
  const response = await fetch(url, { cache: 'no-cache' });
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  await keep.put(url, response.clone());
  return new Uint8Array(await response.arrayBuffer());
}

let loadedAt = 0;

/** Loads the checker: of lists that are kept, or of new ones. */
async function start(isKept) {
  const { server } = await (await fetch(api.runtime.getURL('config.json'))).json();
  const { Filter } = await load();
  const bytes = { base: 0, update: 0, prefixes: 0 };
  const open = async (name) => {
    const body = await fetched(`${server}/${name}.mayhap`, isKept);
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
  if (!isKept) loadedAt = Date.now();
  globalThis.checker = checker;
  globalThis.bytes = bytes;
  return checker;
}

let starting;
/** The checker; a start that failed is tried again by the next page. */
const started = () => {
  starting ??= start(true).catch((error) => {
    starting = undefined;
    throw error;
  });
  refresh();
  return starting;
};

/** Takes over a newer list, while pages are checked against the one at hand. */
async function refresh() {
  if (Date.now() - loadedAt < FRESH_MS) return;
  loadedAt = Date.now();
  try {
    await starting;
    starting = Promise.resolve(await start(false));
  } catch {
    loadedAt = 0;
  }
}
globalThis.refresh = () => {
  loadedAt = 0;
  return refresh();
};

/** The warning of a URL, if it is listed and the user has not gone on to it. */
async function warningOf(url) {
  if (!/^https?:/.test(url)) return null;
  const { listed, expression } = await (await started()).check(url);
  if (!listed || (await session.get('allowed'))?.includes(url)) return null;
  const warning = new URL(api.runtime.getURL('warning.html'));
  warning.hash = new URLSearchParams({ url, expression });
  return warning.href;
}

/** Shows the warning in the tab, and returns whether there is one. */
async function warn({ tabId, url, type }) {
  const warning = await warningOf(url);
  if (warning && tabId >= 0) {
    // The page around a listed frame is no way back: it would lead to this warning again.
    if (type === 'sub_frame') await session.set(`around-${tabId}`, (await api.tabs.get(tabId)).url);
    await api.tabs.update(tabId, { url: warning });
  }
  return Boolean(warning);
}

/** The time that a request waits at most for a slow second step, or for the list. */
const HELD_MS = 5_000;

/** Holds a request until it is checked, so that a listed site does not get it. */
function hold(details) {
  const checked = warn(details).then((cancel) => ({ cancel }), () => ({}));
  return Promise.race([checked, new Promise((done) => setTimeout(done, HELD_MS, {}))]);
}

// Frames within a page count, and redirects: the warning takes the place of the whole.
const pages = { urls: ['http://*/*', 'https://*/*'], types: ['main_frame', 'sub_frame'] };
if (api.runtime.getBrowserInfo) {
  // Firefox, which alone lets extensions hold requests.
  api.webRequest.onBeforeRequest.addListener(hold, pages, ['blocking']);
} else {
  const beside = (details) => { warn(details).catch(() => {}); };
  // The first is earlier, the second tells of redirects and frames too.
  api.webNavigation.onBeforeNavigate.addListener((details) => details.frameId === 0 && beside(details));
  api.webRequest.onBeforeRequest.addListener(beside, pages);
}

// Where "Go back" leads: the last page of the tab that was not listed, and had no listed frame. Such
// a page may have loaded completely before its frame is found on the list.
api.webNavigation.onCompleted.addListener(async ({ tabId, frameId, url }) => {
  if (frameId !== 0 || !/^https?:/.test(url) || (await (await started()).check(url)).listed) return;
  const last = await session.get(`page-${tabId}`);
  if (last && last !== url) await session.set(`before-${tabId}`, last);
  await session.set(`page-${tabId}`, url);
});

async function pageBack(tabId) {
  const [page, before, around] = await Promise.all(['page', 'before', 'around'].map((name) =>
    session.get(`${name}-${tabId}`)));
  return (page === around ? before : page) ?? 'about:blank';
}

api.runtime.onMessage.addListener(({ allow, back }, sender, answer) => {
  // Only pages of the extension.
  if (!sender.url?.startsWith(api.runtime.getURL('warning.html'))) return undefined;
  (async () => {
    if (allow) await session.set('allowed', [...(await session.get('allowed')) ?? [], allow]);
    if (back) await api.tabs.update(sender.tab.id, { url: await pageBack(sender.tab.id) });
  })().then(answer, answer);
  return true;
});

started().catch((error) => console.warn(`the list cannot be loaded yet: ${error.message}`));
