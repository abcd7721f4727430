// Loads the library and keeps the page in step with the inputs.
'use strict';

/** The module embedded in `mayhap.js`, unpacked. */
async function embedded() {
  const packed = Uint8Array.from(atob(mayhap.embedded), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
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
    const solved = { n: needs.items, p: needs.fpp, m: needs.maxBytes };
    for (const [name, given] of Object.entries(solved)) {
      page.byId('needs').elements[name].classList.toggle('solved', given === null);
    }
    page.showSizes(library, needs, plan);
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
  addEventListener('hashchange', () => {
    page.readUrl();
    update(library);
  });
  page.onFile('drop-list', page.takeList(library, module));
  page.onFile('drop-file', page.takeFilter(library));
  page.byId('ask').addEventListener('submit', (event) => {
    event.preventDefault();
    page.ask();
  });
  await page.startBits(library);
  document.documentElement.dataset.ready = '1';
}

start().catch((error) => {
  page.byId('problem').textContent = `The page cannot start: ${error.message}`;
});
