// Numbers over time, with axes: clock times below, three or four values at the left.

const NS = 'http://www.w3.org/2000/svg';
const HEIGHT = 190;
const LEFT = 64;
/** Values of an axis that would not fit there. */
const millions = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const RIGHT = 14;
const TOP = 16;
const BOTTOM = 24;
const HOUR_MS = 3_600_000;
const LEAST_MS = 30_000;
/** Steps of the clock, and the room that each takes at least, in pixels. */
const STEPS = [10, 30, 60, 120, 300, 600, 900, 1800].map((seconds) => seconds * 1000);
const STEP_PX = 74;
/** Decades of a logarithmic axis below its top: emptier filters lie at its bottom. */
const MOST_DECADES = 6;

function shape(name, attributes, text) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** The ends of an axis of powers of ten, and its ticks. */
function decades(values) {
  const positive = values.filter((value) => value > 0);
  const high = positive.length ? Math.ceil(Math.log10(Math.max(...positive)) - 1e-9) : 0;
  const least = positive.length ? Math.floor(Math.log10(Math.min(...positive)) + 1e-9) : -2;
  const low = Math.min(high - 1, Math.max(least, high - MOST_DECADES));
  const step = Math.ceil((high - low) / 3);
  const ticks = [];
  for (let at = high; at >= low; at -= step) ticks.push(10 ** at);
  return { ticks, place: (value) => (value > 0 ? Math.max(0, (Math.log10(value) - low) / (high - low)) : 0) };
}

/** The same from 0 on, in steps of 1, 2 or 5. */
function evenly(values) {
  const most = Math.max(...values, 1);
  const rough = most / 3;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((times) => times * unit).find((found) => found >= rough));
  const top = Math.ceil(most / step) * step;
  return { ticks: Array.from({ length: top / step + 1 }, (_, i) => i * step), place: (value) => value / top };
}

function clock(at, step) {
  const options = { hour: '2-digit', minute: '2-digit', ...(step < 60_000 ? { second: '2-digit' } : {}) };
  return new Date(at).toLocaleTimeString('en-GB', options);
}

/**
 * A chart of samples `[time, value]`. `write` is a value as text, `limit` the name of a dashed line,
 * `isLog` whether the axis is of powers of ten.
 */
export function makeChart({ title, write, limit, isLog = false }) {
  const svg = shape('svg', { role: 'img', height: HEIGHT });
  const caption = document.createElement('figcaption');
  caption.textContent = title;
  const figure = document.createElement('figure');
  figure.append(caption, svg);
  let samples = [];
  let bound;

  function draw() {
    const width = Math.max(240, figure.clientWidth || 640);
    svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    svg.setAttribute('width', width);
    if (!samples.length) return;
    const [last, value] = samples.at(-1);
    const first = Math.min(samples[0][0], last - LEAST_MS);
    const [inner, deep] = [width - LEFT - RIGHT, HEIGHT - TOP - BOTTOM];
    const values = samples.map(([, y]) => y);
    const { ticks, place } = (isLog ? decades : evenly)(bound ? [...values, bound] : values);
    const x = (at) => LEFT + (inner * (at - first)) / (last - first);
    const y = (of) => TOP + deep * (1 - place(of));
    const parts = [shape('title', {}, '')];
    for (const tick of ticks) {
      parts.push(shape('line', { class: 'grid', x1: LEFT, x2: LEFT + inner, y1: y(tick), y2: y(tick) }),
        shape('text', { x: LEFT - 8, y: y(tick) + 4, 'text-anchor': 'end' },
          tick < 1e6 ? write(tick) : millions.format(tick)));
    }
    const step = STEPS.find((found) => (inner * found) / (last - first) >= STEP_PX) ?? STEPS.at(-1);
    for (let at = Math.ceil(first / step) * step; at <= last; at += step) {
      parts.push(shape('line', { class: 'tick', x1: x(at), x2: x(at), y1: TOP + deep, y2: TOP + deep + 5 }));
      if (x(at) > LEFT + 20 && x(at) < width - 20) {
        parts.push(shape('text', { x: x(at), y: HEIGHT - 5, 'text-anchor': 'middle' }, clock(at, step)));
      }
    }
    const text = [`${title}, now ${write(value)}`];
    if (bound) {
      // The label is below its line where the line is at the top.
      const label = y(bound) < TOP + 14 ? y(bound) + 15 : y(bound) - 5;
      parts.push(shape('line', { class: 'limit', x1: LEFT, x2: LEFT + inner, y1: y(bound), y2: y(bound) }),
        shape('text', { class: 'limit', x: LEFT + 6, y: label }, `${limit} ${write(bound)}`));
      text.push(`${limit} ${write(bound)}`);
    }
    text.push(`from ${clock(first, 0)} to ${clock(last, 0)}`);
    parts.push(shape('polyline', { points: samples.map(([at, of]) => `${x(at).toFixed(1)},${y(of).toFixed(1)}`).join(' ') }),
      shape('circle', { cx: x(last), cy: y(value), r: 3.5 }));
    parts[0].textContent = text.join('; ');
    svg.setAttribute('aria-label', text.join('; '));
    svg.replaceChildren(...parts);
  }
  new ResizeObserver(draw).observe(figure);

  return {
    element: figure,
    /** Samples of before this page was opened, oldest first. */
    before(list) {
      const [first] = samples[0] ?? [Infinity];
      samples = [...list.filter(([at, value]) => at < first && Number.isFinite(value)), ...samples];
      draw();
    },
    put(at, value, newBound) {
      bound = newBound;
      if (Number.isFinite(value)) samples.push([at, value]);
      while (samples.length > 2 && samples[1][0] <= at - HOUR_MS) samples.shift();
      figure.hidden = samples.length === 0;
      draw();
    },
  };
}
