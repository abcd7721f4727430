"""All of redis-py's `bf()` and `cf()` against `mayhap serve`, in both versions of the protocol:
clients.py PORT"""
import asyncio
import importlib.metadata
import sys

import redis
import redis.asyncio

PORT = int(sys.argv[1])


def check(client, protocol):
    bf = client.bf()
    client.flushall()
    assert client.ping()
    assert bf.create("f", 0.001, 5000) in (True, b"OK")
    assert bf.reserve("scaling", 0.01, 100, expansion=4)
    assert bf.create("fixed", 1e-6, 2, noScale=True)
    assert bf.add("f", "a") == 1 and bf.add("f", "a") == 0
    assert bf.add("f", b"\x00\xff\r\n") == 1 and bf.exists("f", b"\x00\xff\r\n") == 1
    assert bf.madd("f", "a", "b", "ü") == [0, 1, 1]
    assert bf.insert("made", ["a", "b", "a"], capacity=3000, error=0.001) == [1, 1, 0]
    assert bf.insert("made", ["b", "c"], noCreate=True) == [0, 1]
    assert bf.insert("x1", ["a"], capacity=1000, expansion=3) == [1]
    assert bf.insert("x2", ["a"], capacity=1000, noScale=True) == [1]
    assert bf.exists("f", "a") == 1 and bf.exists("f", "c") == 0
    assert bf.mexists("f", "a", "b", "c") == [1, 1, 0]
    assert bf.exists("nothing", "a") == 0 and bf.mexists("nothing", "a", "b") == [0, 0]
    assert bf.card("f") == 4 and bf.card("nothing") == 0

    info = bf.info("f")
    get = info.get
    if isinstance(info, dict):
        names = {n.decode() if isinstance(n, bytes) else n: v for n, v in info.items()}
        assert list(names) == ["Capacity", "Size", "Number of filters",
                               "Number of items inserted", "Expansion rate"], names
        told = list(names.values())
    else:
        told = [info.capacity, info.size, info.filterNum, info.insertedNum, info.expansionRate]
    assert told[0] == 5000 and told[1] > 7000 and told[2:] == [1, 4, 2], told

    for call, words in [
        (lambda: bf.create("f", 0.001, 5000), "item exists"),
        (lambda: bf.insert("nothing", ["a"], noCreate=True), "not found"),
        (lambda: bf.info("nothing"), "not found"),
        (lambda: bf.create("g", 2, 5000), "error rate must be in the range"),
        (lambda: bf.loadchunk("g", 5, b"abc"), "not found"),
    ]:
        try:
            call()
            raise AssertionError(words)
        except redis.ResponseError as error:
            assert words in str(error), error
    answers = bf.madd("fixed", "a", "b", "c", "d")
    assert answers[:2] == [1, 1] and isinstance(answers[2], redis.ResponseError), answers

    # Dumped and loaded, chunk by chunk; a small filter is one.
    members = [f"member {i}" for i in range(3000)]
    strangers = [f"stranger {i}" for i in range(5000)]
    bf.create("large", 0.01, 200000)
    for name, copy, most in [("large", "copy of it", None), ("scaling", "copy", 1)]:
        bf.madd(name, *members)
        cursor, chunks = 0, 0
        while True:
            cursor, data = bf.scandump(name, cursor)
            if cursor == 0:
                break
            bf.loadchunk(copy, cursor, data)
            chunks += 1
        assert chunks == most if most else chunks >= 2, chunks
        assert all(bf.mexists(copy, *members))
        assert bf.mexists(copy, *strangers) == bf.mexists(name, *strangers)
    client.delete("large", "copy of it")

    # What is made a transaction by default, and what is not.
    for transaction in (True, False):
        client.delete("p")
        pipe = client.pipeline(transaction=transaction)
        for i in range(1000):
            pipe.bf().add("p", i)
        pipe.bf().exists("p", 7)
        pipe.bf().card("p")
        answers = pipe.execute()
        assert len(answers) == 1002 and sum(answers[:1000]) > 980, sum(answers[:1000])
        assert answers[1000] == 1 and answers[1001] == sum(answers[:1000])
    pipe = client.pipeline()
    pipe.execute_command("BF.ADD", "p", "x")
    pipe.execute_command("BF.RESERVE", "p", 0.01, 10)
    pipe.execute_command("BF.EXISTS", "p", "x")
    answers = pipe.execute(raise_on_error=False)
    assert answers[0] == 1 and answers[2] == 1 and "item exists" in str(answers[1]), answers
    pipe = client.pipeline()
    pipe.set("a", "b")
    try:
        pipe.execute()
        raise AssertionError("SET")
    except redis.ResponseError as error:
        assert "unknown command" in str(error), error

    names = {"f", "scaling", "fixed", "made", "x1", "x2", "copy", "p"}
    assert {name.decode() for name in client.scan_iter("*")} == names
    assert client.exists("f") == 1 and client.type("f") == b"MBbloom--"
    assert client.expire("f", 100) and 0 < client.ttl("f") <= 100
    assert client.rename("f", "g") and client.delete("g", "nothing") == 1
    assert client.info("server") and client.dbsize() == len(names) - 1
    assert client.client_setname("me") and client.client_getname() in ("me", b"me")
    assert client.config_get("bf-error-rate")
    client.close()


