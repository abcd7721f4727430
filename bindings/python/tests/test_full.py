"""Full filters: what happens to a batch that is too large."""

import numpy
import polars
import pyarrow
import pytest

import mayhap_bloom
from mayhap_bloom import Bloom, Compact, Counting, FilterFullError, State

#: Ways to hand over the numbers below 25; the filters are for 10.
BATCHES = {
    "list": lambda keys: keys,
    "tuple": tuple,
    "generator": lambda keys: (key for key in keys),
    "set": set,
    "NumPy": numpy.array,
    "Arrow": pyarrow.array,
    "Arrow with nulls": lambda keys: pyarrow.array([None, *keys]),
    "Polars": polars.Series,
    "large": lambda keys: numpy.tile(numpy.array(keys), 4000),
}


def filters(tmp_path):
    yield Bloom(10, 0.01, on_full="raise")
    yield Bloom(10, 0.01, on_full="raise", layout="standard")
    yield Counting(10, 0.01, on_full="raise")
    path = tmp_path / "f.mayhap"
    Bloom(10, 0.01).save(path)
    yield mayhap_bloom.open(path, on_full="raise")
    yield State(tmp_path / "s.mayhap", create=Bloom(10, 0.01), on_full="raise")


@pytest.mark.parametrize("kind", BATCHES)
@pytest.mark.parametrize("method", ["add_many", "update"])
def test_27_a_batch_that_is_too_large_inserts_none(kind, method, tmp_path):
    make = BATCHES[kind]
    for b in filters(tmp_path):
        before = bytes(b)
        with pytest.raises(FilterFullError):
            getattr(b, method)(make(list(range(25))))
        assert b.count == 0 and bytes(b) == before
        b.update(make(list(range(8))))
        assert all(i in b for i in range(8))
        full = bytes(b)
        with pytest.raises(FilterFullError):
            getattr(b, method)(make(list(range(5, 25))))
        assert bytes(b) == full
        # Keys that are already inside take no room.
        assert b.count_many(range(8)) == 8
        b.update(make(list(range(8))))
        # A counting filter counts repeated insertions, too.
        assert b.count <= 10 or b.kind == "counting"


def test_27_several_batches_are_one(tmp_path):
    for b in filters(tmp_path):
        with pytest.raises(FilterFullError):
            b.update(["a"], numpy.arange(3), [f"k{i}" for i in range(9)])
        assert b.count == 0
        b.update(["a"], numpy.arange(3))
        assert b.count == 4


def test_27_a_key_that_is_none_leaves_nothing_of_its_batch(tmp_path):
    for b in filters(tmp_path):
        with pytest.raises(TypeError):
            b.add_many(["a", "b", 1.5])
        assert b.count == 0 and "a" not in b


@pytest.mark.parametrize("expected_items", [1, 10, 100, 1000])
def test_27_a_batch_of_as_many_keys_as_there_is_room_for_is_inserted(expected_items):
    one, many = (Bloom(expected_items, 0.2, on_full="raise") for _ in range(2))
    inserted = 0
    for i in range(10 * expected_items):
        try:
            one.add(i)
        except FilterFullError:
            break
        inserted += 1
    assert expected_items <= inserted
    # As many keys fit in together as one by one, and no more.
    assert len(many.add_many(range(inserted))) == inserted and bytes(many) == bytes(one)
    with pytest.raises(FilterFullError):
        Bloom(expected_items, 0.2, on_full="raise").update(range(inserted + 1))


@pytest.mark.parametrize("on_full", ["warn", "raise"])
def test_a_filter_that_counts_has_room_for_all_of_its_keys(on_full):
    # At this rate about forty of them are taken for others, and counted all the same.
    counting = Counting(1000, 0.2, on_full=on_full)
    for key in range(1000):
        counting.add(key)
    assert counting.count == 1000 and counting.expected_fpp <= counting.target_fpp
    with pytest.raises((FilterFullError, mayhap_bloom.FilterFullWarning)):
        counting.update(range(1000, 1100))


def test_27_a_union_that_is_too_large_changes_nothing(tmp_path):
    for b in filters(tmp_path):
        if b.kind == "counting" or type(b) is State:
            other = b.copy()
        else:
            other = Bloom(10, 0.01, layout=b.layout)
        b.update(range(7))
        other.update(range(100, 107))
        before = bytes(b)
        with pytest.raises(FilterFullError):
            b |= other
        with pytest.raises(FilterFullError):
            b | other
        assert bytes(b) == before
        if b.kind == "bloom":
            b |= b.copy()
            small = Bloom(10, 0.01, layout=b.layout)
            small.add(200)
            b |= small
            assert 200 in b


def test_a_compact_filter_takes_no_more_copies_or_grows(tmp_path):
    c = Compact(10, 0.001)
    c.update(range(8))
    full = bytes(c)
    for keys in (range(8), range(5, 25)):
        # Repeats take room, too.
        with pytest.raises(FilterFullError, match="10"):
            c.update(list(keys))
        assert bytes(c) == full
    c.update([8, 8])
    assert c.count == 10
    for key in (8, "new"):
        with pytest.raises(FilterFullError, match="10"):
            c.add(key)
    assert c.remove(8) and c.add("new") and c.count == 10
    path = tmp_path / "c.mayhap"
    c.save(path)
    with pytest.raises(FilterFullError, match="10"):
        mayhap_bloom.open(path).add("other")
    grows = Compact(10, 0.001, on_full="grow")
    grows.update(range(1000))
    assert grows.count == 1000 and grows.count_many(range(1000)) == 1000
    assert grows.health == "ok" and grows.fpp <= 0.001
