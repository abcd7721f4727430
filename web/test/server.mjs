// Shared parts of the tests of the dashboard: a server of filters, and commands for it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { root } from './browser.mjs';

export const binary = process.env.MAYHAP
  ?? `${process.env.CARGO_TARGET_DIR ?? `${root}target`}/debug/mayhap`;
/** The folder of the screenshots. */
export const shots = process.env.SCREENS ?? `${root}target/web/screens/`;
mkdirSync(shots, { recursive: true });

/** A server on these ports, or on free ones; `stop` ends it. */
export async function serveFilters(options = [], ports = { redis: 0, http: 0 }) {
  const server = spawn(binary, ['serve', '--port', String(ports.redis), '--http', String(ports.http), ...options],
    { stdio: ['ignore', 'ignore', 'pipe'] });
  const found = {};
  const lines = [];
  for await (const line of createInterface({ input: server.stderr })) {
    lines.push(line);
    const [, what, port] = /(Redis clients|HTTP): \S*?:(\d+)\b/.exec(line) ?? [];
    if (what) found[what === 'HTTP' ? 'http' : 'redis'] = Number(port);
    if (found.http && found.redis) break;
  }
  assert.ok(found.http && found.redis, lines.join('\n'));
  server.stderr.resume();
  const ended = new Promise((done) => server.once('exit', done));
  const stop = async (signal = 'SIGTERM') => {
    server.kill(signal);
    await ended;
  };
  return { ...found, url: `http://127.0.0.1:${found.http}`, pid: server.pid, stop };
}

/** Sends commands in one pipeline, and waits for the last reply; a word may be bytes. */
export async function commands(port, list) {
  const bulk = (word) => {
    const bytes = Buffer.isBuffer(word) ? word : Buffer.from(String(word));
    return Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')]);
  };
  const socket = connect(port, '127.0.0.1');
  socket.write(Buffer.concat([...list, ['ECHO', 'all done']].map((words) =>
    Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...words.map(bulk)]))));
  let text = '';
  for await (const data of socket) {
    text += data;
    if (text.endsWith('$8\r\nall done\r\n')) break;
  }
  socket.destroy();
  return text;
}
