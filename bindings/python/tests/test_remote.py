"""Filters on servers: Redis, and `mayhap serve`, both started here."""

import multiprocessing
import os
import pickle
import socket
import subprocess
import sys
import threading

import numpy
import polars
import pyarrow
import pytest

import mayhap_bloom
from mayhap_bloom import Remote, ServerError

KEYS = [f"https://example.org/{i}/é" for i in range(10_000)]


@pytest.fixture(params=["redis", "mayhap_server"])
def server(request):
    """The URL of each server."""
    return request.getfixturevalue(request.param)


def test_a_filter_is_created_filled_and_opened_by_others(server):
    url = f"{server}/0/seen"
    with pytest.raises(FileNotFoundError, match="/0/seen: there is no filter"):
        mayhap_bloom.open(url)
    seen = mayhap_bloom.create(url, 100_000, 1e-6)
    assert isinstance(seen, Remote) and seen.url == url and url in repr(seen)
    assert seen.add("a") and not seen.add("a") and "a" in seen and "z" not in seen
    assert seen.add_many(["a", "b", b"c", 5]) == [False, True, True, True]
    assert seen.add_many(numpy.array([5, 6])).tolist() == [False, True]
    assert seen.add_many(pyarrow.array(["b", None, "d"])).to_pylist() == [False, None, True]
    assert seen.contains_many(polars.Series(["d", "z"])).to_list() == [True, False]
    seen.update(["e"], iter(["f"]))
    assert seen.count_many(["a", b"b", "c", 5, 6, "d", "e", "f", "z"]) == 8
    other = mayhap_bloom.open(url)
    assert "f" in other and 5 in other and not other.add("e") and other.add("g")
    assert "g" in seen and seen.count == 9 == other.count
    assert seen.target_fpp == 1e-6 and seen.fpp < 1e-6 and seen.health == "ok"
    assert seen.unsure == 0 and seen.replaced == 0
    assert seen.ttl is None and seen.num_bytes > 1000
    assert seen.kind == "remote" and seen.key_options == ""
    again = mayhap_bloom.create(url, 100_000, 1e-6)
    assert "a" in again and again.scheme == seen.scheme
    with pytest.raises(ServerError):
        mayhap_bloom.create(url, 50, 1e-3)
    seen.clear()
    assert "a" not in seen and "a" not in other and other.add("a")
    assert seen.delete() and not seen.delete()
    with pytest.raises(ServerError):
        other.add("a")


def test_many_keys_go_at_once(server):
    seen = mayhap_bloom.create(f"{server}/0/many", 100_000, 1e-9)
    assert all(seen.add_many(KEYS)) and not any(seen.add_many(KEYS))
    assert all(seen.contains_many(KEYS)) and seen.count_many([key + "?" for key in KEYS]) == 0
    assert abs(seen.count - len(KEYS)) < 200
    with pytest.raises(TypeError, match="not float"):
        seen.update(["never inserted", 1.5])
    assert "never inserted" not in seen
    with pytest.raises(TypeError, match="one key"):
        seen.contains_many("text")
    assert seen.add_many([]) == [] and seen.contains_many([]) == []


def test_the_command_and_the_package_share_a_filter(server, command):
    url = f"{server}/0/shared"
    command("create", url, "-n", 10_000, "-p", "1e-6")
    seen = mayhap_bloom.open(url)
    command("add", url, stdin="é\nplain\n".encode())
    assert "é" in seen and seen.add_many(["plain", "ours"]) == [False, True]
    assert command("check", url, stdin=b"ours\nnone\n") == b"ours\n"


def test_a_name_expires(redis):
    seen = mayhap_bloom.create(f"{redis}/0/short", 1000, 1e-6, ttl=600)
    assert 500 < seen.ttl <= 600
    seen.expire(10_000)
    assert 9000 < mayhap_bloom.open(seen.url).ttl <= 10_000
    seen.expire(None)
    assert seen.ttl is None
    for ttl in (0, -1, float("nan")):
        with pytest.raises(ValueError):
            mayhap_bloom.create(f"{redis}/0/never", 1000, ttl=ttl)


