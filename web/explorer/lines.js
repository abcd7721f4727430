// Lines to copy: the same filter in the shell, Rust, Python and Redis. A line that would create
// another filter than the page shows is left out.
'use strict';

/** A rate above it has to be given to the command. */
const MUCH = 0.2;

page.showLines = (library, needs, best) => {
  const { element } = page;
  const lines = best ? commands(library, needs, best) : [];
  page.byId('lines').replaceChildren(...lines.map(([name, text]) => {
    const copy = element('button', { type: 'button' }, page.text('copy'));
    copy.setAttribute('aria-label', page.text('copy_line', name));
    copy.addEventListener('click', async () => {
      await navigator.clipboard.writeText(text);
      copy.textContent = page.text('copied');
    });
    return element('div', { class: 'line' }, element('b', {}, name), element('code', {}, text), copy);
  }));
};

function commands(library, needs, best) {
  const { kind, items, targetFpp: fpp } = best;
  const plan = planned(needs);
  const lines = [['shell', shell(needs, best)], ...(plan ? [['plan', plan]] : [])];
  // These take keys and a rate alone, which make another filter where memory was given.
  if (!isOf(library, needs, best)) return lines;
  const rust = {
    blocked: 'BlockedBloomFilter', standard: 'BloomFilter', compact: 'CompactFilter',
    counting: 'CountingBloomFilter',
  }[kind];
  const python = {
    blocked: `Bloom(${items}, ${fpp}, layout="blocked")`,
    standard: `Bloom(${items}, ${fpp}, layout="standard")`,
    compact: `Compact(${items}, ${fpp})`,
    counting: `Counting(${items}, ${fpp})`,
    scalable: `Scalable(${items}, ${fpp})`,
  }[kind];
  const reserve = `BF.RESERVE seen ${fpp} ${items}`;
  const ours = {
    blocked: ' NONSCALING LAYOUT blocked', standard: ' NONSCALING LAYOUT standard', scalable: '',
    compact: ' LAYOUT compact', counting: ' COUNTING', window: ` WINDOW ${items}`,
  }[kind];
  const others = { blocked: ' NONSCALING', standard: ' NONSCALING', scalable: '' }[kind];
  return [
    ...lines,
    ...(rust ? [['Rust', `let filter = mayhap::${rust}::builder()`
      + `.expected_items(${items}).target_fpp(${fpp}).build()?;`]] : []),
    ...(python ? [['Python', `seen = mayhap_bloom.${python}`]] : []),
    ...(ours === undefined ? [] : [['mayhap serve', reserve + ours]]),
    ...(others === undefined ? [] : [['RedisBloom', reserve + others]]),
  ];
}

/** The two of n, p and memory that were given, so that the third is computed alike. */
function sized(needs, { items, targetFpp, expectedFpp }) {
  // Rounded as in the planner, which divides memory among sets.
  const memory = () => Math.floor(needs.maxBytes / needs.sets / 64) * 64;
  if (needs.fpp === null) {
    // The command asks whether a high rate is meant.
    const accepted = expectedFpp > MUCH ? ` -p ${Number((1 - 0.99 * (1 - expectedFpp)).toPrecision(6))}` : '';
    return `-n ${needs.items} --mem ${memory()}${accepted}`;
  }
  if (needs.items === null) return `--mem ${memory()} -p ${needs.fpp}`;
  return `-n ${items} -p ${targetFpp}`;
}

function shell(needs, best) {
  const { kind, items, targetFpp } = best;
  const create = 'mayhap create seen.mayhap';
  if (kind === 'window') return `${create} -p ${targetFpp} --layout window:${items}`;
  if (kind === 'scalable') return `${create} -n ${items} -p ${targetFpp} --layout scalable`;
  if (['fuse', 'ribbon'].includes(kind)) {
    return `mayhap build -o seen.mayhap --layout ${kind} -p ${targetFpp} keys.txt`;
  }
  if (kind === 'matrix') {
    return `mayhap build -o sets.mayhap --layout matrix -n ${items} -p ${targetFpp} set-*.txt`;
  }
  return `${create} ${sized(needs, best)} --layout ${kind}`;
}

/** The plan on the command line; none for a window of as many keys as fit. */
function planned({ items, fpp, maxBytes, sets, ...flags }) {
  if (flags.forget && items === null) return null;
  const words = [
    [items !== null, `${flags.forget ? '--window' : '-n'} ${items}`],
    [fpp !== null, `-p ${fpp}`],
    [maxBytes !== null, `--budget ${maxBytes}`],
    [flags.delete, '--delete'],
    [flags.frozen, '--frozen'],
    [flags.unknownItems, '--unknown-n'],
    [sets > 1, `--sets ${sets}`],
  ];
  return `mayhap plan ${words.filter(([is]) => is).map(([, word]) => word).join(' ')}`;
}

/** Whether the keys and the rate alone make a filter of the same size. */
function isOf(library, needs, { kind, items, targetFpp, numBits }) {
  if (needs.maxBytes === null) return true;
  const given = { ...needs, items, fpp: targetFpp, maxBytes: null };
  return library.plan(given).candidates.some((other) => other.kind === kind && other.numBits === numBits);
}
