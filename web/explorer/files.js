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
  const input = zone.querySelector('input');
  zone.addEventListener('drop', (event) => {
    over(false)(event);
    const { files } = event.dataTransfer;
    if (!files[0]) return;
    // Its name is beside the button, as that of a chosen one.
    input.files = files;
    take(files[0]);
  });
  // The same file again is a change too.
  input.addEventListener('click', () => { input.value = ''; });
  input.addEventListener('change', () => {
    if (input.files[0]) take(input.files[0]);
  });
};

/** The worker that reads a list at the moment, and the download of the one before. */
let reading;
let offered;

/** Builds a filter of the lines at the rate of the page, in a worker, and measures it. */
page.takeList = (library, module) => (file) => {
  const result = page.byId('list-result');
  const fpp = library.parseFpp(page.dotted(page.byId('needs').elements.p.value)) || 0.001;
  reading?.terminate();
  // A page that is opened from a folder starts no other worker than one from its own text.
  const source = URL.createObjectURL(new Blob([mayhap.worker], { type: 'text/javascript' }));
  const worker = new Worker(source);
  reading = worker;
  const bar = page.element('progress', { max: 1, value: 0, 'aria-label': page.text('is_read', file.name) });
  const cancel = page.element('button', { type: 'button' }, page.text('cancel'));
  const end = (...shown) => {
    worker.terminate();
    URL.revokeObjectURL(source);
    result.replaceChildren(...shown);
  };
  cancel.addEventListener('click', () => end(page.element('p', {}, page.text('cancelled', file.name))));
  result.replaceChildren(bar, ' ', cancel);
  worker.onmessage = ({ data: { progress, done, error } }) => {
    if (progress !== undefined) bar.value = progress;
    else if (error) end(problemOf(error));
    else end(...listFacts(file, fpp, done));
  };
  worker.onerror = (event) => end(problemOf(`${file.name}: ${event.message || page.text('worker_ended')}`));
  worker.postMessage({ module, file, fpp });
};

/** The facts about a list and its filter, and the link to the file. */
function listFacts(file, fpp, { lines, distinct, added, found, measured, info, made }) {
  const { text } = page;
  if (lines === 0) return [problemOf(page.text('no_lines', file.name))];
  if (offered) URL.revokeObjectURL(offered);
  offered = URL.createObjectURL(made);
  const link = page.element('a', { href: offered, download: `${file.name}.mayhap` },
    text('download', `${file.name}.mayhap`, page.bytes(made.size)));
  const { wrong, probes } = measured;
  const again = found === lines ? text('all_of_them')
    : page.element('b', { class: 'over' }, text('missing', page.count(lines - found)));
  return [page.facts([
    [text('l_list'), file.name],
    [text('l_lines'), page.count(lines)],
    [text('l_distinct'), distinct === null ? text('about', page.count(added)) : page.count(distinct)],
    [text('l_again'), again],
    [text('l_filter'), `${info.kind}, ${page.bytes(info.numBytes)}, k = ${info.numHashes}`],
    [text('bits_set'), page.rate(info.fillRatio)],
    [text('l_promised'), page.rate(fpp)],
    [text('l_by_bits'), page.rate(info.estimatedFpp)],
    [text('l_measured'), text('l_probes', page.rate(wrong / probes), wrong, page.count(probes))],
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

/** Whether a rate is kept: '' if none is promised, and `over` only beyond what the bits can tell. */
function kept({ estimatedFpp, targetFpp, expectedItems, estimatedItems, fillRatio, numBits, numHashes }) {
  if (!targetFpp) return '';
  if (!(estimatedFpp > 1.01 * targetFpp)) return 'ok';
  if (!expectedItems || !numHashes || estimatedItems === null || !(fillRatio < 1)) return 'over';
  // Four standard deviations of the number of keys as the bits tell it, which keys set c times each.
  const c = -Math.log1p(-fillRatio);
  const spread = 4 * Math.sqrt(numBits * (Math.expm1(c) - c)) / numHashes;
  return estimatedItems > expectedItems + spread ? 'over' : 'ok';
}

function describe(file, info) {
  const { text } = page;
  const known = (number, write = page.count) => (number === null ? text('not_recorded') : write(number));
  const health = page.element('span', { class: kept(info) }, page.rate(info.estimatedFpp));
  return page.facts([
    [text('d_file'), file.name],
    [text('d_of'), info.format === info.kind ? info.format : `${info.format}, ${info.kind}`],
    [text('m'), `${page.bytes(info.numBytes)}, m = ${page.count(info.numBits)}, k = ${info.numHashes}`],
    [text('d_made'), info.expectedItems ?? info.targetFpp
      ? text('d_made_is', known(info.expectedItems), known(info.targetFpp, page.rate)) : text('not_recorded')],
    [text('d_holds'), known(info.estimatedItems, (items) => text('d_keys', page.count(items)))],
    [text('bits_set'), known(info.fillRatio, page.rate)],
    [text('d_now'), health],
    ...(info.digest ? [[text('d_digest'), text('d_seed', info.digest, info.seed)]] : []),
    ...(info.health ? [[text('d_health'), info.health]] : []),
    ...(info.keyOptions ? [[text('d_cut'), info.keyOptions.trim()]] : []),
  ]);
}

/** Looks up the lines of the text box, in the form that keys of the file have. */
page.ask = async () => {
  const { text } = page;
  const lines = page.byId('ask').elements.keys.value.split('\n').filter((line) => line !== '');
  const keys = await Promise.all(lines.map((line) => page.form(line)));
  const known = keys.filter((key) => key instanceof Uint8Array);
  const answers = page.opened.containsBytes(known);
  let next = 0;
  const rows = keys.map((key, i) => {
    const said = key instanceof Uint8Array ? (answers[next++] ? text('maybe') : text('surely_not')) : text('cannot_say', key);
    return [lines[i], page.element('b', {}, said)];
  });
  page.byId('ask-result').replaceChildren(page.facts(rows));
};

const problemOf = (text) => page.element('p', { class: 'problem' }, text);

/** The error, and what opens such a file, if the command does. */
function fail(place, error) {
  const next = page.TEXTS[`next_${error.code}`] ? [page.element('p', {}, page.text(`next_${error.code}`))] : [];
  place.replaceChildren(problemOf(error.message), ...next);
}