def test_keys_are_removed_where_the_server_counts(mayhap_server, command):
    url = f"{mayhap_server}/0/carts"
    command("create", url, "--layout", "counting", "-n", 1000)
    cart = mayhap_bloom.open(url)
    assert cart.add("apple") and cart.remove("apple") and "apple" not in cart
    plain = mayhap_bloom.create(f"{mayhap_server}/0/plain", 1000)
    with pytest.raises((ServerError, TypeError)):
        plain.remove("apple")


def test_native_filters_keep_their_keys_for_ever(redis):
    plain = mayhap_bloom.create(f"{redis}/0/plain", 1000)
    plain.add("apple")
    with pytest.raises((ServerError, TypeError)):
        plain.remove("apple")
    assert "apple" in plain


def test_filters_of_redisson_hash_what_its_codecs_write(redis, command):
    url = f"{redis}/0/redisson"
    command("create", url, "--format", "redisson", "-n", 1000, "-p", "1e-6")
    texts = mayhap_bloom.open(url)
    assert texts.scheme == "redisson" and texts.add("é") and texts.add(5)
    command("add", url, "--key-type", "kryo-string", stdin=b"theirs\n")
    assert texts.contains_many(["theirs", "é", "5", "z"]) == [True, True, True, False]
    numbers = mayhap_bloom.open(url, key_type="kryo-long")
    assert 5 not in numbers and numbers.add_many([5, -7]) == [True, True]
    assert command("check", url, "--key-type", "kryo-long", stdin=b"-7\n8\n") == b"-7\n"
    with pytest.raises(ValueError, match="no key of the type kryo-long"):
        numbers.add("no number")
    with pytest.raises(ServerError, match="no keys of (the )?type utf16"):
        mayhap_bloom.open(url, key_type="utf16")
    with pytest.raises(ValueError, match="key_types"):
        mayhap_bloom.open(url, key_type="java")


def test_a_bitmap_is_opened_with_the_shape_that_it_does_not_record(redis, command):
    url, shape = f"{redis}/0/bitmap", {"num_bits": 20_000, "num_hashes": 10}
    options = ("--format", "magnuss-redis", "--bits", 20_000, "--hashes", 10)
    command("create", url, *options)
    command("add", url, *options, stdin=b"theirs\n")
    seen = mayhap_bloom.open(url, format="magnuss-redis", **shape)
    assert seen.scheme == "magnuss-redis" and "theirs" in seen and "z" not in seen
    assert seen.add("ours") and command("check", url, *options, stdin=b"ours\nz\n") == b"ours\n"
    with pytest.raises(ServerError, match="num_bits=M, num_hashes=K"):
        mayhap_bloom.open(url, format="magnuss-redis")
    with pytest.raises(ValueError, match="together"):
        mayhap_bloom.open(url, format="magnuss-redis", num_bits=20_000)


@pytest.mark.parametrize(
    "given",
    [{"num_bits": 9}, {"num_hashes": 3}, {"num_bits": 9, "num_hashes": 3}, {"column": "id"}],
)
def test_what_a_filter_on_a_server_records_itself_is_not_given(server, given):
    url = f"{server}/0/recorded"
    mayhap_bloom.create(url, 1000, 1e-6)
    (first, _) = next(iter(given.items()))
    with pytest.raises(ValueError, match=first):
        mayhap_bloom.open(url, **given)


def test_two_databases_are_two_places(redis):
    one = mayhap_bloom.create(f"{redis}/1/name", 1000, 1e-6)
    other = mayhap_bloom.create(f"{redis}/2/name", 1000, 1e-6)
    one.add("a")
    assert "a" in one and "a" not in other


