"""Building one filter from a column.

Plan "whole": each task fills a filter of full size (or keeps digests, as long as they take fewer
bytes), 16 tasks unite these, one unites their results, and the driver writes the file.

Plan "segments": block = floor(digest · B / 2^64), so digests have the order of the file. Each task
sends its digests to the tasks of their segments; each of these has the memory of one segment and
writes it beside the file, and the driver puts the segments together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow

from .. import Bloom, Segment, assemble, from_bytes, segment_bounds
from . import _digests
from ._plan import (
    WHOLE_BYTES,
    FilePath,
    Plan,
    choose,
    filter_bytes,
    logger,
    num_segments,
    to_segments,
)
from ._source import Keys, ParquetFiles, keys_of
from ._storage import Folder, Target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Tasks that unite partial filters before the last one.
FAN_IN = 16


@dataclass(frozen=True)
class Shape:
    """The parameters of the filter being built, which every task needs."""

    n: int
    p: float
    seed: int
    #: More or less: a partial filter is sent as digests if they take fewer.
    num_bytes: int

    def bloom(self) -> Bloom:
        """An empty one."""
        # A partial filter never has more keys than the whole one, which is checked at the end.
        return Bloom(self.n, self.p, layout="blocked", seed=self.seed)


def build(
    df: DataFrame | ParquetFiles,
    column: str,
    n: int,
    p: float,
    path: FilePath,
    *,
    plan: Plan | None = None,
    seed: int = 0,
    segments: int | None = None,
) -> None:
    """Builds a `blocked` filter for `n` distinct keys from a column and writes it to `path`.

    The file equals the output of `mayhap build --layout blocked --reproducible` byte for byte,
    whatever the plan, the number of tasks and their order, and however many were killed. Null is no
    key. Instead of a data frame, `ParquetFiles` are read with less CPU time. `path` is a file, in a
    folder that all machines see if the plan is "segments", or a URL of `fsspec`. The whole file is
    replaced or none of it.
    """
    keys = keys_of(df, column)
    num_bytes = filter_bytes(n, p)
    shape = Shape(n, p, seed, num_bytes)
    target = Target(path)
    target.check()
    if choose("build", num_bytes, WHOLE_BYTES, plan) == "whole":
        _whole(keys, shape, target)
    else:
        _segments(keys, shape, target, segments or num_segments(keys.spark, num_bytes))


def _whole(keys: Keys, shape: Shape, target: Target) -> None:
    # Only values that can be sent to the tasks.
    rows, columns = keys.rows, keys.columns

    def partial(batches: Iterator[Any]) -> Iterator[Any]:
        return _partial(columns(batches), shape)

    def union(batches: Iterator[Any]) -> Iterator[Any]:
        return _union(batches, shape)

    def any_key(batches: Iterator[Any]) -> Iterator[Any]:
        for _ in _digests.buffered(columns(batches), shape.seed):
            yield _row(0, False, b"")

    schema = "segment int, is_filter boolean, body binary"
    parts = rows.mapInArrow(partial, schema)
    for tasks in (FAN_IN, 1):
        parts = to_segments(parts, tasks, parts["segment"] % tasks).mapInArrow(union, schema)
    filter = shape.bloom()
    united = parts.collect()
    # Where memory runs out while the JVM sends rows to Python, Spark returns none, and no error.
    if not united and rows.mapInArrow(any_key, schema).limit(1).collect():
        size = f"the filter of {shape.num_bytes >> 20} MiB did not reach the driver"
        raise RuntimeError(f'{size}: raise spark.driver.memory, or use the plan "segments"')
    for row in united:
        _unite(filter, row.is_filter, pyarrow.py_buffer(row.body))
    # A count that follows from the bits, as in the other plan.
    filter.settle_count()
    with target.writing() as local:
        filter.save(local)
    logger.info("build: %s has %d keys", target, filter.count)


def _partial(columns: Iterator[Any], shape: Shape) -> Iterator[Any]:
    """The keys of a task: sorted digests as long as they take fewer bytes than a filter."""
    from pyspark import TaskContext

    task = TaskContext.get()
    number = task.partitionId() if task else 0
    sparse: list[Any] = []
    filter: Bloom | None = None
    limit = shape.num_bytes // 8
    for digests in _digests.buffered(columns, shape.seed):
        if filter is None:
            sparse.append(digests)
            if sum(map(len, sparse)) < limit:
                continue
            filter = shape.bloom()
            digests, sparse = _digests.merged(sparse), []
        filter.insert_digests(digests)
    if filter is not None:
        yield _row(number, True, filter.to_bytes())
    elif sparse:
        yield _row(number, False, _digests.merged(sparse).tobytes())


def _union(batches: Iterator[Any], shape: Shape) -> Iterator[Any]:
    """The partial filters of some tasks as one."""
    number, filter = 0, None
    for batch in batches:
        for number, is_filter, body in zip(*batch.columns):
            filter = filter or shape.bloom()
            _unite(filter, is_filter.as_py(), body.as_buffer())
    if filter is not None:
        yield _row(pyarrow.scalar(number).as_py(), True, filter.to_bytes())


def _unite(filter: Bloom, is_filter: bool, body: Any) -> None:
    if is_filter:
        # Arrow declares its bytes as signed.
        other = from_bytes(memoryview(body).cast("B"))
        assert isinstance(other, Bloom), other
        filter |= other
    else:
        filter.insert_digests(_digests.of_bytes(body))


def _row(number: int, is_filter: bool, body: bytes) -> Any:
    columns = {"segment": pyarrow.array([number], pyarrow.int32()), "is_filter": [is_filter]}
    return pyarrow.RecordBatch.from_pydict({**columns, "body": [body]})


def _segments(keys: Keys, shape: Shape, target: Target, count: int) -> None:
    firsts = _digests.firsts(segment_bounds(shape.n, shape.p, count))
    folder, columns = target.folder(), keys.columns

    def cut(batches: Iterator[Any]) -> Iterator[Any]:
        for digests in _digests.buffered(columns(batches), shape.seed):
            yield _digests.cut(digests, firsts)

    def fill(batches: Iterator[Any]) -> Iterator[Any]:
        return _fill(batches, shape, count, folder)

    # So that every task has something to write.
    empty = keys.spark.range(0, count, 1, 1)
    empty = empty.selectExpr("cast(id as int) as segment", "binary('') as digests")
    rows = keys.rows.mapInArrow(cut, "segment int, digests binary").union(empty)
    with folder:
        filled = to_segments(rows, count, rows["segment"]).mapInArrow(fill, "segment int")
        written = {row.segment for row in filled.collect()}
        if len(written) != count:
            raise RuntimeError(f"{count - len(written)} of {count} segments were not written")
        with folder.fetched(count) as paths, target.writing() as local:
            assemble(paths, local)
    logger.info("build: %s from %d segments", target, count)


def _fill(batches: Iterator[Any], shape: Shape, count: int, folder: Folder) -> Iterator[Any]:
    """The segments whose digests arrive, one after another, each written at its end."""
    number = -1
    segment: Any = None
    begun: set[int] = set()
    for batch in batches:
        for index, body in zip(*batch.columns):
            if index.as_py() != number:
                if segment is not None:
                    yield _written(folder, number, segment)
                number = index.as_py()
                if number in begun:
                    # A second file would replace the first, and its keys would be lost.
                    raise RuntimeError(f"segment {number} came in two pieces")
                begun.add(number)
                segment = Segment(shape.n, shape.p, number, count, seed=shape.seed)
            segment.insert_digests(_digests.of_bytes(body.as_buffer()))
    if segment is not None:
        yield _written(folder, number, segment)


def _written(folder: Folder, number: int, segment: Any) -> Any:
    # Written to a temporary file and renamed: two tasks with the same segment may both get this
    # far, with the same bytes.
    with folder.writing(number) as local:
        segment.save(local)
    return pyarrow.RecordBatch.from_pydict({"segment": pyarrow.array([number], pyarrow.int32())})
