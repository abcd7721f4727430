// The warning: the match, a way back, and a way on for users who know better.
'use strict';

const api = globalThis.browser ?? chrome;
let url = '';

/** From one warning to the next only the part after `#` changes: the page is not loaded again. */
function show() {
  const given = new URLSearchParams(location.hash.slice(1));
  url = given.get('url') ?? '';
  for (const name of ['url', 'expression']) {
    document.getElementById(name).textContent = given.get(name) ?? '';
  }
}

show();
addEventListener('hashchange', show);
document.getElementById('back').addEventListener('click', () => {
  // Before this page is the listed one.
  if (history.length > 2) history.go(-2);
  else location.replace('about:blank');
});
document.getElementById('on').addEventListener('click', async () => {
  await api.runtime.sendMessage({ allow: url });
  if (/^https?:/.test(url)) location.replace(url);
});
