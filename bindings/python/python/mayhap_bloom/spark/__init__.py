"""Bloom filters of any size built and queried by Spark (docs/engines.md).

    from mayhap_bloom import spark as mayhap
    mayhap.build(pages, "url", n=10_000_000_000, p=0.01, path="/shared/seen.mayhap")
    fresh = mayhap.anti_join(crawled, "url", "/shared/seen.mayhap")

The executors need only this package and Spark's own requirements for Arrow (`pyspark[sql]`). Keys
are as in the whole package: text, binary and integer columns.
"""

from ._build import build
from ._dedup import dedup
from ._query import anti_join, contains, semi_join
from ._source import ParquetFiles

__all__ = ["ParquetFiles", "anti_join", "build", "contains", "dedup", "semi_join"]
