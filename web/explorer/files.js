// Lists become filters, and filter files are opened; nothing leaves the page.
'use strict';

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
    const [file] = event.target.files;
    // The same file again is a change too.
    event.target.value = '';
    if (file) take(file);
  });
};

/** The worker that reads a list at the moment, and the download of the one before. */
let reading;
let offered;

/** Builds a filter of the lines at the rate of the page, in a worker, and measures it. */
page.takeList = (library, module) => (file) => {
  const result = page.byId('list-result');
  const fpp = library.parseFpp(page.byId('needs').elements.p.value) || 0.001;
  reading?.terminate();
  // A page that is opened from a folder starts no other worker than one from its own text.
  const source = URL.createObjectURL(new Blob([mayhap.worker], { type: 'text/javascript' }));
  const worker = new Worker(source);
  reading = worker;
  const bar = page.element('progress', { max: 1, value: 0, 'aria-label': `${file.name} is read` });
  const cancel = page.element('button', { type: 'button' }, 'Cancel');
  const end = (...shown) => {
    worker.terminate();
    URL.revokeObjectURL(source);
    result.replaceChildren(...shown);
  };
  cancel.addEventListener('click', () => end(page.element('p', {}, `${file.name}: cancelled.`)));
  result.replaceChildren(bar, ' ', cancel);
  worker.onmessage = ({ data: { progress, done, error } }) => {
    if (progress !== undefined) bar.value = progress;
    else if (error) end(problemOf(error));
    else end(...listFacts(file, fpp, done));
  };
  worker.onerror = (event) => end(problemOf(`${file.name}: ${event.message || 'the worker ended'}`));
  worker.postMessage({ module, file, fpp });
};

/** The facts about a list and its filter, and the link to the file. */
function listFacts(file, fpp, { lines, distinct, added, found, measured, info, made }) {
  if (lines === 0) return [problemOf(`${file.name} has no lines: there is nothing to look up.`)];
  if (offered) URL.revokeObjectURL(offered);
  offered = URL.createObjectURL(made);
  const link = page.element('a', { href: offered, download: `${file.name}.mayhap` },
    `Download ${file.name}.mayhap (${page.bytes(made.size)})`);
  const { wrong, probes } = measured;
  const again = found === lines ? 'all of them'
    : page.element('b', { class: 'over' }, `${page.count(lines - found)} are missing: do not use it`);
  return [page.facts([
    ['List', file.name],
    ['Lines', page.count(lines)],
    ['Distinct', distinct === null ? `about ${page.count(added)}` : page.count(distinct)],
    ['Found again', again],
    ['Filter', `${info.kind}, ${page.bytes(info.numBytes)}, k = ${info.numHashes}`],
    ['Bits set', page.rate(info.fillRatio)],
    ['Rate promised', page.rate(fpp)],
    ['Rate by the bits', page.rate(info.estimatedFpp)],
    ['Rate measured', `${page.rate(wrong / probes)} (${wrong} of ${page.count(probes)} absent keys)`],
  ]), link];
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
    page.form = page.formOf(info.keyOptions);
    page.byId('ask-result').replaceChildren();
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

/** Looks up the lines of the text box, in the form that keys of the file have. */
page.ask = async () => {
  const lines = page.byId('ask').elements.keys.value.split('\n').filter((line) => line !== '');
  const keys = await Promise.all(lines.map((line) => page.form(line)));
  const known = keys.filter((key) => key instanceof Uint8Array);
  const answers = page.opened.containsBytes(known);
  let next = 0;
  const rows = keys.map((key, i) => {
    const said = key instanceof Uint8Array ? (answers[next++] ? 'maybe' : 'surely not') : `cannot say: ${key}`;
    return [lines[i], page.element('b', {}, said)];
  });
  page.byId('ask-result').replaceChildren(page.facts(rows));
};

const problemOf = (text) => page.element('p', { class: 'problem' }, text);

function fail(place, error) {
  place.replaceChildren(problemOf(error.message));
}
