"""The interface that users of `set` expect, and the truth about the rate."""

import copy
import multiprocessing
import pickle
import warnings

import pytest

import mayhap_bloom
from mayhap_bloom import Bloom, Compact, Counting, Fuse, Matrix, Ribbon, Scalable, Window


def filled(n=1000, **options):
    b = Bloom(n, 1e-6, **options)
    b.update(f"key-{i}" for i in range(n // 2))
    return b


def test_add_says_whether_a_key_was_new():
    b = Bloom(100, 1e-6)
    assert b.add("a") is True and b.add("a") is False
    assert "a" in b and b.contains_key("a") and "b" not in b
    assert len(b) == b.count == 1 and b
    b.clear()
    assert "a" not in b and len(b) == 0 and not b


def test_the_numbers_are_those_of_the_library():
    b = Bloom(1_000_000, 0.01)
    assert (b.expected_items, b.target_fpp) == (1_000_000, 0.01)
    # 10.10 bits a key, in whole blocks.
    assert (b.layout, b.kind, b.num_bits) == ("blocked", "bloom", b.num_bytes * 8)
    assert round(b.num_bits / 1_000_000, 2) == 10.1 and b.num_bits % 512 == 0
    assert Bloom(1_000_000, 1e-6).layout == "standard"
    assert Bloom(1_000_000, 0.01, layout="standard").num_hashes == 7
    b = Bloom(100_000, 0.01)
    b.update(range(100_000))
    assert 0.008 < b.fpp < 0.012 and abs(b.fpp / b.expected_fpp - 1) < 0.05
    # Distinct absent keys: 3 standard deviations of a binomial count.
    found = b.count_many(range(100_000, 200_000))
    assert abs(found - 100_000 * b.fpp) < 3 * (100_000 * b.fpp) ** 0.5
    assert 0.3 < b.fill < 0.7 and abs(b.distinct - 100_000) < 500
    assert b.health == "near capacity"
    assert repr(b).startswith("<mayhap_bloom.Bloom: 99") and "promised" in repr(b)


def test_union_takes_over_the_keys_of_both():
    left, right = Bloom(100, 1e-6), Bloom(100, 1e-6)
    left.add("left")
    right.add("right")
    both = left | right
    assert "left" in both and "right" in both and "right" not in left and type(both) is Bloom
    left |= right
    assert left == both and "right" in left and left != right
    left |= left
    assert left == both


def test_unlike_filters_are_not_united():
    b = Bloom(100)
    for other in (Bloom(200), Bloom(100, 0.001), Bloom(100, seed=1), Scalable(100), Counting(100),
                  Compact(100)):  # fmt: skip
        with pytest.raises(mayhap_bloom.IncompatibleError):
            b |= other
        assert b != other
    with pytest.raises(TypeError, match="use update"):
        b |= {"key"}
    with pytest.raises(TypeError):
        b | {"key"}
    with pytest.raises(TypeError, match="not intersected"):
        b & b
    assert len(b) == 0 and b != "b"


def test_filters_are_not_hashed():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Bloom(10))


def through_pickle(b):
    return pickle.loads(pickle.dumps(b))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, Bloom.copy, through_pickle])
def test_copies_are_of_their_own(copied):
    b = filled(on_full="raise")
    other = copied(b)
    assert other == b and len(other) == len(b) and type(other) is Bloom and other.on_full == "raise"
    other.add("only there")
    assert "only there" not in b and other != b


def count_in_child(b):
    return b.count_many(f"key-{i}" for i in range(500))


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_filters_go_to_other_processes(method):
    b = filled()
    with warnings.catch_warnings():
        # From 3.12 on, a fork in a process with threads is a warning; no thread here holds a lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.apply(count_in_child, (b,)) == 500


def test_all_kinds_are_pickled():
    for b in (Scalable(10), Compact(10), Counting(10), Window(items=10), Fuse(["a"]),
              Bloom(10, on_full="grow"), Compact(10, on_full="grow")):  # fmt: skip
        if b.kind != "fuse":
            b.add("a")
        other = pickle.loads(pickle.dumps(b))
        assert "a" in other and other.kind == b.kind and bytes(other) == bytes(b)
    m = Matrix(3, 10)
    m.add(1, "a")
    assert pickle.loads(pickle.dumps(m)).which("a") == [1]


def test_a_secret_key_is_in_no_pickle_and_no_bytes():
    key = mayhap_bloom.new_secret_key()
    b = Bloom(100, secret_key=key)
    b.add("a")
    assert b.digest == "sip13" and b.seed is None
    with pytest.raises(TypeError, match="secret key"):
        pickle.dumps(b)
    data = bytes(b)
    assert key not in data
    with pytest.raises(mayhap_bloom.FormatError, match="secret key"):
        mayhap_bloom.from_bytes(data)
    with pytest.raises(mayhap_bloom.FormatError, match="wrong secret key"):
        mayhap_bloom.from_bytes(data, secret_key=bytes(16))
    assert "a" in mayhap_bloom.from_bytes(data, secret_key=key)
    for bad in (b"", b"short", bytes(17)):
        with pytest.raises(ValueError, match="16 bytes"):
            Bloom(10, secret_key=bad)
    with pytest.raises(ValueError, match="exclude"):
        Bloom(10, seed=1, secret_key=key)


