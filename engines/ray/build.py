"""A recipe: Ray builds a filter of any size and queries it, an actor for each segment.

    python build.py OUT.mayhap N P COLUMN FILE.parquet...

Readers send digests, 8 bytes each, to the actors; an actor has the memory of one segment. The
folder of OUT must be one that all machines see.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

import numpy
import pyarrow.parquet
import ray

from mayhap_bloom import Segment, assemble, digests, segment_bounds


@ray.remote
class SegmentActor:
    """One segment of the filter in memory."""

    def __init__(self, n: int, p: float, index: int, count: int) -> None:
        self.segment = Segment(n, p, index, count)

    def insert(self, found: Any) -> None:
        """Inserts digests of this segment."""
        self.segment.insert_digests(found)

    def contains(self, found: Any) -> Any:
        """Whether each of these digests may be in it."""
        return numpy.asarray(self.segment.contains_digests(found))

    def save(self, path: str) -> str:
        """Writes it, completely or not at all."""
        self.segment.save(path)
        return path


def cut(keys: Any, bounds: Any) -> list[Any]:
    """The digests of the keys, grouped by segment."""
    found = pyarrow.array(digests(keys)).drop_null().to_numpy()
    return numpy.split(numpy.sort(found), numpy.searchsorted(numpy.sort(found), bounds[1:]))


@ray.remote
def send(path: str, column: str, bounds: Any, actors: list[Any]) -> int:
    """Sends the keys of a file to the actors. A lost task is run again, which changes nothing."""
    rows = 0
    for batch in pyarrow.parquet.ParquetFile(path).iter_batches(1 << 20, columns=[column]):
        parts = cut(batch.column(0), bounds)
        ray.get([a.insert.remote(part) for a, part in zip(actors, parts) if len(part)])
        rows += batch.num_rows
    return rows


def build(out: str, n: int, p: float, column: str, files: list[str], count: int = 0) -> int:
    """Builds the filter; the number of rows that were read."""
    count = count or max(2, int(ray.cluster_resources()["CPU"]))
    bounds = ray.put(numpy.asarray(segment_bounds(n, p, count), dtype=numpy.uint64))
    # An actor that was lost has lost its keys, so the build fails and is started again.
    actors = [SegmentActor.options(num_cpus=0).remote(n, p, i, count) for i in range(count)]
    rows = sum(ray.get([send.remote(path, column, bounds, actors) for path in files]))
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(out))) as folder:
        paths = [actor.save.remote(f"{folder}/{i}") for i, actor in enumerate(actors)]
        assemble(ray.get(paths), out)
    return rows


if __name__ == "__main__":
    ray.init()
    print(build(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4], sys.argv[5:]))
