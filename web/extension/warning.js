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
  // By the page itself: whether the listed one is in the history depends on how fast it was.
  api.runtime.sendMessage({ back: true });
});
document.getElementById('on').addEventListener('click', async () => {
  await api.runtime.sendMessage({ allow: url });
  if (/^https?:/.test(url)) location.replace(url);
});
