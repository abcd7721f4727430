"""A duplicate filter for Scrapy: `DUPEFILTER_CLASS = "mayhap_bloom.scrapy.DupeFilter"`.

A million requests take 2.4 MB at the rate of 1e-4 instead of 150 MB in a set. With `JOBDIR` the
filter is kept in the file `requests.seen.mayhap` of that folder, so that a stopped crawl can be
resumed. Scrapy writes its queue of requests only at the end of a crawl, and so is this file: after
a kill or a crash neither exists, and the crawl starts over rather than skip the queued requests.
With `MAYHAP_STATE` the filter is elsewhere: in a file to which every request is added at once, or
on a server, for many spiders on many machines. Requests that were queued when a spider was killed
then count as seen.

========================= ========= ==============================================================
setting                   default   meaning
========================= ========= ==============================================================
`MAYHAP_EXPECTED_ITEMS`   1,000,000 requests that the filter begins with room for; it grows
`MAYHAP_TARGET_FPP`       1e-4      the share of new requests that are taken for seen, at most
`MAYHAP_STATE`                      a file, or `redis://host:port/database/name`, in place of that
                                    in `JOBDIR`; a filter on Redis does not grow
========================= ========= ==============================================================
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy.dupefilters import BaseDupeFilter

from . import Scalable, State, _forms, create
from . import open as open_filter

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler

#: The file in `JOBDIR`, between crawls.
FILE_NAME = "requests.seen.mayhap"

#: The suffix of the marker file of an unfinished crawl.
BEGUN = ".begun"


class DupeFilter(BaseDupeFilter):  # type: ignore[misc]
    """Drops requests whose fingerprint was seen before."""

    def __init__(
        self,
        fingerprinter: Any,
        *,
        expected_items: int = 1_000_000,
        target_fpp: float = 1e-4,
        path: Path | None = None,
        debug: bool = False,
        state: str | None = None,
    ) -> None:
        self.fingerprinter = fingerprinter
        self.path = path
        self.debug = debug
        self.logger = logging.getLogger(__name__)
        self._logs_duplicates = True
        self.seen: Any
        if state is not None:
            self.path = None
            self.seen = _shared(state, expected_items, target_fpp)
            return
        self.seen = self._continued() or Scalable(expected_items, target_fpp)

    def _continued(self) -> Any:
        """The filter of the last crawl, if that ended normally."""
        if self.path is None:
            return None
        mark = Path(f"{self.path}{BEGUN}")
        if mark.exists():
            self.logger.warning(
                "The last crawl in %s did not end by itself, and what it had queued is lost: all "
                "requests are new again. HTTPCACHE_ENABLED spares pages that were fetched.",
                self.path.parent,
            )
            return None
        mark.touch()
        return _of_requests(open_filter(self.path)) if self.path.exists() else None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """The filter that the settings of a crawler describe."""
        settings = crawler.settings
        folder, state = settings.get("JOBDIR"), settings.get("MAYHAP_STATE")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
        return cls(
            crawler.request_fingerprinter,
            expected_items=settings.getint("MAYHAP_EXPECTED_ITEMS", 1_000_000),
            target_fpp=settings.getfloat("MAYHAP_TARGET_FPP", 1e-4),
            path=Path(folder) / FILE_NAME if folder else None,
            debug=settings.getbool("DUPEFILTER_DEBUG"),
            state=state or None,
        )

    def request_seen(self, request: Request) -> bool:
        """Whether the request was seen; marks it as seen."""
        return not self.seen.add(self.fingerprinter.fingerprint(request))

    def save(self) -> None:
        """Writes the file, if there is one."""
        if self.path is not None:
            self.seen.save(self.path)
            # Scrapy writes its queue at the end, too, before this.
            Path(f"{self.path}{BEGUN}").unlink(missing_ok=True)

    def close(self, reason: str) -> None:
        """Scrapy calls it at the end of a crawl."""
        self.save()
        if isinstance(self.seen, State):
            self.seen.close()

    def log(self, request: Request, spider: Spider) -> None:
        """Scrapy calls it for each request that was dropped."""
        if self.debug:
            self.logger.debug("Filtered duplicate request: %s", request, extra={"spider": spider})
        elif self._logs_duplicates:
            self.logger.debug(
                "Filtered duplicate request: %s - no more duplicates will be shown "
                "(see DUPEFILTER_DEBUG to show all duplicates)",
                request,
                extra={"spider": spider},
            )
            self._logs_duplicates = False
        spider.crawler.stats.inc_value("dupefilter/filtered")


def _of_requests(filter: Any) -> Any:
    """The filter, unless its keys cannot be the fingerprints of requests."""
    # The digits of fingerprints can be in a list.
    forms = {name: value for name, value in _forms.forms(filter).items() if name != "hex"}
    _forms.refuse(filter, forms, "the keys of Scrapy are fingerprints of requests")
    return filter


def _shared(place: str, expected_items: int, target_fpp: float) -> Any:
    """The filter in a file or on a server that others use too; it is created if missing."""
    if "://" not in place:
        return _of_requests(State(place, create=Scalable(expected_items, target_fpp)))
    try:
        # An existing one is used whatever its numbers are.
        return _of_requests(open_filter(place))
    except FileNotFoundError:
        return create(place, expected_items, target_fpp)