@pytest.mark.parametrize(
    ("url", "error", "match"),
    [
        ("redis://127.0.0.1", ValueError, "no filter"),
        ("redis://127.0.0.1/x/name", ValueError, "the database comes before"),
        ("redis://u:secret@127.0.0.1:port/0/name", ValueError, "not the address"),
    ],
)
def test_what_is_no_url_of_a_filter_is_refused(url, error, match):
    for call in (mayhap_bloom.open, lambda url: mayhap_bloom.create(url, 10)):
        with pytest.raises(error, match=match) as caught:
            call(url)
        assert "secret" not in str(caught.value)


def test_a_server_that_is_gone_is_an_error_in_time(redis):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"redis://u:secret@127.0.0.1:{silent.getsockname()[1]}/0/name"
        with pytest.raises(ServerError, match="127.0.0.1") as caught:
            mayhap_bloom.open(url, timeout=0.3)
    assert "secret" not in str(caught.value)
    with pytest.raises(ServerError, match="refuse"):
        mayhap_bloom.create(url, 10, timeout=0.3)
    for timeout in (0, -1, float("inf")):
        with pytest.raises(ValueError, match="timeout"):
            mayhap_bloom.open(f"{redis}/0/name", timeout=timeout)


def test_other_threads_run_while_a_call_waits(redis):
    # A thread of this process is between the filter and its server.
    with socket.socket() as front:
        front.bind(("127.0.0.1", 0))
        front.listen()
        port = int(redis.rpartition(":")[2])

        def forward(source, target):
            while data := source.recv(65_536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

        def serve():
            client, _ = front.accept()
            with client, socket.create_connection(("127.0.0.1", port)) as behind:
                back = threading.Thread(target=forward, args=(behind, client), daemon=True)
                back.start()
                forward(client, behind)
                back.join()

        threading.Thread(target=serve, daemon=True).start()
        url = f"redis://127.0.0.1:{front.getsockname()[1]}/0/behind"
        seen = mayhap_bloom.create(url, 1000, 1e-9)
        assert seen.add("a") and seen.add_many(["a", "b"]) == [False, True]
        assert "a" in mayhap_bloom.open(f"{redis}/0/behind")


def test_many_threads_share_a_filter(redis):
    seen, new = mayhap_bloom.create(f"{redis}/0/threads", 100_000, 1e-9), []

    def add():
        new.append(sum(seen.add_many(KEYS[:3000])))
        new.append(sum(seen.add(key) for key in KEYS[3000:3200]))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(new) == 3200 and seen.count_many(KEYS[:3200]) == 3200


SPIDER = """
import sys
import mayhap_bloom
seen = mayhap_bloom.open(sys.argv[1])
print(sum(seen.add_many([f"key-{i}" for i in range(20_000)])))
"""


@pytest.mark.parametrize("name", ["redis", "mayhap_server"])
def test_a_key_is_new_for_one_of_many_processes(name, request):
    url = f"{request.getfixturevalue(name)}/0/processes"
    mayhap_bloom.create(url, 100_000, 1e-9)
    words = [sys.executable, "-c", SPIDER, url]
    spiders = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(3)]
    counts = [int(spider.communicate()[0]) for spider in spiders]
    # Of keys that two insert in the same moment, `mayhap serve` may say "new" to both.
    assert sum(counts) == 20_000 if name == "redis" else sum(counts) >= 20_000


def use_inherited(seen, url, answers):
    try:
        seen.add("from the child")
    except ServerError as error:
        answers.put((str(error), mayhap_bloom.open(url).add("opened by the child")))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_opens_the_filter_itself(redis):
    url = f"{redis}/0/forked"
    seen = mayhap_bloom.create(url, 1000, 1e-9)
    seen.add("a")
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=use_inherited, args=(seen, url, answers), daemon=True)
    child.start()
    message, new = answers.get(timeout=60)
    child.join()
    assert "after fork()" in message and new and child.exitcode == 0
    assert "opened by the child" in seen and "from the child" not in seen
    with pytest.raises(TypeError, match="by its URL"):
        pickle.dumps(seen)
