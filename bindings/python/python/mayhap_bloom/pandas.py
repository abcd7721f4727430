"""The accessor `mayhap` of pandas: importing this module registers it.

    import mayhap_bloom.pandas
    frame[~frame["url"].mayhap.contains(seen)]
"""

from __future__ import annotations

from typing import Any

import pandas


@pandas.api.extensions.register_series_accessor("mayhap")
class SeriesAccessor:
    """Filters over one column."""

    def __init__(self, series: Any) -> None:
        self._series = series

    def contains(self, filter: Any) -> Any:
        """Whether each key of the column may be in `filter`, with the column's index."""
        return self._like(filter.contains_many(self._series))

    def add_to(self, filter: Any) -> Any:
        """Inserts the keys into `filter`; for each, whether it was new."""
        return self._like(filter.add_many(self._series))

    def _like(self, answers: Any) -> Any:
        if isinstance(answers, pandas.Series):
            return answers
        return pandas.Series(answers, index=self._series.index, name=self._series.name)
