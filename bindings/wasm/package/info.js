// The info of a filter: names for the row of numbers and the lines of text of the module, in the
// order of its `info.rs`.

const TEXTS = ['format', 'kind', 'digest', 'health', 'seed', 'keyOptions'];
const NUMBERS = ['numBytes', 'numBits', 'numHashes', 'expectedItems', 'targetFpp', 'insertedItems',
  'estimatedItems', 'estimatedFpp', 'fillRatio', 'numParts'];

/** The fields by name; a number that is not known is `null`. */
export function named(numbers, text) {
  const lines = text.split('\n');
  const texts = [...lines.slice(0, TEXTS.length - 1), lines.slice(TEXTS.length - 1).join('\n')];
  return Object.fromEntries([
    ...TEXTS.map((name, i) => [name, texts[i]]),
    ...NUMBERS.map((name, i) => [name, Number.isNaN(numbers[i]) ? null : numbers[i]]),
  ]);
}
