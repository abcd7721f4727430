// Lines to copy: the same filter in the shell, Rust, Python and Redis.
'use strict';

page.showLines = (needs, best) => {
  const { element } = page;
  const lines = best ? commands(best) : [];
  page.byId('lines').replaceChildren(...lines.map(([name, text]) => {
    const copy = element('button', { type: 'button' }, 'Copy');
    copy.setAttribute('aria-label', `Copy the line for ${name}`);
    copy.addEventListener('click', async () => {
      await navigator.clipboard.writeText(text);
      copy.textContent = 'Copied';
    });
    return element('div', { class: 'line' }, element('b', {}, name), element('code', {}, text), copy);
  }));
};

function commands({ kind, items, targetFpp }) {
  const fpp = targetFpp.toString();
  const layout = `--layout ${kind}`;
  const shell = kind === 'fuse'
    ? `mayhap build -o seen.mayhap --layout fuse -p ${fpp} keys.txt`
    : `mayhap create seen.mayhap -n ${items} -p ${fpp} ${layout}`;
  const types = {
    blocked: 'BlockedBloomFilter',
    standard: 'BloomFilter',
    compact: 'CompactFilter',
    counting: 'CountingBloomFilter',
  };
  const rust = types[kind]
    && `let filter = mayhap::${types[kind]}::builder()`
    + `.expected_items(${items}).target_fpp(${fpp}).build()?;`;
  const pythons = { compact: 'Compact', counting: 'Counting', scalable: 'Scalable' };
  const reserve = { scalable: '', compact: ' LAYOUT compact', counting: ' COUNTING' };
  const python = ['blocked', 'standard'].includes(kind)
    ? `seen = mayhap_bloom.Bloom(${items}, ${fpp}, layout="${kind}")`
    : pythons[kind] && `seen = mayhap_bloom.${pythons[kind]}(${items}, ${fpp})`;
  return [
    ['shell', shell],
    ['plan', `mayhap plan -n ${items} -p ${fpp}`],
    ...(rust ? [['Rust', rust]] : []),
    ...(python ? [['Python', python]] : []),
    ['redis-cli', `BF.RESERVE seen ${fpp} ${items}${reserve[kind] ?? ' NONSCALING'}`],
  ];
}
