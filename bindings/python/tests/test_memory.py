"""Memory of other libraries, and memory that is released."""

import gc
import resource
import sys

import numpy
import pyarrow
import pytest

from mayhap_bloom import Bloom, Counting, FilterFullError, Fuse, Scalable, State

COLUMNS = {
    "text": pyarrow.array([f"key-{i}" * 3 for i in range(1000)]),
    "views": pyarrow.array([f"key-{i}" * 3 for i in range(1000)], pyarrow.string_view()),
    "integers": pyarrow.array(numpy.arange(100_000)),
    "fixed": pyarrow.array([bytes([i % 256]) * 16 for i in range(1000)], pyarrow.binary(16)),
    "dictionary": pyarrow.array(["a", "b", "a"]).dictionary_encode(),
    "null": pyarrow.nulls(3),
}


class Handed:
    """An array whose capsules are the same at every call."""

    def __init__(self, array):
        self.capsules = array.__arrow_c_array__()

    def __arrow_c_array__(self, requested_schema=None):
        return self.capsules


@pytest.mark.parametrize("kind", COLUMNS)
def test_25_capsules_that_another_library_has_taken_are_refused(kind):
    handed = Handed(COLUMNS[kind])
    # It takes the array, and frees it.
    pyarrow.Array._import_from_c_capsule(*handed.capsules)
    b = Bloom(200_000)
    for call in (b.add_many, b.update, b.contains_many, b.count_many, Fuse):
        with pytest.raises(ValueError, match="used before"):
            call(handed)
    assert b.count == 0


@pytest.mark.parametrize("kind", COLUMNS)
def test_25_capsules_are_for_one_use(kind):
    handed, b = Handed(COLUMNS[kind]), Bloom(200_000)
    b.update(handed)
    before = b.count
    for _ in range(2):
        with pytest.raises(ValueError, match="used before"):
            b.add_many(handed)
    assert b.count == before


def test_25_a_dictionary_that_leads_beyond_its_values_is_refused():
    indices = pyarrow.array([0, 5], pyarrow.int8())
    array = pyarrow.DictionaryArray.from_arrays(indices, pyarrow.array(["a", "b"]), safe=False)
    with pytest.raises(ValueError, match="cannot be read"):
        Bloom(10).add_many(array)


def grown(call, times):
    """The memory in KiB that calls leave behind, after some to begin with."""
    for _ in range(times // 10):
        call()
    gc.collect()
    before = resident()
    for _ in range(times):
        call()
    gc.collect()
    return resident() - before


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


class Raises:
    def __index__(self):
        held = bytes(10_000)
        raise RuntimeError(len(held))


def refused(add, key):
    """Adds a key that is refused."""

    def call():
        try:
            add(key)
        except (TypeError, OverflowError, FilterFullError, RuntimeError, UnicodeEncodeError):
            return
        except Exception as error:
            assert type(error).__name__ in ("ReadOnlyError", "BufferError"), error
            return
        raise AssertionError

    return call


KEYS = {"None": None, "large": 2**70, "tuple": (1, 2), "half": "\ud800", "index": Raises()}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("key", KEYS)
def test_25_a_refused_add_leaves_nothing_behind(key):
    # 100,000 of them took 38 MiB and more.
    assert grown(refused(Bloom(10).add, KEYS[key]), 100_000) < 4096


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_25_no_class_keeps_what_a_refused_add_made(tmp_path):
    full = Bloom(1, on_full="raise")
    full.add("a")
    viewed = Bloom(10)
    view = memoryview(viewed)
    state = State(tmp_path / "seen.mayhap", create=Bloom(10))
    for call in (
        refused(full.add, "b"),
        refused(Fuse(["a"]).add, "b"),
        refused(viewed.add, "b"),
        refused(Scalable().add, None),
        refused(Counting(10).add, None),
        refused(state.add, None),
    ):
        assert grown(call, 50_000) < 4096
    view.release()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("key", [b"a" * 9, bytearray(b"a"), 2**64 - 1, numpy.int64(1), "é"])
def test_25_an_add_that_succeeds_leaves_nothing_behind(key):
    b = Bloom(10)
    # A bytearray was first tried as a number, and the error was kept.
    assert grown(lambda: b.add(key), 100_000) < 4096
