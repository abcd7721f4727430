"""The parts of `mayhap_bloom.spark` without Spark: files behind URLs, and which files are data."""

import http.server
import os
import threading

import pytest

fsspec = pytest.importorskip("fsspec")

from mayhap_bloom import Bloom  # noqa: E402
from mayhap_bloom.spark import _source, _storage  # noqa: E402


@pytest.fixture(params=["etag", "time", "nothing"])
def site(request):
    """A site of one file, whose version it reports as `request.param` selects."""
    content = {"body": b"", "version": 0}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(content["body"])))
            if request.param == "etag":
                self.send_header("ETag", f'"{content["version"]}"')
            if request.param == "time":
                seconds = 10 + content["version"]
                self.send_header("Last-Modified", f"Thu, 26 Nov 2026 01:00:{seconds} GMT")
            self.end_headers()

        def do_GET(self):
            self.do_HEAD()
            self.wfile.write(content["body"])

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/f.mayhap", content
    server.shutdown()
    server.server_close()
    thread.join()


def filter_of(key):
    b = Bloom(10, 1e-9)
    b.add(key)
    return bytes(b)


@pytest.fixture(autouse=True)
def own_copies(tmp_path, monkeypatch):
    monkeypatch.setattr(_storage.tempfile, "gettempdir", lambda: str(tmp_path))


def test_23_a_filter_behind_http_that_was_replaced_is_the_new_one(site):
    url, content = site
    for i in range(3):
        # The same length each time.
        content.update(body=filter_of(f"key-{i}"), version=i)
        found = _storage.opened(url)
        assert f"key-{i}" in found and f"key-{i - 1}" not in found


def test_23_a_filter_that_is_the_same_is_fetched_once(site, tmp_path):
    url, content = site
    content.update(body=filter_of("a"), version=1)
    for _ in range(3):
        assert "a" in _storage.opened(url)
    content.update(body=filter_of("b"), version=2)
    assert "b" in _storage.opened(url)
    # Older copies are removed.
    assert len(list(tmp_path.glob("mayhap-*/*"))) == 1


@pytest.mark.parametrize("protocol", ["memory", "file"])
def test_23_a_filter_of_another_file_system_that_was_replaced_is_the_new_one(protocol, tmp_path):
    url = "memory://f.mayhap" if protocol == "memory" else f"file://{tmp_path}/f.mayhap"
    for i in range(3):
        with fsspec.open(url, "wb") as file:
            file.write(filter_of(f"key-{i}"))
        found = _storage.opened(url)
        assert f"key-{i}" in found and f"key-{i - 1}" not in found


#: Names of files and folders, and whether Spark reads them (`HadoopFSUtils.shouldFilterOutPathName`
#: of Spark 4, which excludes names, and keeps partitions).
NAMES = {
    "a.parquet": True,
    "_date=2024-01-01/part-0.parquet": True,
    "year=2024/part-0.parquet": True,
    "_a=1/_b=2/part-0.parquet": True,
    "_delta_log/part-0.parquet": False,
    "_SUCCESS": False,
    "_temporary/0/part-0.parquet": False,
    "year=2024/_metadata": False,
    ".hidden=1/part-0.parquet": False,
    ".part-0.parquet.crc": False,
    "part-1.parquet._COPYING_": False,
    "year=2025._COPYING_/part-0.parquet": False,
    "_x": False,
    "a_b/c.parquet": True,
}


def test_23_the_files_of_a_folder_are_those_that_spark_reads(tmp_path):
    folder = tmp_path / "_data"
    for name in NAMES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    expected = sorted(name for name, is_read in NAMES.items() if is_read)
    found = [os.path.relpath(path, folder) for path, _ in _source._files(str(folder))]
    assert sorted(found) == expected
    by_url = [path.partition("_data/")[2] for path, _ in _source._files(f"file://{folder}")]
    assert sorted(by_url) == expected


def test_23_one_file_has_an_absolute_path(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    assert _source._files("a.parquet") == [(str(tmp_path / "a.parquet"), 1)]


class Field:
    def __init__(self, name, kind):
        self.name, self.dataType = name, self
        self.typeName = lambda: kind


class Frame:
    """The part of a data frame that is inspected before any work."""

    def __init__(self, **kinds):
        self.schema = self
        self.fields = [Field(name, kind) for name, kind in kinds.items()]
        self.columns = list(kinds)


def test_16_mistakes_are_said_before_any_work(tmp_path):
    from mayhap_bloom.spark import _plan, _query

    frame = Frame(url="string", st="struct", x="double", contains="boolean")
    for column, error, text in (
        (object(), TypeError, "name of one"), ("st.x", ValueError, "select it first"),
        ("x", TypeError, "texts, bytes or integers; cast it"),
        ("none", ValueError, "there are url"),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            _plan.check_column(frame, column)
    with pytest.raises(TypeError, match="p is a number, not '1%'"):
        _plan.filter_bytes(10, "1%")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        _storage.Target(tmp_path / "nowhere" / "f").check()
    with pytest.raises(ValueError, match="choose another name="):
        _query.contains(frame, "url", tmp_path / "f")


def test_23_a_plan_that_takes_keys_as_they_are_refuses_a_form(tmp_path):
    from mayhap_bloom.spark import _query

    path = tmp_path / "f.mayhap"
    Bloom(10, layout="blocked").save(path, key_options="lower=ascii\n")
    with pytest.raises(ValueError, match="lower=ascii"):
        _query._parted(None, "url", str(path), 2)
