"""The namespace `mayhap` of Polars: importing this module registers it.

    import mayhap_bloom.polars
    frame.filter(~pl.col("url").mayhap.contains(seen))
"""

from __future__ import annotations

from typing import Any

import polars


@polars.api.register_expr_namespace("mayhap")
class ExprNamespace:
    """Filters over columns, in the streaming engine too."""

    def __init__(self, expr: polars.Expr) -> None:
        self._expr = expr

    def contains(self, filter: Any) -> polars.Expr:
        """Whether each key of the column may be in `filter`; null for null."""
        return self._expr.map_batches(
            filter.contains_many, return_dtype=polars.Boolean, is_elementwise=True
        )


@polars.api.register_series_namespace("mayhap")
class SeriesNamespace:
    """Filters over one column."""

    def __init__(self, series: polars.Series) -> None:
        self._series = series

    def contains(self, filter: Any) -> Any:
        """Whether each key of the column may be in `filter`; null for null."""
        return filter.contains_many(self._series)

    def add_to(self, filter: Any) -> Any:
        """Inserts the keys into `filter`; for each, whether it was new."""
        return filter.add_many(self._series)
