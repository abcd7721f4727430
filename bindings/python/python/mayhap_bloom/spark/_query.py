"""Querying a filter for the keys of a column.

Plan "whole": the file is mapped on each machine, and only the column passes through Python. Plan
"segments": rows are first sent to the task of their part of the file, and only that part is read
there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow

from .. import _forms
from . import _digests, _storage
from ._plan import FilePath, Plan, check_column, choose, named, num_segments, to_segments, udf

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: The largest file that is mapped by every task, unless a plan is forced: its pages are shared.
MAPPED_BYTES = 2 << 30


def contains(
    df: DataFrame,
    column: str,
    path: FilePath,
    *,
    plan: Plan | None = None,
    name: str = "contains",
) -> DataFrame:
    """The rows with a column `name`: whether the key may be in the filter at `path`; null for null.

    The file may be of any kind that `mayhap_bloom.open` opens, and must not change until the rows
    were read. A column of texts has values: they are given the form that the filter's key options
    specify.
    """
    if name in df.columns:
        raise ValueError(f"there is a column {name!r} already; choose another name=")
    rows, found = _with_answers(df, column, path, plan)
    return rows.withColumn(name, found)


def semi_join(
    df: DataFrame, column: str, path: FilePath, *, plan: Plan | None = None
) -> DataFrame:
    """The rows whose key may be in the filter: all that are in it, and a share of the others."""
    rows, found = _with_answers(df, column, path, plan)
    return rows.where(found)


def anti_join(
    df: DataFrame, column: str, path: FilePath, *, plan: Plan | None = None
) -> DataFrame:
    """The rows whose key is surely not in the filter, and those without a key.

    The filter's false positives are missing from the rows that a left anti join keeps; no row is
    returned that the join would drop.
    """
    from pyspark.sql import functions

    rows, found = _with_answers(df, column, path, plan)
    return rows.where(~functions.coalesce(found, functions.lit(False)))


def _with_answers(
    df: DataFrame, column: str, file: FilePath, plan: Plan | None
) -> tuple[DataFrame, Column]:
    check_column(df, column)
    path = os.fspath(file)

    def answers(columns: Iterator[pyarrow.Array]) -> Iterator[pyarrow.Array]:
        filter = _storage.opened(path)
        for keys in columns:
            yield filter.contains_many(keys)

    num_bytes = _storage.size(path)
    found = udf(answers, "boolean")(named(column))
    if choose("contains", num_bytes, MAPPED_BYTES, plan) == "whole":
        return df, found
    if _storage.is_url(path):
        raise ValueError(f'{path}: the plan "segments" maps files on shared folders only')
    return _parted(df, column, path, num_segments(df.sparkSession, num_bytes)), found


def _parted(df: DataFrame, column: str, path: str, count: int) -> DataFrame:
    """The rows in as many partitions, each with the keys of one part of the file."""
    filter = _storage.opened(path)
    _forms.refuse(filter, _forms.forms(filter), 'the plan "segments" takes keys as they are')
    if filter.layout != "blocked" or filter.seed is None:
        raise ValueError(f"{path}: only blocked filters without a secret key have segments")
    from pyspark.sql import functions

    seed = filter.seed

    def segment(columns: Iterator[pyarrow.Array]) -> Iterator[pyarrow.Array]:
        for keys in columns:
            yield _digests.segment(keys, seed, count)

    number = udf(segment, "int")(named(column))
    # Rows without a key are sent to any task, but always to the same one.
    hashed = ("string", "binary", "integer", "long", "double", "date", "timestamp")
    plain = [f.name for f in df.schema.fields if f.dataType.typeName() in hashed]
    keys = map(named, plain or [column])
    anywhere = functions.pmod(functions.xxhash64(*keys), functions.lit(count))
    name = f"_segment_of_{column}"
    rows = df.withColumn(name, functions.coalesce(number, anywhere.cast("int")))
    return to_segments(rows, count, named(name)).drop(name)

