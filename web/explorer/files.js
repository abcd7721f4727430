// Lists become filters, and filter files are opened; nothing leaves the page.
'use strict';

/** The number of absent keys that are looked up to measure a rate. */
const PROBES = 200_000;

/** Options of the command for the place of keys in lines; all others give keys a form. */
const PLACES = /^(clock|crlf|csv|delim|field|json-pointer|separator)=/;

/** Calls `take(file)` for a file that is dropped on, or chosen in, the element. */
page.onFile = (id, take) => {
  const zone = page.byId(id);
  const over = (is) => (event) => {
    event.preventDefault();
    zone.classList.toggle('over', is);
  };
  zone.addEventListener('dragover', over(true));
  zone.addEventListener('dragleave', over(false));
  zone.addEventListener('drop', (event) => {
    over(false)(event);
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
  zone.querySelector('input').addEventListener('change', (event) => {
    if (event.target.files[0]) take(event.target.files[0]);
  });
};

/** Builds a filter of the lines at the rate of the page, and measures it. */
page.takeList = (library) => async (file) => {
  const result = page.byId('list-result');
  try {
    const lines = (await file.text()).split(/\r?\n/);
    if (lines[lines.length - 1] === '') lines.pop();
    const distinct = new Set(lines).size;
    const fpp = library.parseFpp(page.byId('needs').elements.p.value) || 0.001;
    const filter = await library.Filter.create({ items: Math.max(1, distinct), fpp });
    filter.insertMany(lines);
    const missed = filter.containsMany(lines).filter((answer) => answer === 0).length;
    const info = filter.info();
    const wrong = measure(filter);
    const bytes = filter.encode();
    filter.free();
    const link = page.element('a', { download: `${file.name}.mayhap` },
      `Download ${file.name}.mayhap (${page.bytes(bytes.length)})`);
    link.href = URL.createObjectURL(new Blob([bytes]));
    result.replaceChildren(page.facts([
      ['Lines', page.count(lines.length)],
      ['Distinct', page.count(distinct)],
      ['Found again', missed === 0 ? 'all of them' : `all but ${missed}`],
      ['Filter', `${info.kind}, ${page.bytes(info.numBytes)}, k = ${info.numHashes}`],
      ['Bits set', page.rate(info.fillRatio)],
      ['Rate promised', page.rate(fpp)],
      ['Rate by the bits', page.rate(info.estimatedFpp)],
      ['Rate measured', `${page.rate(wrong / PROBES)} (${wrong} of ${page.count(PROBES)} absent keys)`],
    ]), link);
  } catch (error) {
    fail(result, error);
  }
};

/** False positives among keys that no list has. */
function measure(filter) {
  const numbers = crypto.getRandomValues(new BigUint64Array(8192));
  let wrong = 0;
  for (let start = 0; start < PROBES; start += 8000) {
    const keys = Array.from({ length: 8000 }, (_, i) => `\0absent-${numbers[i]}-${start + i}`);
    wrong += filter.containsMany(keys).reduce((sum, answer) => sum + answer, 0);
  }
  return wrong;
}

/** Opens a filter file and shows its parameters; its keys can be looked up from then on. */
page.takeFilter = (library) => async (file) => {
  const result = page.byId('file-result');
  page.byId('ask').hidden = true;
  try {
    const filter = await library.Filter.fromStream(file.stream());
    page.opened?.free();
    page.opened = filter;
    const info = filter.info();
    page.hasForm = info.keyOptions.split('\n').some((line) => line && !PLACES.test(line));
    result.replaceChildren(describe(file, info));
    page.byId('ask').hidden = false;
  } catch (error) {
    fail(result, error);
  }
};

function describe(file, info) {
  const known = (number, write = page.count) => (number === null ? 'not recorded' : write(number));
  const health = page.element('span',
    { class: info.estimatedFpp > info.targetFpp && info.targetFpp ? 'over' : 'ok' },
    page.rate(info.estimatedFpp));
  return page.facts([
    ['File', file.name],
    ['Of', info.format === info.kind ? info.format : `${info.format}, ${info.kind}`],
    ['Memory', `${page.bytes(info.numBytes)}, m = ${page.count(info.numBits)}, k = ${info.numHashes}`],
    ['Made for', `${known(info.expectedItems)} keys at ${known(info.targetFpp, page.rate)}`],
    ['Holds about', `${known(info.estimatedItems)} keys`],
    ['Bits set', known(info.fillRatio, page.rate)],
    ['Rate now', health],
    ...(info.digest ? [['Digest', `${info.digest}, seed ${info.seed}`]] : []),
    ...(info.health ? [['Health', info.health]] : []),
    ...(info.keyOptions ? [['Keys are cut by', info.keyOptions.trim()]] : []),
  ]);
}

/** Looks up the lines of the text box, as they are. */
page.ask = () => {
  const keys = page.byId('ask').elements.keys.value.split('\n').filter((line) => line !== '');
  const answers = page.opened.containsMany(keys);
  const absent = page.hasForm ? 'surely not in this form of it' : 'surely not';
  page.byId('ask-result').replaceChildren(page.facts(keys.map((key, i) => [
    key, page.element('b', {}, answers[i] ? 'maybe' : absent),
  ])));
};

function fail(place, error) {
  place.replaceChildren(page.element('p', { class: 'problem' }, error.message));
}
