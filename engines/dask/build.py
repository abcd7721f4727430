"""A recipe: Dask builds a filter of any size from Parquet files, a task for each segment.

    python build.py OUT.mayhap N P COLUMN FILE.parquet...

Each file becomes its digests, cut by segment; each segment is filled from its part of every file
and written, and the files are put together. The folder of OUT must be visible to all machines.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

import dask
import numpy
import pyarrow
import pyarrow.parquet

from mayhap_bloom import Segment, assemble, digests, open as open_filter, segment_bounds


@dask.delayed(pure=True)
def cut(path: str, column: str, bounds: Any) -> list[Any]:
    """The digests of a file, sorted, so grouped by segment."""
    table = pyarrow.parquet.read_table(path, columns=[column])
    found = pyarrow.array(digests(table.column(0).combine_chunks())).drop_null().to_numpy()
    found = numpy.unique(found)
    return numpy.split(found, numpy.searchsorted(found, bounds[1:]))


@dask.delayed
def fill(n: int, p: float, index: int, count: int, parts: list[Any], folder: str) -> str:
    """One segment with its digests as a file, written completely or not at all."""
    segment = Segment(n, p, index, count)
    for part in parts:
        segment.insert_digests(part)
    path = os.path.join(folder, f"{index:06}.mayhap")
    segment.save(path)
    return path


def build(out: str, n: int, p: float, column: str, files: list[str], count: int = 8) -> None:
    """Builds the filter with whatever scheduler Dask has; a lost task is run again."""
    bounds = numpy.asarray(segment_bounds(n, p, count), dtype=numpy.uint64)
    cuts = [cut(path, column, bounds) for path in files]
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(out))) as folder:
        parts = [[each[index] for each in cuts] for index in range(count)]
        paths = [fill(n, p, i, count, part, folder) for i, part in enumerate(parts)]
        assemble(list(dask.compute(*paths)), out)


def absent(frame: Any, column: str, path: str) -> Any:
    """The rows of a Dask data frame whose key is surely not in the filter."""

    def of_part(part: Any) -> Any:
        found = open_filter(path, mmap=True).contains_many(pyarrow.array(part[column]))
        return part[~found.fill_null(False).to_numpy(zero_copy_only=False)]

    return frame.map_partitions(of_part, meta=frame._meta)


if __name__ == "__main__":
    build(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4], sys.argv[5:])
