// The inputs, and their copy in the URL after `#`: a link shows the same page.
'use strict';

const DEFAULTS = { n: '10M', p: '0.1%', m: '', k: '', sets: '1', c1: '0.001', c2: '10',
  absent: '90%', key: '32' };
const FLAGS = ['delete', 'forget', 'frozen', 'grow'];

/** All controls that are part of the state. */
page.controls = () => [
  ...page.byId('needs').elements, ...page.byId('cost').elements,
].filter((control) => control.name);

/** Fills the controls from the URL; unknown names are ignored. */
page.readUrl = () => {
  const given = new URLSearchParams(location.hash.slice(1));
  // A link that names two of n, p and m leaves the third to be solved.
  const named = ['n', 'p', 'm'].some((name) => given.has(name));
  for (const control of page.controls()) {
    if (FLAGS.includes(control.name)) control.checked = given.get(control.name) === '1';
    else if (named && 'npm'.includes(control.name)) control.value = given.get(control.name) ?? '';
    else control.value = given.get(control.name) ?? DEFAULTS[control.name] ?? '';
  }
};

/** Writes the inputs that differ from the defaults into the URL, without a step in the history. */
page.writeUrl = () => {
  const state = new URLSearchParams();
  for (const control of page.controls()) {
    const { name } = control;
    if (FLAGS.includes(name)) {
      if (control.checked) state.set(name, '1');
    } else if ('npm'.includes(name) ? control.value : control.value !== DEFAULTS[name]) {
      state.set(name, control.value);
    }
  }
  history.replaceState(null, '', `#${state}`);
};

/** An error about a field. */
const wrong = (field, text) => Object.assign(new Error(text), { field });

/** What was perhaps meant, in the words of the command. */
function hintOf(name, text) {
  if (/^\d+,\d{1,2}\s*%?$/.test(text)) return `; did you mean ${text.replace(',', '.')}?`;
  const ratio = /^(\d+):(\d+)$/.exec(text);
  if (ratio) return `; did you mean ${ratio[1]}/${ratio[2]}?`;
  if (name === 'p' && Number(text) >= 1) return `, which is not below 1${Number(text) < 100 ? `; did you mean ${text}%?` : ''}`;
  return '';
}

/** The needs as numbers, or a sentence in `problem`. */
page.needs = (library) => {
  const form = page.byId('needs').elements;
  const read = (name, parse, what) => {
    const text = form[name].value.trim();
    if (text === '') return null;
    const number = parse(text);
    if (!Number.isNaN(number)) return number;
    throw wrong(name, `${what} is not understood: ${text}${hintOf(name, text)}`);
  };
  const items = read('n', library.parseCount, 'n');
  const fpp = read('p', library.parseFpp, 'p');
  const maxBytes = read('m', library.parseBytes, 'the memory');
  const known = [items, fpp, maxBytes].filter((number) => number !== null).length;
  if (known < 2) throw new Error('Two of keys, rate and memory are needed: give one more.');
  const numHashes = read('k', library.parseCount, 'k');
  return {
    items, fpp, maxBytes, numHashes,
    sets: read('sets', library.parseCount, 'the number of sets') ?? 1,
    delete: form.delete.checked,
    forget: form.forget.checked,
    frozen: form.frozen.checked,
    unknownItems: form.grow.checked,
  };
};
