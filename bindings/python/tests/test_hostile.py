"""Random arguments: exceptions, and never a crash or a lost key."""

import os

import numpy
import pyarrow
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import mayhap_bloom
from mayhap_bloom import Bloom

#: A million refusals by hand: `MAYHAP_EXAMPLES=350000`, `--hypothesis-show-statistics`, and
#: `-k 'damaged or any_format or any_numbers'`; half an hour of one core.
EXAMPLES = int(os.environ.get("MAYHAP_EXAMPLES", "300"))

settings.register_profile(
    "mayhap",
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("mayhap")

keys = st.one_of(
    st.text(), st.binary(), st.integers(-(2**63), 2**64 - 1), st.booleans(),
    st.binary().map(bytearray), st.binary().map(memoryview),
)  # fmt: skip
anything = st.recursive(
    st.one_of(keys, st.none(), st.floats(), st.integers(), st.complex_numbers(),
              st.text(st.characters(categories=["Cs", "L"])), st.builds(object)),
    lambda inner: st.one_of(
        st.lists(inner), st.tuples(inner, inner), st.dictionaries(st.text(), inner)
    ),
)  # fmt: skip
REFUSALS = (TypeError, ValueError, OverflowError, BufferError, mayhap_bloom.MayhapError)


def canonical(key):
    """The bytes of a key, by the table of the manual."""
    if isinstance(key, str):
        return key.encode()
    return (key % 2**64).to_bytes(8, "little") if isinstance(key, int) else bytes(key)


@given(st.lists(keys))
def test_a_filter_never_forgets_a_key(inserted):
    b = Bloom(1000, 1e-12)
    model = set()
    for key in inserted:
        assert b.add(key) == (canonical(key) not in model)
        model.add(canonical(key))
    assert all(key in b for key in inserted) and len(b) == len(model)
    other = Bloom(1000, 1e-12)
    other.update(inserted)
    assert other == b and bytes(other) == bytes(b)


@given(anything)
def test_any_object_is_a_key_or_refused(thing):
    b = Bloom(1000, 1e-12)
    for call in (b.add, b.__contains__, b.update, b.add_many, b.contains_many, b.filter_many,
                 b.cut, mayhap_bloom.from_bytes, b.__eq__, b.__or__, b.__ior__):  # fmt: skip
        try:
            call(thing)
        except REFUSALS:
            event("refused")


@given(st.binary(max_size=200), st.integers(0, 5000), st.integers(0, 4))
def test_damaged_bytes_are_refused_or_the_same_filter(patch, at, cut):
    b = Bloom(100, 0.01)
    b.update(["a", "b"])
    data = bytearray(bytes(b))
    data[at : at + len(patch)] = patch
    data = bytes(data[: len(data) - cut])
    try:
        opened = mayhap_bloom.from_bytes(data)
    except REFUSALS:
        return event("refused")
    assert opened == b


@given(st.binary(max_size=3000), st.sampled_from(mayhap_bloom.formats()))
def test_bytes_of_any_format_are_refused_or_opened(tmp_path_factory, data, name):
    path = tmp_path_factory.getbasetemp() / "hostile"
    path.write_bytes(data)
    for options in ({}, {"format": name}, {"mmap": True}):
        try:
            mayhap_bloom.open(path, **options)
        except (*REFUSALS, OSError):
            event("refused")


@given(
    st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"])))),
    st.sampled_from([pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()]),
    st.integers(0, 5),
)
def test_columns_answer_as_their_keys(texts, kind, start):
    column, texts = pyarrow.array(texts, kind)[start:], texts[start:]
    b = Bloom(1000, 1e-12)
    one = Bloom(1000, 1e-12)
    new = [None if text is None else one.add(text) for text in texts]
    assert b.add_many(column).to_pylist() == new and b == one


@given(st.lists(st.integers(-(2**31), 2**31 - 1)), st.integers(-3, 3).filter(bool))
def test_arrays_answer_as_their_keys(numbers, step):
    array = numpy.array(numbers, dtype="i4")[::step]
    b = Bloom(1000, 1e-12)
    one = Bloom(1000, 1e-12)
    assert b.add_many(array).tolist() == [one.add(number) for number in numbers[::step]]
    assert b == one


@given(st.integers(), st.floats(), st.sampled_from(["blocked", "standard", None]))
def test_any_numbers_make_a_filter_or_are_refused(items, fpp, layout):
    try:
        b = Bloom(items, fpp, layout=layout, max_bytes=1 << 20)
    except REFUSALS:
        return event("refused")
    assert b.add("a") and "a" in b and b.num_bytes <= 1 << 20


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0, 0.0, 1.0])
def test_a_rate_is_between_0_and_1(bad):
    with pytest.raises(ValueError):
        Bloom(10, bad)
