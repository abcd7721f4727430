// Asks for the first filters while the rest of the page is on its way.

if (!/^#(filter=|durability|clients|slow)/.test(location.hash)) {
  globalThis.firstFilters = fetch('/v1/filters?limit=200&cursor=0');
  // Whoever takes the answer reports what is wrong with it.
  globalThis.firstFilters.catch(() => {});
}
