"""The plan of a job, and the way of rows to the task of their segment."""

from __future__ import annotations

import logging
import math
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Plan: TypeAlias = Literal["whole", "segments"]
FilePath: TypeAlias = str | PathLike[str]

#: The largest filter that each task has a copy of, unless a plan is forced.
WHOLE_BYTES = 64 << 20
#: The memory of a segment, unless there are more tasks anyway.
SEGMENT_BYTES = 256 << 20

logger = logging.getLogger("mayhap_bloom.spark")


def filter_bytes(n: int, p: float) -> int:
    """The size of a `blocked` filter, within a few percent; nothing is allocated."""
    for name, value in (("n", n), ("p", p)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{name} is a number, not {value!r}")
    if n < 1 or not 0 < p < 1:
        raise ValueError(f"no filter has {n} keys and a rate of {p}")
    return math.ceil(n * 1.07 * -math.log2(p) / math.log(2) / 8)


def choose(verb: str, num_bytes: int, limit: int, plan: Plan | None) -> Plan:
    """The plan for a filter of this size, which is written to the log."""
    if plan not in (None, "whole", "segments"):
        raise ValueError(f'plan is {plan!r}, and there are "whole" and "segments"')
    chosen: Plan = plan or ("whole" if num_bytes <= limit else "segments")
    why = "by request" if plan else f"up to {limit >> 20} MiB are built and queried whole"
    logger.info("%s: plan %s, %.1f MiB (%s)", verb, chosen, num_bytes / (1 << 20), why)
    return chosen


def num_segments(spark: SparkSession, num_bytes: int) -> int:
    """The number at which a segment fits a task, and all cores have work."""
    # Rounded down, since the size is not exact; a segment has at least one page.
    pages = max(num_bytes * 9 // 10 // 4096, 1)
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
    return max(math.ceil(num_bytes / SEGMENT_BYTES), min(tasks, pages))


def to_segments(rows: DataFrame, count: int, segment: Any) -> DataFrame:
    """Each row in the partition whose number `segment`, a column, has.

    Spark before 4.1 has only partitions by hash: there a task may have several segments, one after
    another, and another task none.
    """
    if hasattr(rows, "repartitionById"):
        return rows.repartitionById(count, segment)
    return rows.repartition(count, segment).sortWithinPartitions(segment)


def check_column(df: DataFrame, column: str) -> None:
    """Checks that the column exists and that its values are keys."""
    if not isinstance(column, str):
        raise TypeError(f"column is the name of one, as \"url\", not {column!r}")
    fields = {field.name: field.dataType.typeName() for field in df.schema.fields}
    if column not in fields:
        inside = column.partition(".")[0] in fields
        hint = f"; select it first, as df.select({column!r})" if inside else ""
        raise ValueError(f"there is no column {column!r}; there are {', '.join(fields)}{hint}")
    keys = ("string", "varchar", "char", "binary", "byte", "short", "integer", "long", "boolean")
    if fields[column] not in keys:
        raise TypeError(
            f"the column {column!r} is of {fields[column]}, and keys are texts, bytes or integers; "
            f"cast it, as df.withColumn({column!r}, col({column!r}).cast(\"string\"))"
        )


def named(column: str) -> Column:
    """The column with exactly this name, dots and all."""
    from pyspark.sql import functions

    return functions.col("`" + column.replace("`", "``") + "`")


def udf(function: Any, kind: str) -> Any:
    """A function of keys alone: the other columns are not moved.

    `function` maps an iterator of `pyarrow.Array` to another one, by its annotations.
    """
    from pyspark.sql import functions

    # Not in the types of Spark.
    arrow_udf: Any = getattr(functions, "arrow_udf")
    return arrow_udf(function, kind)
