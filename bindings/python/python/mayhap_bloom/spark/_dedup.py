"""Rows without repetitions of a key, in one shuffle and in the memory of a filter."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy
import pyarrow

from .. import Bloom
from . import _digests
from ._plan import check_column, filter_bytes, logger, num_segments, to_segments

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Bytes of rows that a task sorts by segment at once.
BUFFERED = 32 << 20
#: Of the digests that choose a task, other than the filter's: those of one task begin alike, and
#: the first bits of a digest also choose a block.
TASK_SEED = 1


def dedup(
    df: DataFrame, column: str, n: int, p: float, *, segments: int | None = None
) -> DataFrame:
    """One row for each key of the column, as `dropDuplicates([column])`, but for false positives.

    No key comes twice. Of `n` distinct keys at most `n · p` are lost, on average: each of them
    would have been the first with its key, and the filter of its task said that it may have been
    there. With more than `n` keys the filters grow and keep the rate. Which of several rows with a
    key is kept is not specified, as with `dropDuplicates`. Null is one key.
    """
    check_column(df, column)
    num_bytes = filter_bytes(n, p)
    count = segments or num_segments(df.sparkSession, num_bytes)
    # Binomial: 4 σ more than the mean, beyond which the filter grows.
    expected = math.ceil(n / count + 4 * math.sqrt(n / count))
    position = df.columns.index(column)
    logger.info("dedup: %d tasks of %.1f MiB", count, num_bytes / count / (1 << 20))

    def pack(batches: Iterator[Any]) -> Iterator[Any]:
        return _packed(batches, position, count)

    def first(batches: Iterator[Any]) -> Iterator[Any]:
        filter = Bloom(expected, p, on_full="grow")
        return _first(_unpacked(batches), position, filter)

    rows = df.mapInArrow(pack, "segment int, rows binary")
    return to_segments(rows, count, rows["segment"]).mapInArrow(first, df.schema)


def _packed(batches: Iterator[Any], position: int, count: int) -> Iterator[Any]:
    """The rows of each segment as bytes: fewer, larger rows for the shuffle."""
    pieces: list[Any] = []
    size = 0
    for batch in batches:
        pieces.append(batch)
        size += batch.nbytes
        if size >= BUFFERED:
            yield _pack(pieces, position, count)
            pieces, size = [], 0
    if pieces:
        yield _pack(pieces, position, count)


def _pack(pieces: list[Any], position: int, count: int) -> Any:
    table = pyarrow.Table.from_batches(pieces).combine_chunks()
    column = table.column(position).combine_chunks()
    numbers = _digests.segment(column, TASK_SEED, count).fill_null(0).to_numpy()
    order = numpy.argsort(numbers, kind="stable")
    (batch,) = table.take(pyarrow.array(order)).combine_chunks().to_batches()
    edges = numpy.searchsorted(numbers[order], numpy.arange(count + 1))
    present = numpy.flatnonzero(edges[1:] > edges[:-1])
    bodies = [_to_bytes(batch.slice(edges[i], edges[i + 1] - edges[i])) for i in present]
    columns = [pyarrow.array(present.astype(numpy.int32)), pyarrow.array(bodies, pyarrow.binary())]
    return pyarrow.RecordBatch.from_arrays(columns, ["segment", "rows"])


def _to_bytes(batch: Any) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def _unpacked(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        for body in batch.column("rows"):
            yield from pyarrow.ipc.open_stream(body.as_buffer())


def _first(batches: Iterator[Any], position: int, filter: Bloom) -> Iterator[Any]:
    """The rows whose key is new to the filter."""
    had_null = False
    for batch in batches:
        new = filter.add_many(batch.column(position))
        if new.null_count:
            # The first row without a key is kept.
            keep = new.is_null().to_numpy(zero_copy_only=False)
            keep[numpy.flatnonzero(keep)[0 if had_null else 1 :]] = False
            new = pyarrow.array(new.fill_null(False).to_numpy(zero_copy_only=False) | keep)
            had_null = True
        yield batch.filter(new)
