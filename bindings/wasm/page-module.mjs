// Writes the classic script of the pages: the JavaScript of the package, the script of the worker as
// text, and the module, gzipped and in base64. Usage: node page-module.mjs FOLDER

import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const folder = process.argv[2];
const worker = readFileSync(`${folder}/raw/page-worker.iife.js`, 'utf8');
const module = gzipSync(readFileSync(`${folder}/raw/page/page.wasm`), { level: 9 });
process.stdout.write(readFileSync(`${folder}/raw/page.iife.js`, 'utf8'));
process.stdout.write(`mayhap.worker=${JSON.stringify(worker)};\n`);
process.stdout.write(`mayhap.embedded="${module.toString('base64')}";\n`);
