// A URL as the host suffixes and path prefixes under which a list may contain it, by the rules of
// Safe Browsing (developers.google.com/safe-browsing/v4/urls-hashing), as `--url-prefixes` of the
// command: `crates/mayhap-keys/src/expressions/cases.tsv` has the cases that both pass.

/** Longer URLs are no key: Chromium opens none above 2 MiB. */
const MAX_BYTES = 2 << 20;
/** One is enough for all but a few contrived hosts. */
const MAX_READINGS = 8;
const PERCENT = 0x25;

const digit = (byte) => {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
};

/**
 * Resolves escapes until none is left, as `%2541` is `%41` is `A`; each letter is then a byte. Each
 * byte is taken once, and each escape ends with fewer bytes: the time is linear.
 */
function unescaped(text) {
  const bytes = new TextEncoder().encode(text);
  let end = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    bytes[end++] = bytes[at];
    // The byte of an escape may be part of another one.
    while (end >= 3 && bytes[end - 3] === PERCENT) {
      const [high, low] = [digit(bytes[end - 2]), digit(bytes[end - 1])];
      if (high < 0 || low < 0) break;
      end -= 3;
      bytes[end++] = 16 * high + low;
    }
  }
  let letters = '';
  for (let at = 0; at < end; at += 8192) {
    letters += String.fromCharCode(...bytes.subarray(at, Math.min(end, at + 8192)));
  }
  return letters;
}

/** Escapes bytes that may not occur in a URL, and `#` and `%`, once. */
const escapeOnce = (text) =>
  text.replace(/[\x00-\x20\x7f-\xff#%]/g, (byte) =>
    `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

const withSingleDots = (host) => host.split('.').filter(Boolean).join('.');

/** An address of version 6 as the one of version 4 within it, if there is one. */
function within(host) {
  const [, high, low] = /^\[(?:::ffff:|64:ff9b::)([0-9a-f]+):([0-9a-f]+)\]$/.exec(host) ?? [];
  if (high === undefined) return host;
  const bytes = [high, low].map((half) => parseInt(half, 16)).flatMap((half) => [half >> 8, half & 255]);
  return bytes.join('.');
}

/** A host in one spelling: a name in punycode, an address in decimal numbers; null for none. */
function canonicalHost(text) {
  let host = withSingleDots(text);
  for (let i = 0; i < MAX_READINGS; i += 1) {
    let next;
    try {
      next = within(withSingleDots(new URL(`http://${host}/`).hostname));
    } catch {
      return null;
    }
    if (next === '' || next === host) return next || null;
    host = next;
  }
  return null;
}

function canonicalPath(text) {
  const folders = [];
  let last = '';
  for (last of text.split('/')) {
    if (last === '..') folders.pop();
    else if (last !== '' && last !== '.') folders.push(last);
  }
  const isFolder = ['', '.', '..'].includes(last) && folders.length > 0;
  return `/${folders.join('/')}${isFolder ? '/' : ''}`;
}

/** Host, path and query in one spelling; null for text that is no URL of the web. */
export function canonical(text) {
  if (text.length > MAX_BYTES) return null;
  let url;
  try {
    url = new URL(text.trim());
  } catch {
    return null;
  }
  if (!['http:', 'https:'].includes(url.protocol)) return null;
  const host = canonicalHost(url.hostname);
  if (!host) return null;
  // Of the URL as it is written: `search` does not tell `/?` from `/`. The fragment names no other
  // resource.
  const [whole] = url.href.split('#');
  const rest = unescaped(whole.slice(whole.indexOf('/', url.protocol.length + 2)));
  const query = rest.indexOf('?');
  const path = query < 0 ? rest : rest.slice(0, query);
  return {
    host: escapeOnce(host),
    path: escapeOnce(canonicalPath(path)),
    query: query < 0 ? '' : escapeOnce(rest.slice(query)),
  };
}

/** The host and up to four suffixes of its last five labels; an IP address has none. */
function hosts(host) {
  if (/^[\d.]+$|^\[/.test(host)) return [host];
  const labels = host.split('.');
  const found = [host];
  const first = Math.max(1, labels.length - 5);
  for (let i = first; i < labels.length - 1 && found.length < 5; i += 1) {
    found.push(labels.slice(i).join('.'));
  }
  return found;
}

/** The path with its query and without, and up to four prefixes from the root on. */
function paths({ path, query }) {
  const found = [path + query, path];
  let end = 0;
  for (let i = 0; i < 4 && end >= 0; i += 1) {
    found.push(path.slice(0, end + 1));
    end = path.indexOf('/', end + 1);
  }
  return [...new Set(found)];
}

/** All expressions of a URL, at most 30: `host/path`, without scheme, port and credentials. */
export function expressions(text) {
  const url = canonical(text);
  if (!url) return [];
  return hosts(url.host).flatMap((host) => paths(url).map((path) => host + path));
}