def test_a_full_filter_warns_once():
    b = Bloom(100, 0.01)
    b.update(range(90))
    with pytest.warns(mayhap_bloom.FilterFullWarning, match="created for") as caught:
        for i in range(300):
            b.add(i)
        b.update(range(1000))
    assert len(caught) == 1 and b.health == "over capacity" and b.fpp > 0.01
    with pytest.warns(mayhap_bloom.FilterFullWarning):
        Bloom(100).update(range(1000))
    # The tests turn warnings into errors: `add` then raises.
    with pytest.raises(mayhap_bloom.FilterFullWarning):
        Bloom(10).update(range(1000))


def test_a_full_filter_raises_if_told_to():
    for insert in (lambda b, keys: [b.add(key) for key in keys], Bloom.update, Bloom.add_many):
        b = Bloom(100, 1e-6, on_full="raise")
        with pytest.raises(mayhap_bloom.FilterFullError, match="created for 100 keys"):
            insert(b, list(range(1000)))
        # One by one, the keys before it are inserted; of a batch, none.
        assert len(b) == (100 if insert not in (Bloom.update, Bloom.add_many) else 0)
        b.update(range(100))
        assert len(b) == 100 and all(i in b for i in range(100)) and 100 not in b
        assert b.add(5) is False
        with pytest.raises(mayhap_bloom.FilterFullError):
            b.add("new")


def test_a_growing_filter_keeps_its_rate():
    b = Bloom(100, 0.01, on_full="grow")
    b.update(range(10_000))
    assert all(i in b for i in range(10_000)) and b.fpp < 0.01 and b.on_full == "grow"
    with pytest.raises(ValueError, match="leave layout out"):
        Bloom(100, on_full="grow", layout="blocked")


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        ((0,), {}, ValueError), ((-1,), {}, OverflowError), ((-1,), {}, ValueError),
        ((10,), {"seed": -1}, ValueError),
        ((2**70,), {}, ValueError), ((10,), {"max_bytes": -1}, ValueError),
        ((10, 0.0), {}, ValueError),
        ((10, 1.0), {}, ValueError), ((10, float("nan")), {}, ValueError),
        ((10, 1e-30), {}, ValueError), ((2**63, 1e-9), {}, ValueError), (("10",), {}, TypeError),
        ((10,), {"layout": "square"}, ValueError), ((10,), {"on_full": "stop"}, ValueError),
        ((10**9,), {"max_bytes": 1000}, ValueError), ((10,), {"unknown": 1}, TypeError),
    ],
)  # fmt: skip
def test_numbers_that_no_filter_has_are_refused(arguments, options, error):
    with pytest.raises(error):
        Bloom(*arguments, **options)


def test_the_bits_are_a_buffer_to_read():
    b = filled()
    view = memoryview(b)
    assert view.readonly and view.nbytes == b.num_bytes and bytes(b)[4096:][: view.nbytes] == view
    with pytest.raises(TypeError):
        view[0] = 1
    for change in (lambda: b.add("x"), lambda: b.update(["x"]), b.clear,
                   lambda: b.__ior__(b.copy())):  # fmt: skip
        with pytest.raises(BufferError, match="1 memoryviews"):
            change()
    assert "key-1" in b
    view.release()
    assert b.add("x")
    with pytest.raises(BufferError, match="in pieces"):
        memoryview(grown())


def grown():
    b = Scalable(10)
    b.update(range(1000))
    return b


def test_kinds_have_their_own_operations():
    c = Counting(1000, 1e-6, counter_bits=8)
    c.update(["a", "a", "b"])
    assert c.estimated_count("a") == 2 and c.estimated_count("z") == 0
    assert c.remove("b") and not c.remove("b") and "b" not in c and "a" in c
    c = Compact(1000, 1e-6)
    c.update(["a", "a", "b"])
    assert c.kind == "compact" and c.on_full == "raise" and c.count == 3
    assert c.estimated_count("a") == 2 and c.estimated_count("z") == 0
    assert c.remove("b") and not c.remove("b") and "b" not in c and "a" in c
    other = Compact(1000, 1e-6)
    other.add("a")
    assert (c | other).estimated_count("a") == 3
    with pytest.raises(ValueError, match="no room for more keys"):
        Compact(1000, on_full="warn")
    w = Window(items=100, target_fpp=1e-6)
    w.update(range(1000))
    assert 999 in w and 0 not in w and w.age("never") is None
    low, high = w.age(999)
    assert low <= 1 <= high + 1
    hour = Window(items=100, seconds=3600)
    hour.add("now")
    assert "now" in hour and hour.age("now")[0] < 3600
    m = Matrix(3, 1000, 1e-6)
    m.update(1, ["a", "b"])
    assert m.add(2, "a") and m.which("a") == [1, 2]
    assert m.which_many(["a", "b", "c"]) == [[1, 2], [1], []]
    assert "a" in m and "c" not in m and len(m) == 3 and m.count(1) == 2
    for call in (lambda: m.add(3, "a"), lambda: m.update(7, ["a"]), lambda: m.count(3)):
        with pytest.raises(IndexError):
            call()
    for bad in (0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="seconds"):
            Window(items=10, seconds=bad)


