"""Rows without repetitions of a key, in one shuffle and in the memory of a filter."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy
import pyarrow

from .. import Bloom
from ._plan import check_column, filter_bytes, logger, named, num_segments, udf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def dedup(df: DataFrame, column: str, n: int, p: float, *, tasks: int | None = None) -> DataFrame:
    """One row per key of the column, like `dropDuplicates([column])` except for false positives.

    No key is returned twice. At most `n · p` of `n` distinct keys are lost, on average: each of
    them would have been the first with its key, but the filter of its task answered "maybe". With
    more than `n` keys the filters grow and keep the rate. Which of several rows with a key is kept
    is not specified, as with `dropDuplicates`. Null is one key.

    Spark sends each row to one of `tasks` tasks by its own hash of the key. Only keys pass through
    Python, and rows are not moved.
    """
    check_column(df, column)
    num_bytes = filter_bytes(n, p)
    count = tasks or num_segments(df.sparkSession, num_bytes)
    # Binomial: 4 σ more than the mean, beyond which the filter grows.
    expected = math.ceil(n / count + 4 * math.sqrt(n / count))
    logger.info("dedup: %d tasks of %.1f MiB", count, num_bytes / count / (1 << 20))

    def first(columns: Iterator[pyarrow.Array]) -> Iterator[pyarrow.Array]:
        return _first(columns, Bloom(expected, p, on_full="grow"))

    # Its answers depend on the previous rows: a filter on rows must not be moved before or after
    # it, nor may it be computed twice.
    new = udf(first, "boolean").asNondeterministic()(named(column))
    name = f"_new_{column}"
    rows = df.repartition(count, named(column)).withColumn(name, new)
    return rows.where(named(name)).drop(name)


def _first(columns: Iterator[Any], filter: Bloom) -> Iterator[Any]:
    """Whether each key of a task is new to the filter."""
    had_null = False
    for column in columns:
        new = filter.add_many(column)
        if new.null_count:
            # The first row without a key is kept.
            keep = new.is_null().to_numpy(zero_copy_only=False)
            keep[numpy.flatnonzero(keep)[0 if had_null else 1 :]] = False
            new = pyarrow.array(new.fill_null(False).to_numpy(zero_copy_only=False) | keep)
            had_null = True
        yield new