def fields(info):
    """The values of `CF.INFO`, whatever a version of the client makes of it."""
    if isinstance(info, dict):
        info = {n.decode() if isinstance(n, bytes) else n: v for n, v in info.items()}
        assert list(info) == ["Size", "Number of buckets", "Number of filters",
                              "Number of items inserted", "Number of items deleted",
                              "Bucket size", "Expansion rate", "Max iterations"], list(info)
        return list(info.values())
    return [info.size, info.bucketNum, info.filterNum, info.insertedNum, info.deletedNum,
            info.bucketSize, info.expansionRate, info.maxIteration]


def check_cuckoo(client):
    cf = client.cf()
    client.flushall()
    assert cf.create("f", 1000) in (True, b"OK")
    assert cf.reserve("all", 1000, bucket_size=8, max_iterations=20, expansion=1)
    assert cf.create("full", 4, expansion=0)
    assert cf.add("f", "a") == 1 and cf.add("f", "a") == 1
    assert cf.addnx("f", "a") == 0 and cf.addnx("f", b"\x00\xff\r\n") == 1
    assert cf.insert("made", ["foo"]) == [1] and cf.insert("made", ["foo"], capacity=1000) == [1]
    assert cf.insertnx("made", ["bar"]) == [1] and cf.insertnx("made", ["x"], nocreate="1") == [1]
    assert cf.insertnx("made", ["foo", "bar", "baz"]) == [0, 0, 1]
    assert cf.exists("f", "a") == 1 and cf.exists("f", "b") == 0
    assert cf.mexists("f", "a", "b") == [1, 0]
    assert cf.count("f", "a") == 2 and cf.count("f", "b") == 0 and cf.count("nothing", "a") == 0
    assert cf.delete("f", "a") == 1 and cf.count("f", "a") == 1
    assert cf.delete("f", "a") == 1 and cf.delete("f", "a") == 0 and cf.exists("f", "a") == 0
    told = fields(cf.info("made"))
    assert told[0] > 1000 and told[1] > 10 and told[2:] == [1, 5, 0, 2, 1, 20], told
    assert fields(cf.info("f"))[3:5] == [1, 2]
    assert cf.insertnx("full", ["1", "2", "3", "4", "5", "1"]) == [1, 1, 1, 1, -1, 0]
    assert cf.insert("full", ["6", "7"]) in ([-1, -1], [False, False])

    for call, words in [
        (lambda: cf.create("f", 1000), "item exists"),
        (lambda: cf.create("g", 1), "Capacity must be in the range"),
        (lambda: cf.create("g", 1000, bucket_size=256), "BUCKETSIZE: value must be"),
        (lambda: cf.insert("nothing", ["a"], nocreate="1"), "not found"),
        (lambda: cf.info("nothing"), "not found"),
        (lambda: cf.delete("nothing", "a"), "Not found"),
        (lambda: cf.add("full", "5"), "Filter is full"),
        (lambda: cf.loadchunk("g", 1, b"abc"), "Invalid header"),
    ]:
        try:
            call()
            raise AssertionError(words)
        except redis.ResponseError as error:
            assert words in str(error), error

    # It doubles itself, and moves.
    members = [f"member {i}" for i in range(10000)]
    assert all(answer == 1 for answer in cf.insert("grown", members))
    cursor = 0
    while True:
        cursor, data = cf.scandump("grown", cursor)
        if cursor == 0:
            break
        cf.loadchunk("copy", cursor, data)
    assert all(cf.mexists("copy", *members)) and cf.count("copy", "member 1") == 1
    client.close()


async def check_async(client):
    await client.flushall()
    assert await client.bf().add("f", "a") == 1
    # As many at once as it has connections.
    assert await client.cf().add("c", "a") == 1 and await client.cf().count("c", "a") == 1
    added = await asyncio.gather(*(client.bf().add("g", i) for i in range(50)))
    assert sum(added) > 45
    async with client.pipeline() as pipe:
        for i in range(10):
            pipe.execute_command("BF.EXISTS", "g", i)
        assert await pipe.execute() == [1] * 10
    await client.aclose()


for protocol in (2, 3):
    check(redis.Redis(port=PORT, protocol=protocol), protocol)
    check_cuckoo(redis.Redis(port=PORT, protocol=protocol))
    asyncio.run(check_async(redis.asyncio.Redis(port=PORT, protocol=protocol)))
check(redis.Redis(port=PORT), None)
check_cuckoo(redis.Redis(port=PORT))
print(f"redis-py {importlib.metadata.version('redis')}: RESP2 and RESP3, plain and async")