def test_classes_are_extended():
    class Seen(Bloom):
        def see(self, key):
            return not self.add(key)

    seen = Seen(10)
    assert not seen.see("a") and seen.see("a")
    with pytest.raises(TypeError):
        mayhap_bloom.Filter()
    with pytest.raises(TypeError):
        Bloom.add("not a filter", "key")


@pytest.mark.parametrize("cls", [Fuse, Ribbon])
def test_sets_that_never_change(cls):
    f = cls(range(1000), bits=16)
    assert all(i in f for i in range(1000)) and len(f) == 1000
    assert f.kind == cls.__name__.lower() and type(f.copy()) is cls
    assert f.count_many(range(1000, 101_000)) < 20
    for change in (lambda: f.add("x"), f.clear, lambda: f.update([1]), lambda: f | f, f.shrink):
        with pytest.raises(mayhap_bloom.ReadOnlyError):
            change()
    again = mayhap_bloom.from_bytes(bytes(f))
    assert type(again) is cls and again == f and again == pickle.loads(pickle.dumps(f))
    # Keys that come twice, in another order.
    assert bytes(cls([*range(999, -1, -1), 5, 7], bits=16)) == bytes(f)
    assert 1 not in cls([]) and len(cls([])) == 0
    key = mayhap_bloom.new_secret_key()
    assert "a" in cls(["a"], secret_key=key) and cls(["a"], seed=7).seed == 7
    for fpp in (0.04, 0.001):
        f = cls(range(10_000), target_fpp=fpp)
        assert all(i in f for i in range(10_000)) and 0.9 * fpp <= f.expected_fpp <= fpp
        assert abs(f.count_many(range(10_000, 210_000)) - 200_000 * fpp) < 0.2 * 200_000 * fpp
    for bad in ({"bits": 3}, {"bits": 33}, {"target_fpp": 1e-11}, {"target_fpp": float("nan")},
                {"target_fpp": 2.0}, {"bits": 8, "target_fpp": 0.1}):  # fmt: skip
        with pytest.raises(ValueError):
            cls([1], **bad)


def test_a_ribbon_filter_is_smaller_than_a_fuse_filter():
    sizes = [cls(range(100_000), target_fpp=0.001).num_bytes for cls in (Ribbon, Fuse)]
    assert sizes[0] < 1.02 * 100_000 * 9.97 / 8 and 1.1 * sizes[0] < sizes[1]


@pytest.mark.parametrize("layout", ["blocked", "standard"])
def test_a_filter_shrinks_as_far_as_its_rate_allows(layout):
    large = Bloom(400_000, 0.01, layout=layout)
    large.update(range(3_000))
    before = bytes(large)
    small = large.shrink()
    assert type(small) is Bloom and small.layout == layout and bytes(large) == before
    factor, rest = divmod(large.num_bits, small.num_bits)
    assert rest == 0 and factor > 10 and small == large.shrink(factor=factor)
    # The keys are counted by its bits now.
    assert all(i in small for i in range(3_000)) and abs(len(small) - 3_000) < 60
    assert small.target_fpp == 0.01 and small.fpp < 0.0105 and small.expected_items >= 3_000
    # With the capacity of its new size.
    with pytest.warns(mayhap_bloom.FilterFullWarning):
        small.update(range(3_000, 3_000 + small.expected_items))
    assert small.health == "over capacity"
    # A block filter has no size in between: a copy, with the promise that was requested.
    assert large.shrink(expected_items=60_000).expected_items == 60_000
    assert large.shrink(target_fpp=1e-9).target_fpp == 1e-9
    assert large.shrink(target_fpp=0.1).num_bytes <= large.shrink().num_bytes
    # A smaller size does not keep the rate: it is a copy.
    full = Bloom(1_000, 0.01, layout=layout)
    full.update(range(1_000))
    assert full.shrink() == full and full.shrink() is not full
    for bad in ({"factor": 0}, {"factor": 2**60 + 1}, {"target_fpp": 0.0}, {"target_fpp": 1e-30},
                {"factor": 2, "target_fpp": 0.1}, {"expected_items": 5},
                {"factor": 2, "expected_items": 9}, {"factor": -1}):  # fmt: skip
        with pytest.raises(ValueError):
            large.shrink(**bad)
    assert bytes(large) == before


def test_growing_filters_shrink_to_one_layer_and_other_kinds_do_not():
    chain = Scalable(32, 0.01)
    chain.update(range(34))
    small = chain.shrink()
    assert small.num_bytes < chain.num_bytes / 4 and all(i in small for i in range(34))
    small.update(range(34, 10_000))
    assert type(small) is Scalable and 9_999 in small and small.health == "ok"
    for other in (Compact(10), Counting(10), Window(items=10)):
        with pytest.raises(TypeError, match="has no shrink"):
            other.shrink()
