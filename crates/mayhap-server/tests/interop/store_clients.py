"""What redis-py's `bf()` does on filters in a store, in both versions of the protocol:
store_clients.py PORT NODES"""
import asyncio
import importlib.metadata
import sys

import redis
import redis.asyncio

PORT = int(sys.argv[1])
NODES = [int(port) for port in sys.argv[2].split()]


def flush():
    for port in NODES:
        with redis.Redis(port=port) as node:
            node.flushall()


def refused(words, call):
    try:
        answer = call()
    except redis.ResponseError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"{words}: {answer}")


def check(client):
    bf = client.bf()
    assert client.ping()
    assert bf.create("f", 0.001, 5000) in (True, b"OK")
    assert bf.reserve("fixed", 1e-6, 2, noScale=True)
    assert bf.add("f", "a") == 1 and bf.add("f", "a") == 0
    assert bf.add("f", b"\x00\xff\r\n") == 1 and bf.exists("f", b"\x00\xff\r\n") == 1
    assert bf.madd("f", "a", "b", "ü") == [0, 1, 1]
    assert bf.insert("made", ["a", "b", "a"], capacity=3000, error=0.001) == [1, 1, 0]
    assert bf.insert("made", ["b", "c"], noCreate=True) == [0, 1]
    assert bf.insert("x", ["a"], capacity=1000, noScale=True) == [1]
    assert bf.exists("f", "a") == 1 and bf.exists("f", "c") == 0
    assert bf.mexists("f", "a", "b", "c") == [1, 1, 0]
    assert bf.card("f") == 4 and bf.card("made") == 3

    info = bf.info("f")
    if isinstance(info, dict):
        names = {n.decode() if isinstance(n, bytes) else n: v for n, v in info.items()}
        assert list(names) == ["Capacity", "Size", "Number of filters",
                               "Number of items inserted", "Expansion rate"], names
        told = list(names.values())
    else:
        told = [info.capacity, info.size, info.filterNum, info.insertedNum, info.expansionRate]
    assert told[0] == 5000 and told[1] > 7000 and told[2:] == [1, 4, None], told

    refused("item exists", lambda: bf.create("f", 0.001, 5000))
    refused("error rate must be in the range", lambda: bf.create("g", 2, 5000))
    for call in [
        # What was never created, or is lost.
        lambda: bf.add("nothing", "a"),
        lambda: bf.madd("nothing", "a", "b"),
        lambda: bf.insert("nothing", ["a"]),
        lambda: bf.insert("nothing", ["a"], noCreate=True),
        lambda: bf.exists("nothing", "a"),
        lambda: bf.mexists("nothing", "a", "b"),
        lambda: bf.card("nothing"),
        lambda: bf.info("nothing"),
    ]:
        refused("not found; filters in a store do not grow", call)
    refused("EXPANSION is not for filters in a store", lambda: bf.create("g", 0.1, 9, expansion=2))
    for name, call in [
        ("bf.scandump", lambda: bf.scandump("f", 0)),
        ("bf.loadchunk", lambda: bf.loadchunk("g", 5, b"abc")),
        ("cf.add", lambda: client.cf().add("f", "a")),
        ("randomkey", client.randomkey),
        # What a pipeline is by default.
        ("exec", client.pipeline().bf().add("f", "a").execute),
    ]:
        refused(f"'{name}' is not served for filters in a store", call)

    assert bf.create("p", 1e-6, 1000)
    pipe = client.pipeline(transaction=False)
    for i in range(1000):
        pipe.bf().add("p", i)
    pipe.bf().exists("p", 7)
    pipe.bf().card("p")
    answers = pipe.execute()
    assert len(answers) == 1002 and sum(answers[:1000]) == 1000, sum(answers[:1000])
    assert answers[1000] == 1 and abs(answers[1001] - 1000) < 20, answers[1001]
    pipe = client.pipeline(transaction=False)
    pipe.execute_command("BF.ADD", "p", "x")
    pipe.execute_command("BF.RESERVE", "p", 0.01, 10)
    pipe.execute_command("BF.EXISTS", "p", "x")
    answers = pipe.execute(raise_on_error=False)
    assert answers[0] == 1 and answers[2] == 1 and "item exists" in str(answers[1]), answers

    names = {"f", "fixed", "made", "x", "p"}
    assert {name.decode() for name in client.scan_iter("*", count=2)} == names
    assert [name for name in client.scan_iter("mad*", _type="MBbloom--")] == [b"made"]
    assert set(client.keys()) == {name.encode() for name in names}
    assert client.dbsize() == len(names) and client.type("f") == b"MBbloom--"
    assert client.ttl("f") == -1 and client.ttl("nothing") == -2
    assert client.expire("f", 100) and 0 < client.ttl("f") <= 100
    assert client.persist("f") and client.ttl("f") == -1 and not client.expire("nothing", 100)
    assert client.exists("f", "nothing", "p") == 2
    assert client.delete("f", "nothing") == 1 and client.unlink("p") == 1
    assert client.exists("f", "p") == 0
    assert client.info("server")["store"].startswith("redis+cluster://")
    assert client.client_setname("me") and client.client_getname() in ("me", b"me")
    client.close()


async def check_async(client):
    bf = client.bf()
    assert await bf.create("g", 1e-6, 1000)
    # As many at once as it has connections.
    added = await asyncio.gather(*(bf.add("g", i) for i in range(50)))
    assert sum(added) == 50
    assert await bf.mexists("g", *range(51)) == [1] * 50 + [0]
    async with client.pipeline(transaction=False) as pipe:
        for i in range(10):
            pipe.execute_command("BF.EXISTS", "g", i)
        assert await pipe.execute() == [1] * 10
    await client.aclose()


for options in ({"protocol": 2}, {"protocol": 3}, {}):
    flush()
    check(redis.Redis(port=PORT, **options))
    asyncio.run(check_async(redis.asyncio.Redis(port=PORT, **options)))
print(f"redis-py {importlib.metadata.version('redis')}, a front of a cluster: RESP2 and RESP3, "
      "plain and async")
