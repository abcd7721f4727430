// A URL as the host suffixes and path prefixes under which a list may contain it, by the rules of
// Safe Browsing (developers.google.com/safe-browsing/reference, "URLs and hashing").

/** Unescapes until nothing changes, as `%2541` is `%41` is `A`; each letter is then a byte. */
function unescapeAll(text) {
  for (let before = null; before !== text;) {
    before = text;
    text = text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  }
  return text;
}

/** Escapes bytes that may not occur in a URL, and `#` and `%`, once. */
const escapeOnce = (text) =>
  text.replace(/[\x00-\x20\x7f-\xff#%]/g, (byte) =>
    `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

/** Host, path and query in one spelling; null for text that is no URL of the web. */
export function canonical(text) {
  let url;
  try {
    // Tabs and line ends vanish, the host is in lower case and punycode, an IPv4 in any form is
    // four decimal numbers, `..` is resolved: the URL standard. The fragment names no other
    // resource.
    url = new URL(text.trim());
  } catch {
    return null;
  }
  if (!['http:', 'https:'].includes(url.protocol)) return null;
  const host = url.hostname.replace(/\.+/g, '.').replace(/^\.|\.$/g, '');
  if (host === '') return null;
  // Dots that were escaped are dots only now.
  const segments = [];
  for (const segment of unescapeAll(url.pathname).split('/').slice(1)) {
    if (segment === '..') segments.pop();
    else if (segment !== '.') segments.push(segment);
  }
  const path = `/${segments.join('/')}`.replace(/\/{2,}/g, '/');
  return { host, path: escapeOnce(path), query: escapeOnce(unescapeAll(url.search)) };
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
