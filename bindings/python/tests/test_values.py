"""Filters whose keys have a form: a `str` is a value, as in a list."""

import hashlib

import numpy
import pandas
import polars
import pyarrow
import pytest

import mayhap_bloom
import mayhap_bloom.pandas
import mayhap_bloom.polars
from mayhap_bloom import Bloom, Matrix, State

#: Options of the command, a line of the list, and the value as users write it.
FORMS = {
    "lower": (["--lower"], b"Secret\n", "SECRET"),
    "fold": (["--fold"], "Straße\n".encode(), "STRASSE"),
    "trim": (["--trim"], b"  secret \n", "secret\t"),
    "sha1": (["--sha1"], b"secret\n", "secret"),
    "hex": (["--hex"], b"5BAA61E4C9B9\n", "5baa61e4c9b9"),
    "field": (["--delim", ":", "--field", "1", "--lower"], b"Secret:7\n", "secret"),
    "domain": (["--domain"], b"https://Example.org/a\n", "http://example.org/b"),
    "url": (["--normalize-url"], b"HTTP://Example.org:80/%7ea\n", "http://example.org/%7ea"),
}


@pytest.fixture
def built(command, tmp_path):
    """Builds a filter of one line."""

    def build(options, line):
        path = tmp_path / "seen.mayhap"
        command("build", "-q", "--force", "-n", 100, "-p", "1e-9", "-o", path, *options, "-",
                stdin=line)  # fmt: skip
        return path

    return build


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("mmap", [False, True])
def test_23_a_text_is_a_value(name, mmap, built):
    options, line, value = FORMS[name]
    b = mayhap_bloom.open(built(options, line), mmap=mmap)
    assert b.key_options and value in b and b.contains_key(value)
    for column in (
        [value], (value,), {value}, iter([value]), numpy.array([value]), pyarrow.array([value]),
        pyarrow.array([value]).dictionary_encode(), pyarrow.array([value], pyarrow.string_view()),
        polars.Series([value]), polars.Series([value], dtype=polars.Categorical),
        pandas.Series([value]), pandas.Series([value], dtype="category"),
    ):  # fmt: skip
        assert b.count_many(column) == 1, type(column)
    assert polars.DataFrame({"c": [value, None]}).filter(
        polars.col("c").mayhap.contains(b)
    ).height == 1  # fmt: skip
    assert pandas.Series([value]).mayhap.contains(b).tolist() == [True]
    # Bytes are keys as they are, such as the results of `cut`.
    assert b.cut(line.rstrip(b"\n")) in b


@pytest.mark.parametrize("name", ["lower", "sha1", "hex"])
def test_23_what_is_added_as_text_is_found_by_the_command(name, built, command, tmp_path):
    options, line, _ = FORMS[name]
    path = built(options, line)
    new = {"lower": "NeW", "sha1": "new", "hex": "0AFF"}[name]
    b = mayhap_bloom.open(path)
    assert b.add(new) and not b.add(new) and b.add_many([new]) == [False]
    b.save(path)
    assert command("check", path, stdin=new.encode() + b"\n")
    with State(path) as state:
        assert not state.add(new) and new in state


def test_23_a_text_that_has_no_key_is_an_error_and_not_absent(built):
    options, line, _ = FORMS["hex"]
    b = mayhap_bloom.open(built(options, line))
    for call in (lambda: "no hex" in b, lambda: b.add("abc"), lambda: b.contains_many(["zz"]),
                 lambda: b.contains_many(pyarrow.array(["zz"]))):  # fmt: skip
        with pytest.raises(ValueError, match="has no key in this filter.*hex=decode"):
            call()
    assert b.count == 1


def test_23_a_form_that_is_no_form_of_one_text_is_refused(built):
    b = mayhap_bloom.open(built(["--url-prefixes"], b"example.org/a\n"))
    for call in (lambda: "http://example.org/a" in b, lambda: b.add_many(["http://a.b/"])):
        with pytest.raises(ValueError, match="url-prefixes"):
            call()
    assert b.cut("http://example.org/a") in b


def test_23_a_matrix_and_a_copy_have_the_form(command, tmp_path):
    for name, word in (("a", b"Secret\n"), ("b", b"other\n")):
        (tmp_path / name).write_bytes(word)
    path = tmp_path / "m.mayhap"
    command("build", "-q", "--layout", "matrix", "-n", 10, "-p", "1e-9", "-o", path, "--lower",
            tmp_path / "a", tmp_path / "b")  # fmt: skip
    m = mayhap_bloom.open(path)
    assert isinstance(m, Matrix) and m.which("SECRET") == [0] and m.which_many(["OTHER"]) == [[1]]


def test_23_keys_that_are_no_texts_are_as_they_are(built):
    b = mayhap_bloom.open(built(["--sha1"], b"secret\n"))
    digest = hashlib.sha1(b"secret").digest()
    assert digest in b and b"secret" not in b and b.count_many([digest, b"secret"]) == 1
    assert b.add(5) and 5 in b and b.count_many(numpy.array([5])) == 1


def test_23_a_plain_filter_takes_texts_as_they_are():
    b = Bloom(10, 1e-9)
    b.add("Secret")
    assert "secret" not in b and b"Secret" in b
