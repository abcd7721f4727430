// node-redis with its bloom module, and ioredis, against `mayhap serve`: clients.mjs PORT
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';

// From the folder in which npm has put them.
const require = createRequire(path.join(process.cwd(), 'clients.cjs'));
const { createClient, RESP_TYPES } = require('redis');
const Redis = require('ioredis');
const version = (name) => require(`${name}/package.json`).version;
const port = Number(process.argv[2]);
const range = (n, prefix = '') => Array.from({ length: n }, (_, i) => `${prefix}${i}`);

async function nodeRedis(RESP) {
  const client = await createClient({ socket: { port }, RESP }).connect();
  // Chunks are bytes.
  const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  await client.flushAll();
  const { bf } = client;
  assert.equal(await bf.reserve('f', 0.001, 5000), 'OK');
  assert.equal(await bf.reserve('scaling', 0.01, 100, { EXPANSION: 4 }), 'OK');
  assert.equal(await bf.reserve('fixed', 0.01, 100, { NONSCALING: true }), 'OK');
  assert.equal(await bf.add('f', 'a'), true);
  assert.equal(await bf.add('f', 'a'), false);
  assert.deepEqual(await bf.mAdd('f', ['a', 'b']), [false, true]);
  assert.equal(await bf.exists('f', 'a'), true);
  assert.deepEqual(await bf.mExists('f', ['a', 'b', 'c']), [true, true, false]);
  assert.deepEqual(await bf.insert('made', ['a', 'b'], { CAPACITY: 3000, ERROR: 0.001 }), [true, true]);
  await assert.rejects(bf.insert('nothing', ['a'], { NOCREATE: true }), /not found/);
  await assert.rejects(bf.reserve('f', 0.01, 10), /item exists/);
  assert.equal(await bf.card('f'), 2);
  const info = { ...(await bf.info('f')) };
  assert.ok(info.Size > 7000);
  assert.deepEqual({ ...info, Size: 0 }, {
    Capacity: 5000, Size: 0, 'Number of filters': 1, 'Number of items inserted': 2, 'Expansion rate': 2,
  });

  const members = range(3000, 'member ');
  const strangers = range(5000, 'stranger ');
  await bf.reserve('large', 0.01, 200000);
  // A small filter is one chunk.
  for (const [name, copy, isSmall] of [['large', 'copy of it', false], ['scaling', 'copy', true]]) {
    await bf.mAdd(name, members);
    for (let at = 0, chunks = 0; ; chunks++) {
      const { iterator, chunk } = await bytes.bf.scanDump(name, at);
      if (iterator === 0) {
        assert.ok(isSmall ? chunks === 1 : chunks >= 2, `${name}: ${chunks}`);
        break;
      }
      assert.equal(String(await bytes.bf.loadChunk(copy, iterator, chunk)), 'OK');
      at = iterator;
    }
    assert.ok((await bf.mExists(copy, members)).every(Boolean));
    assert.deepEqual(await bf.mExists(copy, strangers), await bf.mExists(name, strangers));
  }
  await client.del(['large', 'copy of it']);

  // MULTI, and a pipeline without.
  for (const end of ['exec', 'execAsPipeline']) {
    const multi = client.multi();
    for (const item of range(1000)) multi.bf.add(`p ${end}`, item);
    multi.bf.card(`p ${end}`);
    const answers = await multi[end]();
    assert.equal(answers.length, 1001);
    assert.equal(answers[1000], answers.slice(0, 1000).filter(Boolean).length);
    assert.ok(answers[1000] > 980);
  }
  await assert.rejects(client.multi().set('a', 'b').exec());
  // All at once.
  const added = await Promise.all(range(1000).map((item) => bf.add('many', item)));
  assert.ok(added.filter(Boolean).length > 980);
  const names = [];
  for await (const page of client.scanIterator()) names.push(...page);
  assert.equal(names.length, await client.dbSize());
  await client.close();
}

async function nodeRedisCuckoo(RESP) {
  const client = await createClient({ socket: { port }, RESP }).connect();
  const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  await client.flushAll();
  const { cf } = client;
  assert.equal(await cf.reserve('f', 1000), 'OK');
  assert.equal(await cf.reserve('all', 1000, { BUCKETSIZE: 8, MAXITERATIONS: 20, EXPANSION: 2 }), 'OK');
  assert.equal(await cf.reserve('full', 4, { EXPANSION: 0 }), 'OK');
  assert.equal(await cf.add('f', 'a'), true);
  assert.equal(await cf.add('f', 'a'), true);
  assert.equal(await cf.addNX('f', 'a'), false);
  assert.equal(await cf.addNX('f', 'b'), true);
  assert.equal(await cf.count('f', 'a'), 2);
  assert.equal(await cf.exists('f', 'a'), true);
  assert.equal(await cf.exists('f', 'c'), false);
  assert.equal(await cf.del('f', 'b'), true);
  assert.equal(await cf.del('f', 'b'), false);
  assert.deepEqual(await cf.insert('made', ['a', 'b'], { CAPACITY: 3000 }), [true, true]);
  assert.deepEqual((await cf.insertNX('made', ['a', 'c'])).map(Number), [0, 1]);
  await assert.rejects(cf.insert('nothing', ['a'], { NOCREATE: true }), /not found/);
  await assert.rejects(cf.reserve('f', 1000), /item exists/);
  await assert.rejects(cf.del('nothing', 'a'), /Not found/);
  await cf.insert('full', ['1', '2', '3', '4']);
  await assert.rejects(cf.add('full', '5'), /Filter is full/);
  const info = { ...(await cf.info('f')) };
  assert.deepEqual({ ...info, Size: 0, 'Number of buckets': 0 }, {
    Size: 0, 'Number of buckets': 0, 'Number of filters': 1, 'Number of items inserted': 2,
    'Number of items deleted': 1, 'Bucket size': 2, 'Expansion rate': 1, 'Max iterations': 20,
  });
  for (let at = 0; ; ) {
    const { iterator, chunk } = await bytes.cf.scanDump('f', at);
    if (iterator === 0) break;
    assert.equal(String(await bytes.cf.loadChunk('copy', iterator, chunk)), 'OK');
    at = iterator;
  }
  assert.equal(await cf.count('copy', 'a'), 2);
  await client.close();
}

async function ioRedis() {
  const client = new Redis(port);
  await client.flushall();
  assert.equal(await client.call('BF.RESERVE', 'f', '0.001', '5000'), 'OK');
  assert.equal(await client.call('BF.ADD', 'f', 'a'), 1);
  assert.deepEqual(await client.call('BF.MEXISTS', 'f', 'a', 'b'), [1, 0]);
  for (const batch of [client.pipeline(), client.multi()]) {
    for (const item of range(500)) batch.call('BF.EXISTS', 'f', item);
    const answers = await batch.exec();
    assert.ok(answers.length === 500 && answers.every(([error]) => error === null));
  }
  await assert.rejects(client.call('BF.RESERVE', 'f', '0.001', '5000'), /item exists/);
  const [cursor, bytes] = await client.callBuffer('BF.SCANDUMP', 'f', 0);
  assert.ok(Number(cursor) > 0 && Buffer.isBuffer(bytes));
  await client.quit();
}

await nodeRedis(2);
await nodeRedis(3);
await nodeRedisCuckoo(2);
await nodeRedisCuckoo(3);
await ioRedis();
console.log(`node-redis ${version('redis')}: RESP2 and RESP3; ioredis ${version('ioredis')}`);
