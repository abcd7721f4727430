// Numbers and elements as text. All scripts of the page share the one object `page`.
'use strict';

const page = {};

/** The language of the page: one of `LANGUAGES`. */
page.language = 'en';

/** A text in the language of the page, with these values. */
page.text = (name, ...values) =>
  page.filled(page.TEXTS[name][Object.keys(page.LANGUAGES).indexOf(page.language)], values);

page.filled = (text, values) => text.replace(/\{(\d)\}/g, (_, i) => values[i]);

/** A number as text, with the decimal point of the language. */
page.decimal = (text) => (page.language === 'ru' ? String(text).replace('.', ',') : String(text));

/** A number as it was typed, with a point for a decimal comma: any comma that groups no thousands. */
page.dotted = (text) => text.replace(/\d[\d_,]*(\.\d*)?/g, (number) =>
  (/^(0|(?!\d{1,3}(,\d{3})+$)\d+),\d+$/.test(number) ? number.replace(',', '.') : number));

/** Shows all fixed texts in the language of the page. */
page.translate = () => {
  document.documentElement.lang = page.language;
  document.title = page.text('title');
  for (const place of document.querySelectorAll('[data-t]')) place.textContent = page.text(place.dataset.t);
  for (const place of document.querySelectorAll('[data-label]')) {
    place.setAttribute('aria-label', page.text(place.dataset.label));
  }
};

/** A reason of the planner in the language of the page. */
page.reason = (why) => {
  const language = Object.keys(page.LANGUAGES).indexOf(page.language);
  for (const [pattern, ...texts] of language ? page.REASONS : []) {
    const found = pattern.exec(why);
    if (found) return page.filled(texts[language - 1], found.slice(1).map(page.decimal));
  }
  return why;
};

/** A count: 9,592,957. */
page.count = (number) => Math.round(number).toLocaleString(page.language);

/** Bytes in the largest unit of 1024 that leaves at least 1. */
page.bytes = (number) => {
  const units = [page.text('bytes'), 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  let value = number;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : page.decimal(value.toPrecision(4))} ${units[unit]}`;
};

/** A rate: in per cent down to 0.01 %, then as a power of ten; `–` for null. */
page.rate = (rate) => {
  if (rate === null || Number.isNaN(rate)) return '–';
  if (rate === 0) return '0';
  if (rate >= 1e-4) return `${page.decimal(Number((rate * 100).toPrecision(3)))} %`;
  return page.decimal(Number(rate.toPrecision(3)).toExponential());
};

/** A short number of any size. */
page.short = (number) => page.decimal(Number(number.toPrecision(4)));

/** An element with attributes and children; text is text, whatever it holds. */
page.element = (name, attributes = {}, ...children) => {
  const svg = ['svg', 'path', 'line', 'text', 'title', 'circle', 'rect'].includes(name);
  const element = svg
    ? document.createElementNS('http://www.w3.org/2000/svg', name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.map(nodeOrText));
  return element;
};

function nodeOrText(child) {
  return child instanceof Node ? child : String(child);
}

/** Rows of a definition list. */
page.facts = (rows) => {
  const list = page.element('dl');
  for (const [name, value] of rows) {
    list.append(page.element('dt', {}, name), page.element('dd', {}, value));
  }
  return list;
};

page.byId = (id) => document.getElementById(id);
