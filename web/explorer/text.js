// Numbers and elements as text. All scripts of the page share the one object `page`.
'use strict';

const page = {};

/** A count: 9,592,957. */
page.count = (number) => Math.round(number).toLocaleString('en');

/** Bytes in the largest unit of 1024 that leaves at least 1. */
page.bytes = (number) => {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  let value = number;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toPrecision(4)} ${units[unit]}`;
};

/** A rate: in per cent down to 0.01 %, then as a power of ten; `–` for null. */
page.rate = (rate) => {
  if (rate === null || Number.isNaN(rate)) return '–';
  if (rate === 0) return '0';
  if (rate >= 1e-4) return `${Number((rate * 100).toPrecision(3))} %`;
  return Number(rate.toPrecision(3)).toExponential();
};

/** A short number of any size. */
page.short = (number) => String(Number(number.toPrecision(4)));

/** An element with attributes and children; text is text, whatever it holds. */
page.element = (name, attributes = {}, ...children) => {
  const svg = ['svg', 'path', 'line', 'text', 'title'].includes(name);
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
