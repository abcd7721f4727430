"""Filters on servers, for the tasks of an event loop."""

import asyncio

import numpy
import pytest

import mayhap_bloom
from mayhap_bloom import ServerError, aio


class Counted:
    """A filter that counts its calls."""

    def __init__(self, remote):
        self.remote, self.calls = remote, 0

    def add_many(self, keys):
        self.calls += 1
        return self.remote.add_many(keys)

    def contains_many(self, keys):
        self.calls += 1
        return self.remote.contains_many(keys)


@pytest.mark.parametrize("name", ["redis", "mayhap_server"])
def test_every_call_is_awaited(name, request):
    url = f"{request.getfixturevalue(name)}/0/aio"

    async def main():
        async with await aio.create(url, 10_000, 1e-9) as seen:
            assert await seen.add("a") and not await seen.add("a")
            assert await seen.contains("a") and not await seen.contains("z")
            assert await seen.add_many(["a", "b"]) == [False, True]
            assert (await seen.add_many(numpy.array([1, 1]))).tolist() == [True, False]
            await seen.update(["c"], ["d"])
            assert await seen.count_many(["a", "b", "c", "d", 1, "z"]) == 5
            assert await seen.contains_many(("d", "z")) == [True, False]
            assert await seen.count() == 5 and await seen.fpp() < 1e-6
            assert await seen.health() == "ok" and await seen.ttl() is None
            await seen.expire(1000)
            assert await seen.ttl() > 900 and url in repr(seen)
            with pytest.raises((ServerError, TypeError)):
                await seen.remove("a")
            await seen.clear()
            other = await aio.open(url, timeout=10)
            assert not await other.contains("a") and await other.delete()
            with pytest.raises(ServerError):
                await seen.add("a")
            other.close()
        with pytest.raises(FileNotFoundError):
            await aio.open(url)
        with pytest.raises(ValueError, match="is not the URL"):
            await aio.open("seen.mayhap")

    asyncio.run(main())


def test_single_keys_of_many_tasks_go_together(redis):
    async def main():
        counted = Counted(mayhap_bloom.create(f"{redis}/0/together", 10_000, 1e-9))
        async with aio.Remote(counted) as seen:
            keys = [f"key-{i % 1500}" for i in range(2000)]
            new = await asyncio.gather(*(seen.add(key) for key in keys))
            # Of two insertions of a key, one is new.
            twice = [new[i] + new[i + 1500] for i in range(500)]
            assert twice == [1] * 500 and all(new[500:1500])
            found = await asyncio.gather(*(seen.contains(key) for key in [*keys, "z"]))
            assert found == [True] * 2000 + [False]
            assert counted.calls == 2

    asyncio.run(main())


def test_what_is_no_key_fails_alone(redis):
    async def main():
        async with await aio.create(f"{redis}/0/alone", 10_000, 1e-9) as seen:
            keys = ["a", 1.5, "b", 2**64, "\ud800", "a"]
            answers = await asyncio.gather(*map(seen.add, keys), return_exceptions=True)
            assert [answers[i] for i in (0, 2, 5)] == [True, True, False]
            kinds = [TypeError, OverflowError, UnicodeEncodeError]
            assert [type(answers[i]) for i in (1, 3, 4)] == kinds
            cancelled = asyncio.ensure_future(seen.add("cancelled"))
            await asyncio.sleep(0)
            cancelled.cancel()
            assert await seen.add("c") and await seen.contains("a")
            await seen.delete()
            answers = await asyncio.gather(*map(seen.add, "xyz"), return_exceptions=True)
            assert [type(answer) for answer in answers] == [ServerError] * 3

    asyncio.run(main())


def test_the_loop_goes_on_while_a_call_waits(redis):
    # Tasks of the same loop are between the filter and its server.
    async def forward(reader, writer):
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    async def main():
        ended = []

        async def serve(reader, writer):
            behind = await asyncio.open_connection("127.0.0.1", int(redis.rpartition(":")[2]))
            both = asyncio.gather(forward(reader, behind[1]), forward(behind[0], writer))
            ended.append((both, behind[1], writer))

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        seen = await aio.create(f"redis://127.0.0.1:{port}/0/loop", 1000, 1e-9, timeout=20)
        assert await seen.add("a") and await seen.contains("a")
        assert "a" in mayhap_bloom.open(f"{redis}/0/loop")
        seen.close()
        server.close()
        for both, *writers in ended:
            for writer in writers:
                writer.close()
            await asyncio.gather(both, return_exceptions=True)
            for writer in writers:
                await writer.wait_closed()

    asyncio.run(main())
