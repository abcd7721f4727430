"""Files of other systems: the type of their keys, their room, and columns of tables."""

import logging

import numpy
import pyarrow
import pyarrow.parquet
import pytest

import mayhap_bloom
from conftest import PROJECT
from mayhap_bloom import FilterFullError, FilterFullWarning, FormatError, ReadOnlyError

KEYS = [str(i) for i in range(1, 51)]


@pytest.fixture
def created(command, tmp_path):
    """Creates a filter of another system with the command, and adds the numbers from 1 to 50."""

    def create(*options, lines=KEYS, key_type=()):
        path = tmp_path / "filter"
        command("create", "-q", path, *options)
        command("add", "-q", *key_type, path, stdin="".join(f"{k}\n" for k in lines).encode())
        return path

    return create


def test_22_the_only_type_of_a_system_is_taken(created, command):
    path = created("--format", "bloomfileter", "-n", 100, "-p", "1%")
    f = mayhap_bloom.open(path)
    assert f.key_type == "utf16" and all(key in f for key in KEYS)
    assert f.contains_many(KEYS) == [True] * 50
    assert all(i in f for i in range(1, 51))
    # Keys added here are found there.
    new = [key for key in ("alpha", "beta", "gamma") if f.add(key)]
    f.save(path)
    lines = "".join(f"{key}\n" for key in new).encode()
    assert new and command("check", path, stdin=lines) == lines


GUAVA = PROJECT / "crates/mayhap-formats/tests/golden/guava"


def test_22_a_recorded_type_is_taken():
    numbers = mayhap_bloom.open(GUAVA / "javaser_long_mitz64.ser")
    assert numbers.key_type == "long" and all(i in numbers for i in range(40))
    assert all(numbers.contains_many([str(i) for i in range(40)]))
    assert numbers.contains_many(numpy.arange(40)).all()
    texts = mayhap_bloom.open(GUAVA / "javaser_utf8_mitz32.ser")
    assert all(texts.contains_many([f"user:{i}" for i in range(40)]))
    for file, wrong in (("javaser_long_mitz64.ser", "utf16"), ("javaser_utf8_mitz32.ser", "long")):
        with pytest.raises(ValueError, match="has no keys of type"):
            mayhap_bloom.open(GUAVA / file, key_type=wrong)


@pytest.mark.parametrize(("options", "wrong"), [
    (("--format", "bloomfileter"), "bytes"), (("--format", "bloomfileter"), "long"),
    (("--format", "dcso"), "kryo-long"), (("--format", "redisbloom"), "utf16"),
])  # fmt: skip
def test_22_a_type_that_the_file_cannot_have_is_refused(options, wrong, created):
    path = created(*options, "-n", 100, "-p", "1%")
    with pytest.raises(ValueError, match="has no keys of type"):
        mayhap_bloom.open(path, key_type=wrong)


def test_22_a_guess_is_said(created, caplog):
    path = created("--format", "guava", "-n", 100, "-p", "1%")
    with caplog.at_level(logging.WARNING, "mayhap_bloom"):
        f = mayhap_bloom.open(path)
        assert "taken to be of type bytes" in caplog.text
        caplog.clear()
        assert f.contains_many(KEYS) == [True] * 50 and not caplog.text
        # As numbers they are different keys, hardly any of which is found by chance.
        if not f.contains_many(numpy.arange(1000, 1020)).any():
            assert "no key was found as bytes" in caplog.text
    with caplog.at_level(logging.WARNING, "mayhap_bloom"):
        caplog.clear()
        mayhap_bloom.open(path, key_type="bytes")
        assert not caplog.text


def test_22_pybloom_hashes_the_digits_of_numbers(created):
    release = ("--format", "pybloom-live4")
    path = created(*release, "-n", 100, "-p", "0.001", key_type=release)
    f = mayhap_bloom.open(path, format="pybloom-live4")
    assert all(i in f for i in range(1, 51)) and f.contains_many(numpy.arange(1, 51)).all()
    assert f.add(777) and "777" in f


