// Numbers as text, and elements from text: names are untrusted, and only ever become text.

/** An element with attributes and children; a text child is a text node, never markup. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** `<div><dt>…<dd>…` for each pair. */
export const pairs = (list) =>
  list.map(([term, value]) => element('div', {}, element('dt', {}, term), element('dd', {}, value)));

const grouped = new Intl.NumberFormat('en');
export const count = (number) => (number === null || number === undefined ? '–' : grouped.format(number));

/** A rate: `0.1 %`, or `1.2e-6` below a tenth of a thousandth. */
export function rate(number) {
  if (number === null || number === undefined) return '–';
  if (number === 0) return '0';
  return number < 1e-4 ? number.toExponential(1) : `${Number((number * 100).toPrecision(3))} %`;
}

/** Whether a filter breaks its promise; false if either rate is unknown. */
export const isOver = ({ expected_fpp: now, target_fpp: promised }) =>
  typeof now === 'number' && typeof promised === 'number' && now > promised * 1.01;

/** Kinds that refuse keys beyond their capacity. */
const REFUSING = ['blocked', 'standard', 'compact', 'bf'];
const refuses = ({ kind, expansion, grows }) => REFUSING.includes(kind) && !expansion && !grows;

/** Whether a filter was built from all of its keys and takes no others. */
export const isFrozen = ({ kind }) => kind === 'fuse' || kind === 'ribbon';

/** The part of the capacity that is in use; null if there is none. */
export const fullness = ({ kind, items, capacity }) =>
  (capacity && Number.isFinite(items) && !isFrozen({ kind }) ? items / capacity : null);

/** The class of a fullness: from four fifths on where keys are refused, none for other kinds. */
export const crowded = (filter) => (refuses(filter) && fullness(filter) >= 0.8 ? 'warn' : '');

/** Whether a filter refuses every new key. */
export const isFull = (filter) => refuses(filter) && fullness(filter) >= 1;

/** Whether a filter expires within the hour. */
export const isExpiring = ({ expires_at: at }) => Boolean(at) && at < Date.now() + 3_600_000;

/** The state of a filter in words, with its class. */
export function stateOf(filter) {
  if (filter.num_bytes === undefined && !filter.problem) return ['–', ''];
  if (filter.problem) return [filter.problem, 'bad'];
  const words = [isOver(filter) && 'over its promise', isFull(filter) && 'full: adds are refused'].filter(Boolean);
  if (words.length) return [words.join('; '), 'bad'];
  if (crowded(filter)) return ['nearly full', 'warn'];
  return [isFrozen(filter) ? 'frozen' : 'good', 'good'];
}

/** The remedy for that state; empty for a good one. */
export function adviceOf(filter) {
  if (isOver(filter)) {
    return 'More keys are in it than it was created for. Create a larger one, add all keys to that, and query that one.';
  }
  if (isFull(filter)) {
    return 'What is in it is still found. Create a larger one, add all keys to that, and query that one.';
  }
  return crowded(filter) ? 'It refuses new keys once it is full: create a larger one before, and add all keys to that.' : '';
}

export function size(bytes) {
  if (bytes === null || bytes === undefined) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let step = 0;
  let left = bytes;
  for (; left >= 1024 && step < units.length - 1; step += 1) left /= 1024;
  return `${step ? left.toPrecision(3) : left} ${units[step]}`;
}

/** A time in its two largest units: `3 d 4 h`. */
export function time(seconds) {
  if (!Number.isFinite(seconds)) return '–';
  const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
  const first = units.findIndex(([, length]) => seconds >= length);
  if (first < 0) return `${Math.round(seconds * 1000)} ms`;
  let left = Math.floor(seconds);
  const parts = units.slice(first, first + 2).map(([name, length]) => {
    const whole = Math.floor(left / length);
    left -= whole * length;
    return [whole, name];
  });
  return parts.filter(([whole]) => whole).map((part) => part.join(' ')).join(' ');
}

/** Of a filter: its name as text; bytes that are no text in base64. */
export const nameOf = (filter) => filter.name ?? `base64:${filter.name_base64}`;

/** Characters that are not seen or that move others, and spaces at the ends or in a row. */
const HIDDEN = /(?:^ +| +$| {2,}|[^\P{Z} ]|[\p{C}\p{Default_Ignorable_Code_Point}\u2800])+/gu;
const escaped = (text) =>
  [...text].map((letter) => `\\u{${letter.codePointAt(0).toString(16).toUpperCase()}}`).join('');

/** A name with its hidden characters as escapes, where it can only be text. */
export const visible = (name) => name.replace(HIDDEN, escaped);

/** The same as an element, which turns no text around it. */
export function nameIn(name) {
  const shown = element('bdi');
  let end = 0;
  for (const { 0: hidden, index } of name.matchAll(HIDDEN)) {
    shown.append(name.slice(end, index), element('span', { class: 'escape', title: 'hidden characters' }, escaped(hidden)));
    end = index + hidden.length;
  }
  shown.append(name.slice(end));
  return shown;
}

/** A part of a whole as a bar; the number beside it says the same. */
export function bar(part, kind = '') {
  const inner = element('span');
  inner.style.width = `${100 * Math.min(1, Math.max(0, part ?? 0))}%`;
  return element('span', { class: `bar ${kind}`, 'aria-hidden': 'true' }, inner);
}

/** A sentence for a view that has nothing to show, with a command to copy. */
export function empty(sentence, command) {
  const code = element('code', {}, command);
  const button = element('button', { type: 'button' }, 'Copy');
  button.addEventListener('click', async () => {
    getSelection().selectAllChildren(code);
    try {
      await navigator.clipboard.writeText(command);
      button.textContent = 'Copied';
    } catch {
      // Browsers keep it for pages of this machine and of https://.
      button.textContent = 'Selected';
    }
  });
  return element('div', { class: 'empty' }, element('p', {}, sentence), element('p', {}, code, ' ', button));
}
/** The name of a filter in the form used in paths and events. */
export const keyOf = (filter) => filter.path.slice('/v1/filters/'.length);
