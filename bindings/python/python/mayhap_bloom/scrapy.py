"""A duplicate filter for Scrapy: `DUPEFILTER_CLASS = "mayhap_bloom.scrapy.DupeFilter"`.

A million requests take 2.4 MB at the rate of 1e-4 instead of 150 MB in a set. With `JOBDIR` the
filter is kept in the file `requests.seen.mayhap` of that folder, so that a crawl that was stopped
goes on. With `MAYHAP_STATE` it is elsewhere: in a file to which every request is added at once, so
that it survives kill -9, or on a server, for many spiders on many machines.

========================= ========= ==============================================================
setting                   default   meaning
========================= ========= ==============================================================
`MAYHAP_EXPECTED_ITEMS`   1,000,000 requests that the filter begins with room for; it grows
`MAYHAP_TARGET_FPP`       1e-4      the share of new requests that are taken for seen, at most
`MAYHAP_SAVE_EVERY`       100,000   new requests after which the file in `JOBDIR` is saved, besides
                                    the end
`MAYHAP_STATE`                      a file, or `redis://host:port/database/name`, in place of that
                                    in `JOBDIR`; a filter on Redis does not grow
========================= ========= ==============================================================
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scrapy.dupefilters import BaseDupeFilter

from . import Remote, Scalable, State, create
from . import open as open_filter

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler

#: The file in `JOBDIR`.
FILE_NAME = "requests.seen.mayhap"


class DupeFilter(BaseDupeFilter):  # type: ignore[misc]
    """Drops requests whose fingerprint was seen before."""

    def __init__(
        self,
        fingerprinter: Any,
        *,
        expected_items: int = 1_000_000,
        target_fpp: float = 1e-4,
        path: Path | None = None,
        save_every: int = 100_000,
        debug: bool = False,
        state: str | None = None,
    ) -> None:
        self.fingerprinter = fingerprinter
        self.path = path
        self.save_every = save_every
        self.debug = debug
        self.logger = logging.getLogger(__name__)
        self._logs_duplicates = True
        self.seen: Any
        if state is not None:
            self.path = None
            self.seen = _shared(state, expected_items, target_fpp)
            return
        if path is not None and path.exists():
            self.seen = open_filter(path)
        else:
            self.seen = Scalable(expected_items, target_fpp)
        self._saved = len(self.seen)

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
            save_every=settings.getint("MAYHAP_SAVE_EVERY", 100_000),
            debug=settings.getbool("DUPEFILTER_DEBUG"),
            state=state or None,
        )

    def request_seen(self, request: Request) -> bool:
        """Whether the request was seen; from now on it is."""
        if not self.seen.add(self.fingerprinter.fingerprint(request)):
            return True
        if self.path is not None and len(self.seen) - self._saved >= self.save_every:
            self.save()
        return False

    def save(self) -> None:
        """Writes the file, if there is one."""
        if self.path is not None:
            self.seen.save(self.path)
            self._saved = len(self.seen)

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
        spider.crawler.stats.inc_value("dupefilter/filtered", spider=spider)


def _shared(place: str, expected_items: int, target_fpp: float) -> State | Remote:
    """The filter in a file or on a server that others use too; it is created if it is not there."""
    if "://" not in place:
        return State(place, create=Scalable(expected_items, target_fpp))
    try:
        # One that is there is used whatever its numbers are.
        found: Remote = open_filter(place)
    except FileNotFoundError:
        return create(place, expected_items, target_fpp)
    return found
