"""Columns as digests, and digests as bytes in the order of segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy
import pyarrow

from .. import digests as _digests

#: Digests that a task sorts at once: 32 MiB.
BUFFERED = 4 << 20


def of_column(column: Any, seed: int) -> Any:
    """The digests of the keys that are not null, as a NumPy array."""
    found = pyarrow.array(_digests(column, seed=seed))
    return (found.drop_null() if found.null_count else found).to_numpy()


def buffered(columns: Iterable[Any], seed: int) -> Iterator[Any]:
    """The digests of columns of keys in pieces, each sorted and without repetitions."""
    pieces: list[Any] = []
    size = 0
    for column in columns:
        pieces.append(of_column(column, seed))
        size += len(pieces[-1])
        if size >= BUFFERED:
            yield _sorted(pieces)
            pieces, size = [], 0
    if size:
        yield _sorted(pieces)


def merged(pieces: list[Any]) -> Any:
    """All digests of some pieces."""
    return numpy.concatenate(pieces)


def firsts(bounds: Any) -> Any:
    """The first digest of each segment as a NumPy array."""
    return numpy.asarray(bounds, dtype=numpy.uint64)


def _sorted(pieces: list[Any]) -> Any:
    whole = numpy.concatenate(pieces)
    whole.sort()
    first = numpy.ones(len(whole), dtype=bool)
    numpy.not_equal(whole[1:], whole[:-1], out=first[1:])
    return whole[first]


def cut(digests: Any, firsts: Any) -> Any:
    """Sorted digests as a record batch: for each segment that has some, its number and them.

    `firsts` is the first digest of each segment. The bytes are not copied.
    """
    edges = numpy.append(numpy.searchsorted(digests, firsts), len(digests))
    present = numpy.flatnonzero(edges[1:] > edges[:-1])
    # Segments without digests take no bytes, so the next present one begins where one ends.
    offsets = (numpy.append(edges[present], len(digests)) * 8).astype(numpy.int32)
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(digests)]
    bodies = pyarrow.BinaryArray.from_buffers(pyarrow.binary(), len(present), buffers)
    numbers = pyarrow.array(present.astype(numpy.int32))
    return pyarrow.RecordBatch.from_arrays([numbers, bodies], ["segment", "digests"])


def of_bytes(body: Any) -> Any:
    """The digests in a buffer, without a copy."""
    return numpy.frombuffer(body, dtype="<u8")


def segment(column: Any, seed: int, count: int) -> Any:
    """For each key the number of its equal part of the range of digests; null for null."""
    found = pyarrow.array(_digests(column, seed=seed))
    missing = found.is_null().to_numpy(zero_copy_only=False) if found.null_count else None
    top = found.fill_null(0).to_numpy() >> numpy.uint64(32)
    numbers = (top * numpy.uint64(count) >> numpy.uint64(32)).astype(numpy.int32)
    return pyarrow.array(numbers, mask=missing)
