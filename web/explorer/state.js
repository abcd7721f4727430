// The inputs, and their copy in the URL after `#`: a link shows the same page.
'use strict';

const DEFAULTS = { n: '10M', p: '0.1%', m: '', k: '', sets: '1', c1: '0.001', c2: '10',
  absent: '90%', key: '32' };
/** The inputs of well-known uses, where they differ from the defaults. */
const PRESETS = {
  crawler: { n: '1G', p: '1%', absent: '50%', key: '50' },
  passwords: { n: '1G', p: '0.1%', frozen: '1', absent: '99%', key: '20' },
  guard: { n: '10M', p: '1%', delete: '1', absent: '99%', key: '24' },
  phishing: { n: '1M', p: '1e-4', frozen: '1', absent: '99.9%', key: '60' },
};

/** The language is in the URL only if it was chosen. */
let chosen = false;
const FLAGS = ['delete', 'forget', 'frozen', 'grow'];

/** All controls that are part of the state. */
page.controls = () => [
  ...page.byId('needs').elements, ...page.byId('cost').elements,
].filter((control) => control.name);

/** Fills the controls from the URL; unknown names are ignored. */
page.readUrl = () => {
  const given = new URLSearchParams(location.hash.slice(1));
  page.chooseLanguage(given.get('lang'));
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
  if (chosen) state.set('lang', page.language);
  history.replaceState(null, '', `#${state}`);
};

/** Fills the controls for a well-known use, as a step in the history. */
page.usePreset = (name) => {
  const language = chosen ? { lang: page.language } : {};
  location.hash = new URLSearchParams({ ...PRESETS[name], ...language });
};

/** Takes the language that is given, or else the first one of the browser that the page has. */
page.chooseLanguage = (given) => {
  const has = (language) => Object.hasOwn(page.LANGUAGES, language);
  chosen = has(given ?? '');
  page.language = chosen ? given
    : navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase()).find(has) ?? 'en';
  page.byId('language').value = page.language;
  page.translate();
};

/** An error about a field. */
const wrong = (field, text) => Object.assign(new Error(text), { field });

/** What was perhaps meant, in the words of the command. */
function hintOf(name, text) {
  const ratio = /^(\d+):(\d+)$/.exec(text);
  if (ratio) return page.text('mean', `${ratio[1]}/${ratio[2]}`);
  const number = Number(page.dotted(text));
  if (name !== 'p' || !(number >= 1)) return '';
  return page.text('not_below_1', number < 100 ? page.text('mean', `${text}%`) : '');
}

/** The needs as numbers, or a sentence in `problem`. */
page.needs = (library) => {
  const form = page.byId('needs').elements;
  const read = (name, parse, what) => {
    const text = form[name].value.trim();
    if (text === '') return null;
    const number = parse(page.dotted(text));
    if (!Number.isNaN(number)) return number;
    throw wrong(name, page.text('bad_number', what, text, hintOf(name, text)));
  };
  const items = read('n', library.parseCount, 'n');
  const fpp = read('p', library.parseFpp, 'p');
  const maxBytes = read('m', library.parseBytes, page.text('the_memory'));
  const known = [items, fpp, maxBytes].filter((number) => number !== null).length;
  if (known < 2) throw new Error(page.text('two_needed'));
  const numHashes = read('k', library.parseCount, 'k');
  return {
    items, fpp, maxBytes, numHashes,
    sets: read('sets', library.parseCount, page.text('the_sets')) ?? 1,
    delete: form.delete.checked,
    forget: form.forget.checked,
    frozen: form.frozen.checked,
    unknownItems: form.grow.checked,
  };
};
