"""Filters on servers for asyncio: the calls of `mayhap_bloom.Remote`, awaited.

    from mayhap_bloom import aio

    async with await aio.open("redis://127.0.0.1:6379/0/seen") as seen:
        if await seen.add("https://example.org/"):
            ...

Each filter has a thread of its own, which waits for the server while the event loop continues.
Single keys of many tasks are coalesced: keys that arrive during a call are sent together in the
next one. A filter is for one event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Self

from . import Remote as _Remote
from . import create as _create
from . import open as _open

__all__ = ["Remote", "create", "open"]

#: The most single keys that are sent together.
AT_ONCE = 4096

#: A call in the filter's thread, with its arguments.
_Run = Callable[[Callable[[list[Any]], list[bool]], list[Any]], Awaitable[list[bool]]]


class _Singles:
    """Single keys of many tasks."""

    def __init__(self, call: Callable[[list[Any]], list[bool]], run: _Run) -> None:
        self._call, self._run = call, run
        self._waiting: list[tuple[Any, asyncio.Future[bool]]] = []
        self._sender: asyncio.Task[None] | None = None

    async def answer(self, key: Any) -> bool:
        """The answer for a key."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, answer))
        if self._sender is None:
            self._sender = asyncio.create_task(self._send())
        return await answer

    async def _send(self) -> None:
        """Sends the waiting keys, and those that arrive meanwhile."""
        try:
            while self._waiting:
                sent, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
                await self._settle(sent)
        finally:
            self._sender = None

    async def _settle(self, sent: list[tuple[Any, asyncio.Future[bool]]]) -> None:
        """Gives each key its answer, or the exception."""
        try:
            answers = await self._run(self._call, [key for key, _ in sent])
        except (TypeError, ValueError, OverflowError) as error:
            if len(sent) > 1:
                # One of them is no key; the others are.
                for one in sent:
                    await self._settle([one])
                return
            _fail(sent, error)
        except Exception as error:
            _fail(sent, error)
        else:
            for (_, answer), found in zip(sent, answers, strict=True):
                # A cancelled task no longer waits.
                if not answer.done():
                    answer.set_result(found)


def _fail(sent: list[tuple[Any, asyncio.Future[bool]]], error: Exception) -> None:
    for _, answer in sent:
        if not answer.done():
            answer.set_exception(error)


class Remote:
    """A filter on a server, for the tasks of an event loop."""

    def __init__(self, remote: _Remote) -> None:
        #: The filter itself, whose calls block.
        self.remote = remote
        self._thread = ThreadPoolExecutor(1, "mayhap")
        self._is_closed = False
        self._inserts = _Singles(remote.add_many, self._run)
        self._queries = _Singles(remote.contains_many, self._run)

    async def _run(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Makes a call in the thread of the filter."""
        if self._is_closed:
            raise RuntimeError("the filter is closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, call, *arguments)

    async def _number(self, name: str) -> Any:
        """A number that the server is queried for."""
        return await self._run(getattr, self.remote, name)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the thread, once the calls under way have ended."""
        self._is_closed = True
        self._thread.shutdown(wait=False)

    async def add(self, key: Any) -> bool:
        """Insert a key; True if it is new."""
        return await self._inserts.answer(key)

    async def contains(self, key: Any) -> bool:
        """Whether a key may be in the filter."""
        return await self._queries.answer(key)

    async def update(self, *keys: Any) -> None:
        """Insert all keys of iterables, arrays or columns."""
        await self._run(self.remote.update, *keys)

    async def add_many(self, keys: Any) -> Any:
        """Insert many keys; for each, in order, whether it was new, in the kind of the input."""
        return await self._run(self.remote.add_many, keys)

    async def contains_many(self, keys: Any) -> Any:
        """For each of many keys, in order, whether it may be in the filter."""
        return await self._run(self.remote.contains_many, keys)

    async def count_many(self, keys: Any) -> int:
        """The number of keys that may be in the filter."""
        count: int = await self._run(self.remote.count_many, keys)
        return count

    async def remove(self, key: Any) -> bool:
        """Remove a key, where the server counts."""
        removed: bool = await self._run(self.remote.remove, key)
        return removed

    async def clear(self) -> None:
        """Forget all keys."""
        await self._run(self.remote.clear)

    async def delete(self) -> bool:
        """Delete the filter on the server; True if it still existed."""
        deleted: bool = await self._run(self.remote.delete)
        return deleted

    async def expire(self, seconds: float | None) -> None:
        """Let the filter expire this many seconds from now; None: never."""
        await self._run(self.remote.expire, seconds)

    async def count(self) -> int:
        """The keys in it: counted by the server, or estimated from its bits."""
        count: int = await self._number("count")
        return count

    async def fpp(self) -> float:
        """The rate now, by the bits on the server."""
        fpp: float = await self._number("fpp")
        return fpp

    async def health(self) -> str:
        """"ok", "near capacity" or "over capacity"."""
        health: str = await self._number("health")
        return health

    async def ttl(self) -> float | None:
        """Seconds until it expires; None if it does not."""
        ttl: float | None = await self._number("ttl")
        return ttl

    def __repr__(self) -> str:
        return f"<mayhap_bloom.aio.Remote: {self.remote.url}>"


async def open(url: str, **options: Any) -> Remote:
    """Open the filter that a URL names; the options are the same as of `mayhap_bloom.open`."""
    if "://" not in url:
        raise ValueError(f"{url!r} is not the URL of a server; mayhap_bloom.open opens files")
    remote = await asyncio.to_thread(partial(_open, url, **options))
    if not isinstance(remote, _Remote):
        raise ValueError(f"{url!r} is not the URL of a server; mayhap_bloom.open opens files")
    return Remote(remote)


async def create(
    url: str, expected_items: int, target_fpp: float = 0.01, **options: Any
) -> Remote:
    """Create a filter on a server, or open an existing one with the same numbers; the options are
    the same as of `mayhap_bloom.create`."""
    return Remote(
        await asyncio.to_thread(partial(_create, url, expected_items, target_fpp, **options))
    )
