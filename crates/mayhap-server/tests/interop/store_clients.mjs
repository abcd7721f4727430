// node-redis with its bloom module on filters in a store: store_clients.mjs PORT
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';

// From the folder in which npm has put them.
const require = createRequire(path.join(process.cwd(), 'clients.cjs'));
const { createClient } = require('redis');
const port = Number(process.argv[2]);
const range = (n) => Array.from({ length: n }, (_, i) => `${i}`);
const notFound = /not found; filters in a store do not grow/;

async function nodeRedis(RESP) {
  const client = await createClient({ socket: { port }, RESP }).connect();
  const { bf } = client;
  const left = await client.keys('*');
  if (left.length > 0) await client.del(left);
  assert.equal(await bf.reserve('f', 0.001, 5000), 'OK');
  assert.equal(await bf.reserve('fixed', 0.01, 100, { NONSCALING: true }), 'OK');
  assert.equal(await bf.add('f', 'a'), true);
  assert.equal(await bf.add('f', 'a'), false);
  assert.deepEqual(await bf.mAdd('f', ['a', 'b']), [false, true]);
  assert.equal(await bf.exists('f', 'a'), true);
  assert.deepEqual(await bf.mExists('f', ['a', 'b', 'c']), [true, true, false]);
  assert.deepEqual(await bf.insert('made', ['a', 'b'], { CAPACITY: 3000, ERROR: 0.001 }), [true, true]);
  assert.deepEqual(await bf.insert('made', ['b', 'c'], { NOCREATE: true }), [false, true]);
  assert.equal(await bf.card('f'), 2);
  const info = { ...(await bf.info('f')) };
  assert.ok(info.Size > 7000);
  assert.deepEqual({ ...info, Size: 0 }, {
    Capacity: 5000, Size: 0, 'Number of filters': 1, 'Number of items inserted': 2, 'Expansion rate': null,
  });
  await assert.rejects(bf.reserve('f', 0.01, 10), /item exists/);
  for (const request of [bf.add('nothing', 'a'), bf.exists('nothing', 'a'), bf.card('nothing'), bf.info('nothing')]) {
    await assert.rejects(request, notFound);
  }
  await assert.rejects(bf.reserve('g', 0.01, 100, { EXPANSION: 4 }), /EXPANSION is not for filters in a store/);
  await assert.rejects(bf.scanDump('f', 0), /'bf.scandump' is not served for filters in a store/);
  await assert.rejects(client.multi().bf.add('f', 'a').exec());

  assert.equal(await bf.reserve('p', 1e-6, 5000), 'OK');
  const multi = client.multi();
  for (const item of range(1000)) multi.bf.add('p', item);
  assert.deepEqual(await multi.execAsPipeline(), range(1000).map(() => true));
  // All at once.
  const found = await Promise.all(range(1001).map((item) => bf.exists('p', item)));
  assert.equal(found.filter(Boolean).length, 1000);
  const names = [];
  for await (const page of client.scanIterator({ COUNT: 2 })) names.push(...page);
  assert.deepEqual(names.sort(), ['f', 'fixed', 'made', 'p']);
  assert.equal(await client.dbSize(), 4);
  assert.equal(await client.type('f'), 'MBbloom--');
  assert.equal(await client.expire('f', 1000), 1);
  assert.ok((await client.ttl('f')) > 900);
  assert.equal(await client.persist('f'), 1);
  assert.equal(await client.exists(['f', 'p', 'nothing']), 2);
  assert.equal(await client.unlink(['f', 'fixed', 'made', 'p']), 4);
  await client.close();
}

await nodeRedis(2);
await nodeRedis(3);
console.log(`node-redis ${require('redis/package.json').version}, a front of a cluster: RESP2 and RESP3`);
