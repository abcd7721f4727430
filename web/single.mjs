// Writes the explorer as one file: its scripts and its style stand in the page, and its policy allows
// these alone, by their hashes. Usage: node single.mjs FOLDER

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const read = (name) => readFileSync(join(process.argv[2], name), 'utf8');
const hashOf = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const scripts = [];
const inline = (name) => {
  const text = read(name);
  if (/<\/script|<!--/i.test(text)) throw new Error(`${name} would end its script`);
  scripts.push(text);
  return '';
};
const style = read('style.css');
const page = read('index.html')
  .replace(/<script defer src="(.+)"><\/script>\n/g, (_, name) => inline(name))
  .replace(/<link rel="stylesheet".*>/, () => `<style>${style}</style>`)
  .replace("script-src 'self' file:", () => `script-src ${scripts.map(hashOf).join(' ')}`)
  .replace("style-src 'self' file:", () => `style-src ${hashOf(style)}`)
  .replace("img-src 'self' file: data:", 'img-src data:')
  .replace('</body>', () => scripts.map((text) => `<script>${text}</script>\n`).join('') + '</body>');
for (const left of ['src=', 'href="style', "'self'"]) {
  if (page.slice(0, page.indexOf('<body>')).includes(left)) throw new Error(`the page still has ${left}`);
}
process.stdout.write(page);
