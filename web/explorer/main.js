// Loads the library and keeps the page in step with the inputs.
'use strict';

/** The module embedded in `mayhap.js`, unpacked. */
async function embedded() {
  const packed = Uint8Array.from(atob(mayhap.embedded), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

/** The number that is solved stands in its own field, as long as none is typed there. */
function showSolved({ items, fpp, maxBytes }, best) {
  const solved = {
    n: [items, () => page.compact(best.items)],
    p: [fpp, () => page.rate(best.expectedFpp)],
    m: [maxBytes, () => page.bytes(best.numBytes)],
  };
  for (const [name, [given, write]] of Object.entries(solved)) {
    const field = page.byId('needs').elements[name];
    field.classList.toggle('solved', given === null);
    field.placeholder = given === null && best ? write() : '';
  }
}

function update(library) {
  const problem = page.byId('problem');
  page.writeUrl();
  page.controls().forEach((control) => control.removeAttribute('aria-invalid'));
  document.body.classList.remove('unsolved');
  try {
    const needs = page.needs(library);
    const first = library.plan(needs);
    const items = first.candidates[0]?.items ?? 0;
    const plan = library.plan({ ...needs, curve: page.loads().map((load) => Math.round(load * items)) });
    problem.textContent = '';
    showSolved(needs, plan.candidates[0]);
    page.showSizes(library, needs, plan);
    page.showBars(plan);
    page.showFormulas(library, needs, plan.candidates[0]);
    page.showCurves(library, plan);
    page.showCost(library, plan.candidates[0]);
    page.showLines(library, needs, plan.candidates[0]);
    page.plan = plan;
  } catch (error) {
    // The numbers below are of the inputs before.
    document.body.classList.add('unsolved');
    problem.textContent = error.message;
    for (const control of page.controls()) {
      if (control.name === error.field) control.setAttribute('aria-invalid', 'true');
    }
  }
  document.documentElement.dataset.shown = String(performance.now());
}

async function start() {
  const module = await WebAssembly.compile(await embedded());
  const library = await mayhap.load({ module, simd: false });
  page.library = library;
  page.readUrl();
  update(library);
  for (const id of ['needs', 'cost']) {
    page.byId(id).addEventListener('input', () => update(library));
    page.byId(id).addEventListener('submit', (event) => event.preventDefault());
  }
  const again = () => {
    update(library);
    page.showBits();
  };
  addEventListener('hashchange', () => {
    page.readUrl();
    again();
  });
  page.byId('language').addEventListener('change', ({ target }) => {
    page.chooseLanguage(target.value);
    again();
  });
  for (const button of document.querySelectorAll('[data-preset]')) {
    button.addEventListener('click', () => page.usePreset(button.dataset.preset));
  }
  page.onFile('drop-list', page.takeList(library, module));
  page.onFile('drop-file', page.takeFilter(library));
  page.byId('ask').addEventListener('submit', (event) => {
    event.preventDefault();
    page.ask();
  });
  await page.startBits(library);
  // Plots are as wide as their places.
  let width = document.body.clientWidth;
  new ResizeObserver(() => {
    if (document.body.clientWidth === width) return;
    width = document.body.clientWidth;
    again();
  }).observe(document.body);
  document.documentElement.dataset.ready = '1';
}

start().catch((error) => {
  page.byId('problem').textContent = page.text('cannot_start', error.message);
});
