"""The sources of keys: a column of a data frame, or Parquet files that tasks read themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._plan import FilePath, check_column, named
from ._storage import file_system, is_url

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The bytes of a Parquet file for one task.
TASK_BYTES = 64 << 20


class ParquetFiles:
    """Parquet files and folders of them, read by the tasks without the JVM.

    This takes about a third of the CPU time of `spark.read.parquet`, which writes each key as a row
    and again for Python. The paths are folders that all machines see, or URLs of `fsspec`; a column
    has to be in the files, not only in the names of folders.
    """

    def __init__(self, spark: SparkSession, *paths: FilePath) -> None:
        self.spark = spark
        files = [file for path in paths for file in _files(os.fspath(path))]
        if not files:
            raise FileNotFoundError(f"no Parquet files in {', '.join(map(str, paths))}")
        #: For each task the file, and the index and number of the shares of its row groups.
        self.shares: list[tuple[str, int, int]] = [
            (path, share, shares)
            for path, num_bytes in files
            for shares in [max(-(-num_bytes // TASK_BYTES), 1)]
            for share in range(shares)
        ]


@dataclass(frozen=True)
class Keys:
    """Rows for the tasks, and how a task reads columns of keys from its own."""

    spark: SparkSession
    rows: DataFrame
    columns: Callable[[Iterator[Any]], Iterator[Any]]


def keys_of(source: DataFrame | ParquetFiles, column: str) -> Keys:
    """The keys of a column."""
    if not isinstance(source, ParquetFiles):
        check_column(source, column)
        return Keys(source.sparkSession, source.select(named(column).alias("key")), _first_columns)
    shares = source.shares

    def columns(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _read(column, *shares[number])

    rows = source.spark.range(0, len(shares), 1, len(shares))
    return Keys(source.spark, rows, columns)


def _first_columns(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        yield batch.column(0)


def _read(column: str, path: str, share: int, shares: int) -> Iterator[Any]:
    import pyarrow.parquet

    if is_url(path):
        fs, inside = file_system(path)
        opened = fs.open(inside, "rb")
    else:
        opened = open(path, "rb")
    with opened, pyarrow.parquet.ParquetFile(opened) as file:
        if column not in file.schema_arrow.names:
            names = ", ".join(file.schema_arrow.names)
            raise ValueError(f"{path} has no column {column!r}; there are {names}")
        groups = list(range(share, file.num_row_groups, shares))
        for batch in file.iter_batches(1 << 16, row_groups=groups, columns=[column]):
            yield batch.column(0)


def _files(path: str) -> list[tuple[str, int]]:
    """The files below a path with their sizes, in order, without the ones that Spark hides."""
    if is_url(path):
        fs, inside = file_system(path)
        found = fs.find(inside, detail=True)
        return [
            (fs.unstrip_protocol(name), int(found[name]["size"]))
            for name in sorted(found)
            if _is_data(name[len(inside) :])
        ]
    if os.path.isfile(path):
        # The tasks have other working directories.
        return [(os.path.abspath(path), os.stat(path).st_size)]
    files = []
    for folder, _, names in os.walk(path):
        inside = os.path.relpath(folder, path)
        for name in names:
            if _is_data(os.path.normpath(os.path.join(inside, name))):
                file = os.path.join(folder, name)
                files.append((os.path.abspath(file), os.stat(file).st_size))
    return sorted(files)


def _is_data(path: str) -> bool:
    return not any(_is_hidden(part) for part in path.split("/") if part)


def _is_hidden(name: str) -> bool:
    """Whether Spark leaves a file or folder of this name out (`HadoopFSUtils`)."""
    # A folder `_date=2024-01-01` is a partition.
    is_private = name.startswith("_") and "=" not in name
    return is_private or name.startswith(".") or name.endswith("._COPYING_")
