"""Many keys at once: their containers, and the answers."""

import array
import gc

import numpy
import pandas
import polars
import pyarrow
import pytest

from mayhap_bloom import Bloom

TEXTS = ["a", "", "é", "日本", "a" * 300, "b"]
NUMBERS = [0, 1, -1, 127, -128, 5]


class Custom:
    """An object that has `__index__`, as an enum or a NumPy number."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


def one_by_one(keys):
    """The filter with the keys, inserted one at a time, and the answers."""
    b = Bloom(1000, 1e-9)
    return b, [b.add(key) for key in keys]


def containers():
    """Each batch with the keys that are in it."""
    for texts in (TEXTS, ["a", "b", "a"], ["same"] * 3):
        yield list(texts), texts
        yield tuple(texts), texts
        yield iter(texts), texts
        yield (text for text in texts), texts
        yield dict.fromkeys(texts), list(dict.fromkeys(texts))
        yield numpy.array(texts), texts
        yield numpy.array(texts, dtype=object), texts
        yield numpy.array(texts, dtype=">U300"), texts
        yield numpy.array([text.encode() for text in texts]), texts
        for kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(),
                     pyarrow.dictionary(pyarrow.int8(), pyarrow.string())):  # fmt: skip
            yield pyarrow.array(texts, kind), texts
        encoded = [text.encode() for text in texts]
        for kind in (pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view()):
            yield pyarrow.array(encoded, kind), texts
        yield pyarrow.chunked_array([texts[:1], texts[1:], []], pyarrow.string()), texts
        yield pyarrow.array(texts)[1:], texts[1:]
        yield pyarrow.table({"key": texts}), texts
        yield polars.Series("key", texts), texts
        yield polars.Series("key", texts, dtype=polars.Categorical), texts
        yield polars.DataFrame({"key": texts}), texts
        yield pandas.Series(texts), texts
        yield pandas.Series(texts, dtype="string[pyarrow]"), texts
        yield pandas.Index(texts), texts
    yield pyarrow.array([b"ab", b"cd"], pyarrow.binary(2)), ["ab", "cd"]
    for code in "bhilq":
        yield array.array(code, NUMBERS), NUMBERS
        yield numpy.array(NUMBERS, dtype=code), NUMBERS
        yield numpy.array(NUMBERS, dtype=numpy.dtype(code).newbyteorder(">")), NUMBERS
        yield numpy.repeat(numpy.array(NUMBERS, dtype=code), 3)[::-3], NUMBERS[::-1]
    for code in "BHILQ":
        whole = [0, 1, 200, 255]
        yield array.array(code, whole), whole
        yield numpy.array(whole, dtype=code), whole
        yield memoryview(array.array(code, whole)), whole
    yield numpy.array([2**64 - 1, 2**63], dtype="Q"), [2**64 - 1, 2**63]
    for kind in (pyarrow.int8(), pyarrow.int16(), pyarrow.int32(), pyarrow.int64()):
        yield pyarrow.array(NUMBERS, kind), NUMBERS
        yield pyarrow.array(NUMBERS, kind).dictionary_encode(), NUMBERS
    for kind in (pyarrow.uint8(), pyarrow.uint16(), pyarrow.uint32(), pyarrow.uint64()):
        yield pyarrow.array([0, 1, 255], kind), [0, 1, 255]
    yield polars.Series(NUMBERS), NUMBERS
    yield pandas.Series(NUMBERS), NUMBERS
    yield ["a", b"b", 1, numpy.int8(2), bytearray(b"c"), Custom(7)], ["a", "b", 1, 2, "c", 7]
    yield range(5000), list(range(5000))
    yield numpy.arange(100_000), list(range(100_000))
    yield pyarrow.array([f"key-{i}" for i in range(40_000)]), [f"key-{i}" for i in range(40_000)]
    yield [], []
    yield numpy.array([], dtype="q"), []
    yield pyarrow.array([], pyarrow.string()), []


def as_list(answers):
    """Answers of any library as a list of `bool`."""
    if isinstance(answers, list):
        return answers
    if isinstance(answers, polars.Series):
        return answers.to_list()
    return answers.to_pylist() if hasattr(answers, "to_pylist") else answers.tolist()


@pytest.mark.filterwarnings("ignore::mayhap_bloom.FilterFullWarning")
def test_a_batch_does_what_its_keys_do_one_by_one():
    count = 0
    for keys, expected in containers():
        name = f"{type(keys)} {getattr(keys, 'dtype', getattr(keys, 'type', ''))}"
        one, new = one_by_one(expected)
        b = Bloom(1000, 1e-9)
        assert as_list(b.add_many(keys)) == new, name
        assert b == one and len(b) == len(one), name
        count += 1
        if hasattr(keys, "__next__"):
            continue
        assert as_list(b.contains_many(keys)) == [True] * len(expected), name
        assert b.count_many(keys) == len(expected), name
        other = Bloom(1000, 1e-9)
        other.update(keys)
        assert other == one, name
        assert Bloom(1000, 1e-9).count_many(keys) == 0, name
    assert count > 120


def test_answers_are_of_the_kind_of_the_input():
    b = Bloom(1000, 1e-9)
    b.update(["a", "b", 1, 2])
    assert b.contains_many(["a", "z"]) == [True, False]
    assert b.contains_many(("a", "z")) == [True, False]
    answers = b.contains_many(numpy.array([1, 9]))
    assert answers.dtype == numpy.bool_ and answers.tolist() == [True, False]
    answers[1] = True  # it is memory of its own
    answers = b.contains_many(pyarrow.array(["a", "z", None]))
    assert answers.equals(pyarrow.array([True, False, None]))
    series = polars.Series("name", ["a", None, "z"])
    assert b.contains_many(series).equals(polars.Series("name", [True, None, False]))
    series = pandas.Series(["a", "z"], index=[5, 7], name="name")
    answers = b.contains_many(series)
    assert answers.index.tolist() == [5, 7] and answers.name == "name"
    assert answers.tolist() == [True, False]


def test_nulls_are_no_keys_and_have_no_answers():
    for make in (pyarrow.array, lambda keys: pyarrow.array(keys).dictionary_encode(),
                 lambda keys: pyarrow.chunked_array([keys[:2], keys[2:]]),
                 lambda keys: pyarrow.array(keys, pyarrow.string_view()),
                 lambda keys: pyarrow.array(["x", *keys])[1:]):  # fmt: skip
        b = Bloom(1000, 1e-9)
        keys = make([None, "a", None, "b", "a", None])
        assert b.add_many(keys).to_pylist() == [None, True, None, True, False, None]
        assert len(b) == 2 and "" not in b
        assert b.count_many(keys) == 3
    keys = pyarrow.array([None if i % 3 else i for i in range(50_000)])
    b = Bloom(50_000, 1e-9)
    assert b.add_many(keys).to_pylist() == [None if i % 3 else True for i in range(50_000)]
    assert b.add_many(pyarrow.array([None, None], pyarrow.null())).to_pylist() == [None, None]


def test_keys_are_selected_in_the_kind_of_the_input():
    b = Bloom(1000, 1e-9)
    b.update(["a", "c", 1])
    keys = ["a", "b", "c", "d"]
    assert b.filter_many(keys) == ["a", "c"] and b.filter_many(keys, absent=True) == ["b", "d"]
    assert b.filter_many(iter(keys)) == ["a", "c"]
    assert b.filter_many(numpy.array(keys)).tolist() == ["a", "c"]
    assert b.filter_many(numpy.array([1, 2]), absent=True).tolist() == [2]
    assert b.filter_many(array.array("q", [1, 2])) == [1]
    with_null = [*keys, None]
    assert b.filter_many(pyarrow.array(with_null)).to_pylist() == ["a", "c"]
    assert b.filter_many(pyarrow.array(with_null), absent=True).to_pylist() == ["b", "d"]
    assert b.filter_many(polars.Series(with_null)).to_list() == ["a", "c"]
    assert b.filter_many(polars.Series(with_null), absent=True).to_list() == ["b", "d"]
    assert b.filter_many(pandas.Series(with_null)).tolist() == ["a", "c"]
    assert b.filter_many(pandas.Series(with_null), absent=True).tolist() == ["b", "d"]


@pytest.mark.parametrize(
    ("keys", "match"),
    [
        ("text", "this is one key"), (b"bytes", "this is one key"), (bytearray(b"x"), "one key"),
        (5, "iter"), (None, "iter"), ([1.5], "not float"), ([None], "not NoneType"),
        (numpy.array([1.5]), "format 'd'|format \"d\""), (numpy.array([True]), "format"),
        (numpy.array([[1, 2], [3, 4]]), "one dimension, not 2"), (numpy.array(5), "0-d|not 0"),
        (numpy.array([1], dtype="M8[s]"), "keys are"), (pyarrow.array([1.5]), "not Float64|double"),
        (pyarrow.array([True]), "Boolean"), (polars.Series([[1]]), "List"),
        (pyarrow.table({"a": [1], "b": [2]}), "one column, and this has 2"),
    ],
)  # fmt: skip
def test_what_holds_no_keys_is_refused(keys, match):
    b = Bloom(100)
    for call in (b.update, b.add_many, b.contains_many, b.count_many, b.filter_many):
        with pytest.raises(TypeError, match=match):
            call(keys)
    assert len(b) == 0


def test_keys_before_a_bad_one_are_inserted_as_a_set_does():
    b = Bloom(10_000)
    with pytest.raises(TypeError):
        b.update([*range(3000), None, 4000])
    assert all(i in b for i in range(3000)) and 4000 not in b

    def broken():
        yield "first"
        raise RuntimeError("from the iterator")

    with pytest.raises(RuntimeError, match="from the iterator"):
        b.update(broken())
    assert "first" in b


def test_a_batch_may_use_the_filter_that_it_fills():
    b = Bloom(1000, 1e-9)

    class Reentrant:
        def __index__(self):
            b.add("from within")
            assert "from within" in b
            return 5

    b.update(["a", Reentrant(), "b"])
    assert all(key in b for key in ("a", "b", 5, "from within"))
    keys = ["a", "b"]

    class Shrinking:
        def __index__(self):
            keys.clear()
            return 77

    keys += [Shrinking(), "never reached"]
    b.update(keys)
    assert 77 in b and "never reached" not in b


def test_memory_of_arrays_is_given_back():
    b = Bloom(100_000)
    keys = pyarrow.array([f"key-{i}" for i in range(20_000)])
    gc.collect()
    before = pyarrow.total_allocated_bytes()
    for _ in range(20):
        b.update(keys)
        b.contains_many(keys)
    gc.collect()
    assert pyarrow.total_allocated_bytes() <= before + 100_000


def test_texts_beyond_ascii_leave_no_copies_behind():
    texts = [f"ключ-{i}-日本語" for i in range(200_000)]
    tracked = sum_of_sizes(texts)
    b = Bloom(len(texts))
    b.update(texts)
    assert b.count_many(texts) == len(texts)
    # A text that CPython keeps in UTF-8 as well is larger. 2 MB would be 10 MB a million.
    assert sum_of_sizes(texts) - tracked < 20_000
    mixed = [f"ключ-{i}" if i % 2 else f"key-{i}" for i in range(100_000)]
    tracked = sum_of_sizes(mixed)
    b = Bloom(len(mixed))
    b.add_many(mixed)
    assert sum_of_sizes(mixed) - tracked < 20_000
    one = "ключ" * 100
    before = one.__sizeof__()
    assert one.encode() not in b and one.__sizeof__() == before
    b.add(one)
    assert one.__sizeof__() > before  # so a copy would have been seen above


def sum_of_sizes(texts):
    return sum(text.__sizeof__() for text in texts)
