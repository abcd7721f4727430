// The form of keys, by the options that a filter file records: as the command applies them, or a
// reason why the page cannot say.
'use strict';

/** Options for the place of keys in lines: a key that is typed is a whole one. */
const PLACES = ['clock', 'crlf', 'csv', 'delim', 'field', 'json-pointer', 'separator'];
const utf8 = new TextEncoder();

const isSpace = (byte) => byte === 0x20 || byte === 0x0a || byte === 0x09 || byte === 0x0c || byte === 0x0d;

function trimmed(bytes) {
  let [start, end] = [0, bytes.length];
  while (start < end && isSpace(bytes[start])) start += 1;
  while (end > start && isSpace(bytes[end - 1])) end -= 1;
  return bytes.subarray(start, end);
}

/** ASCII letters from `first` on in the other case. */
const cased = (first) => (bytes) => bytes.map((byte) => (byte >= first && byte < first + 26 ? byte ^ 0x20 : byte));

function decoded(bytes) {
  const text = new TextDecoder().decode(bytes);
  if (!/^([0-9a-f]{2})+$/i.test(text)) return page.text('not_hex');
  return Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
}

/** The forms that are applied here, in the order of the command. */
const FORMS = [
  ['trim=ascii', trimmed],
  ['hex=decode', decoded],
  ['lower=ascii', cased(0x41)],
  ['upper=ascii', cased(0x61)],
  ['sha1=digest', async (bytes) => (crypto.subtle
    ? new Uint8Array(await crypto.subtle.digest('SHA-1', bytes))
    : page.text('no_sha1'))],
];

/** A function from a typed key to its bytes in the filter, or to the reason why there are none. */
page.formOf = (keyOptions) => {
  const options = keyOptions.split('\n').filter((line) => line && !PLACES.includes(line.split('=')[0]));
  const unknown = options.filter((line) => !FORMS.some(([option]) => option === line));
  if (unknown.length) {
    const reason = page.text('form_unknown', unknown.join(', '));
    return async () => reason;
  }
  const forms = FORMS.filter(([option]) => options.includes(option));
  return async (text) => {
    let key = utf8.encode(text);
    for (const [, form] of forms) {
      if (key instanceof Uint8Array) key = await form(key);
    }
    return key;
  };
};
