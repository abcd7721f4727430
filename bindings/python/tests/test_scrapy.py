"""The duplicate filter in the real Scrapy, against a site on loopback."""

import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import mayhap_bloom
from mayhap_bloom import State
from mayhap_bloom.scrapy import DupeFilter

#: Pages of the site; each links to the next five, with many repeated links.
PAGES = 40

SPIDER = """
import json, sys
import scrapy
from scrapy.crawler import CrawlerProcess

class Spider(scrapy.Spider):
    name = "all"
    custom_settings = {settings}

    async def start(self):
        yield scrapy.Request({url!r} + sys.argv[1])

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse)

process = CrawlerProcess()
crawler = process.create_crawler(Spider)
process.crawl(crawler)
process.start()
print(json.dumps({{key: value for key, value in crawler.stats.get_stats().items()
                  if isinstance(value, int)}}))
"""


@pytest.fixture
def site():
    """A site that counts requests."""
    visits = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/robots.txt":
                self.send_error(404)
                return
            visits.append(self.path)
            page = int(self.path.strip("/"))
            links = [f'<a href="/{(page + i) % PAGES}">next</a>' for i in range(1, 6)]
            body = "".join(links * 2).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/", visits
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def crawl(tmp_path):
    """Crawls from a page of a site; the numbers of the crawl."""
    # A file, since Scrapy reads the source of callbacks.
    return lambda *arguments, **settings: run(tmp_path / "spider.py", *arguments, **settings)


def run(script, url, start, **settings):
    words = write(script, url, start, **settings)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout)


def write(script, url, start, **settings):
    """Writes a spider, and gives the command to run it."""
    settings = {
        "DUPEFILTER_CLASS": "mayhap_bloom.scrapy.DupeFilter",
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "MAYHAP_TARGET_FPP": 1e-9,
        **settings,
    }
    script.write_text(SPIDER.format(settings=settings, url=url))
    return [sys.executable, str(script), start]


def test_each_page_is_fetched_once(site, crawl):
    url, visits = site
    stats = crawl(url, "0")
    # The first page is not filtered, and is linked again.
    assert set(visits) == {f"/{page}" for page in range(PAGES)}
    assert len(visits) == PAGES and stats["dupefilter/filtered"] > PAGES


def test_a_crawl_goes_on_where_it_was(site, crawl, tmp_path):
    url, visits = site
    crawl(url, "0", JOBDIR=str(tmp_path))
    file = tmp_path / "requests.seen.mayhap"
    assert len(mayhap_bloom.open(file)) == PAGES == len(visits)
    visits.clear()
    stats = crawl(url, "0", JOBDIR=str(tmp_path))
    assert visits == [] and stats["dupefilter/filtered"] == 1


def test_many_spiders_share_a_filter_on_a_server(site, tmp_path, redis):
    url, visits = site
    state = f"{redis}/0/spiders"
    spiders = []
    for name, start in (("one", "0"), ("two", "20")):
        words = write(tmp_path / f"{name}.py", url, start, MAYHAP_STATE=state)
        spiders.append(subprocess.Popen(words, stdout=subprocess.PIPE))
    stats = [json.loads(spider.communicate()[0]) for spider in spiders]
    assert [spider.returncode for spider in spiders] == [0, 0]
    assert sorted(visits) == sorted(f"/{page}" for page in range(PAGES))
    assert sum(numbers["dupefilter/filtered"] for numbers in stats) > PAGES
    assert mayhap_bloom.open(state).count == PAGES
    # An existing filter is used whatever its numbers are.
    visits.clear()
    stats = run(tmp_path / "again.py", url, "5", MAYHAP_STATE=state, MAYHAP_EXPECTED_ITEMS=7)
    assert visits == [] and stats["dupefilter/filtered"] == 1


def test_requests_of_a_killed_crawl_are_in_its_state(site, crawl, tmp_path):
    url, visits = site
    state = tmp_path / "seen.mayhap"
    slow = {"CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 0.05, "MAYHAP_STATE": str(state)}
    spider = subprocess.Popen(write(tmp_path / "slow.py", url, "0", **slow))
    while len(visits) < 10:
        assert spider.poll() is None
        time.sleep(0.01)
    spider.kill()
    assert spider.wait() != 0 and len(visits) < PAGES
    with State(state) as seen:
        assert len(visits) <= len(seen) <= PAGES
    assert crawl(url, "0", MAYHAP_STATE=str(state))["dupefilter/filtered"] == 1
    assert sorted(path.name for path in tmp_path.glob("*mayhap*")) == ["seen.mayhap"]


def killed(script, url, visits, after, **settings):
    """Kills a slow crawl after a number of visits."""
    slow = {"CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 0.05, **settings}
    spider = subprocess.Popen(write(script, url, "0", **slow))
    while len(visits) < after:
        assert spider.poll() is None
        time.sleep(0.01)
    spider.kill()
    assert spider.wait() != 0 and len(visits) < PAGES


def test_27_a_crawl_that_was_killed_fetches_all_pages(site, crawl, tmp_path):
    url, visits = site
    job = str(tmp_path / "job")
    killed(tmp_path / "slow.py", url, visits, 10, JOBDIR=job, MAYHAP_SAVE_EVERY=3)
    visits.clear()
    crawl(url, "0", JOBDIR=job)
    assert set(visits) == {f"/{page}" for page in range(PAGES)}
    # It ended normally, so the next one has nothing to do.
    visits.clear()
    crawl(url, "0", JOBDIR=job)
    assert visits == []
    files = sorted(path.name for path in (tmp_path / "job").glob("*mayhap*"))
    assert files == ["requests.seen.mayhap"]


def test_27_a_second_crawl_that_was_killed_leaves_no_page_out(site, crawl, tmp_path):
    url, visits = site
    job = str(tmp_path / "job")
    # Ends normally after some pages, with others queued.
    crawl(url, "0", JOBDIR=job, CLOSESPIDER_PAGECOUNT=5, CONCURRENT_REQUESTS=1)
    visits.clear()
    killed(tmp_path / "slow.py", url, visits, 5, JOBDIR=job)
    visits.clear()
    crawl(url, "0", JOBDIR=job)
    assert set(visits) == {f"/{page}" for page in range(PAGES)}


def test_27_pages_of_a_killed_crawl_come_from_the_cache(site, crawl, tmp_path):
    url, visits = site
    cached = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    job = str(tmp_path / "job")
    killed(tmp_path / "slow.py", url, visits, 10, JOBDIR=job, **cached)
    crawl(url, "0", JOBDIR=job, **cached)
    # The request in flight may be sent twice.
    assert set(visits) == {f"/{page}" for page in range(PAGES)} and len(visits) <= PAGES + 1


def test_23_a_filter_of_other_keys_is_refused(tmp_path, command):
    path = tmp_path / "list.mayhap"
    for options in (["--normalize-url"], ["--lower"], ["--domain"]):
        command("build", "-q", "--force", "-n", 10, "-o", path, *options, "-",
                stdin=b"http://a.example/\n")  # fmt: skip
        with pytest.raises(ValueError, match=options[0].strip("-")):
            DupeFilter(None, state=str(path))