def test_24_on_full_holds_for_filters_that_say_for_how_many_they_are(created):
    path = created("--format", "dcso", "-n", 100, "-p", "1%")
    f = mayhap_bloom.open(path)
    assert (f.on_full, f.expected_items, f.health) == ("warn", 100, "ok")
    with pytest.warns(FilterFullWarning, match="more keys than the 100"):
        f.update(f"key-{i}" for i in range(5000))
    assert f.health == "over capacity"
    f.add("no second warning")

    f = mayhap_bloom.open(path, on_full="raise")
    before = bytes(f)
    for keys in (range(5000), numpy.arange(5000), pyarrow.array(range(5000)), iter(range(5000))):
        with pytest.raises(FilterFullError, match="for 100 keys"):
            f.add_many(keys)
        assert bytes(f) == before
    f.update(range(40))
    assert f.add_many(KEYS) == [False] * 50
    with pytest.raises(FilterFullError):
        for i in range(1000):
            f.add(f"more-{i}")
    assert f.count <= 110
    with pytest.raises(ValueError, match="does not grow"):
        mayhap_bloom.open(path, on_full="grow")


def test_24_on_full_holds_for_filters_that_only_have_bits(created):
    path = created("--format", "guava", "-n", 100, "-p", "1%")
    f = mayhap_bloom.open(path, on_full="raise")
    with pytest.raises(FilterFullError, match="bits are set"):
        f.update(range(5000))
    assert f.health == "ok"
    f.update(range(10))
    f = mayhap_bloom.open(path)
    with pytest.warns(FilterFullWarning, match="bits are set"):
        for i in range(5000):
            f.add(i)
    assert f.health == "over capacity"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {
        "text": pyarrow.array([f"key-{i}" for i in range(500)]),
        "number": pyarrow.array(range(500), pyarrow.int64()),
        "unsigned": pyarrow.array([2**64 - 1 - i for i in range(500)], pyarrow.uint64()),
        "a#b": pyarrow.array([f"other-{i}" for i in range(500)]),
        "plain": pyarrow.array(range(500)),
    }
    filters = {name: {"ndv": 500, "fpp": 1e-6} for name in columns if name != "plain"}
    try:
        pyarrow.parquet.write_table(
            pyarrow.table(columns), path, bloom_filter_options=filters, use_dictionary=False
        )
    except TypeError:
        pytest.skip("this PyArrow writes no filters")
    return path


def test_24_a_column_of_parquet_opens(table):
    text = mayhap_bloom.open(table, column="text")
    assert all(text.contains_many([f"key-{i}" for i in range(500)])) and "other-1" not in text
    number = mayhap_bloom.open(table, column="number")
    assert number.contains_many(numpy.arange(500)).all() and 5 in number and 501 not in number
    unsigned = mayhap_bloom.open(table, column="unsigned")
    keys = numpy.arange(2**64 - 500, 2**64 - 1, dtype=numpy.uint64)
    assert unsigned.contains_many(keys).all() and 2**64 - 1 in unsigned and 5 not in unsigned
    for call in (lambda: text.add("x"), lambda: bytes(text), lambda: text.save(table)):
        with pytest.raises(ReadOnlyError, match="column"):
            call()


def test_24_a_column_has_any_name(table):
    others = [f"other-{i}" for i in range(500)]
    assert all(mayhap_bloom.open(table, column="a#b").contains_many(others))
    # Names of existing files, if the column were part of the path.
    for name in ("t.parquet#a", "t.parquet#a#b", "t.parquet#text"):
        table.with_name(name).write_bytes(b"no table")
    assert all(mayhap_bloom.open(table, column="a#b").contains_many(others))
    assert "key-7" in mayhap_bloom.open(table, column="text")
    with pytest.raises(FormatError, match="no table|#b"):
        mayhap_bloom.open(table.with_name("t.parquet#a"), column="b")


def test_24_a_column_is_named(table):
    for options in ({}, {"format": "parquet"}):
        with pytest.raises(FormatError, match="name a column.*text"):
            mayhap_bloom.open(table, **options)
    with pytest.raises((FormatError, ValueError), match="nowhere"):
        mayhap_bloom.open(table, column="nowhere")
    with pytest.raises(FormatError):
        mayhap_bloom.open(__file__, column="text")


def test_24_what_is_no_value_of_a_column_is_an_error(table):
    number = mayhap_bloom.open(table, column="number")
    for key in ("no number", "1.5", b"\xff"):
        with pytest.raises(ValueError):
            key in number


def test_24_a_bitmap_is_opened_with_its_numbers(tmp_path):
    path = tmp_path / "bits"
    path.write_bytes(bytes(16))
    f = mayhap_bloom.open(path, format="redisson", num_bits=128, num_hashes=3)
    assert (f.num_bits, f.num_hashes) == (128, 3) and f.add("a") and "a" in f
    with pytest.raises(ValueError, match="together"):
        mayhap_bloom.open(path, format="redisson", num_bits=128)
