"""Columns whose stored values are not the logical ones: refused, null or right, never wrong."""

import datetime
import os
import subprocess
import sys
import uuid

import numpy
import pandas
import polars
import pyarrow
import pytest

import mayhap_bloom
import mayhap_bloom.polars
from mayhap_bloom import Bloom, FormatError, Fuse, digests

IDS = [uuid.UUID(int=i) for i in range(100)]

#: Values that Polars keeps as objects.
OBJECTS = {
    "UUID": IDS,
    "text": [str(key) for key in IDS],
    "date": [datetime.date(2026, 1, 1 + i % 28) for i in range(100)],
    "object": [object() for _ in range(100)],
    "tuple": [(i,) for i in range(100)],
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_26_objects_in_polars_are_refused_and_not_their_addresses_hashed(kind):
    b, column = Bloom(1000), polars.Series("id", OBJECTS[kind], dtype=polars.Object)
    for call in (b.add_many, b.update, b.contains_many, b.count_many, b.filter_many, digests, Fuse,
                 column.to_frame().pipe):  # fmt: skip
        with pytest.raises(TypeError):
            call(column) if call.__name__ != "pipe" else b.update(column.to_frame())
    frame = column.to_frame()
    with pytest.raises((TypeError, polars.exceptions.ComputeError), match="Object"):
        frame.filter(~polars.col("id").mayhap.contains(b))
    assert b.count == 0
    # Fixed-size bytes of other libraries are keys.
    assert b.add_many(pyarrow.array([bytes(8)], pyarrow.binary(8))).to_pylist() == [True]
    assert bytes(8) in b


@pytest.mark.parametrize("dtype", ["int8", "uint64", "U4", "S4", "object"])
def test_26_what_is_masked_is_null(dtype):
    keys = numpy.array(["1", "2", "3"] if dtype in ("U4", "S4", "object") else [1, 2, 3], dtype)
    masked = numpy.ma.array(keys, mask=[0, 1, 0])
    b = Bloom(10, 1e-9)
    new = b.add_many(masked)
    assert new.tolist() == [True, None, True] and b.count == 2
    assert b.count_many(list(keys)) == 2 and keys[1] not in b
    assert b.contains_many(masked).tolist() == [True, None, True]
    assert b.filter_many(masked).tolist() == [keys[0].item() if dtype != "object" else keys[0],
                                              keys[2].item() if dtype != "object" else keys[2]]
    assert b.filter_many(masked, absent=True).tolist() == []
    assert b.count_many(masked) == 2 and len(Fuse(masked)) == 2
    # Without a mask, and wholly masked.
    assert b.contains_many(numpy.ma.array(keys)).tolist() == [True, False, True]
    assert b.contains_many(numpy.ma.array(keys, mask=True)).tolist() == [None] * 3
    with pytest.raises(TypeError, match="one dimension"):
        b.add_many(numpy.ma.array(numpy.zeros((2, 2), "i8"), mask=False))


def test_26_digests_of_masked_keys_are_masked():
    found = digests(numpy.ma.array([1, 2], mask=[0, 1]))
    assert found.tolist() == [digests([1])[0], None]


def test_26_a_period_is_not_its_number():
    b = Bloom(1000)
    months = pandas.Series(pandas.period_range("2020-01", periods=3, freq="M"))
    intervals = pandas.Series(pandas.arrays.IntervalArray.from_breaks([0, 1]))
    for column in (months, months.array, intervals):
        with pytest.raises(TypeError):
            b.add_many(column)
        with pytest.raises(TypeError):
            b.contains_many(column)
    assert b.count == 0


class Months(pyarrow.ExtensionType):
    """A type of some other library."""

    def __init__(self):
        super().__init__(pyarrow.int64(), "test.months")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls()


def test_26_extension_types_are_refused_by_name():
    column = pyarrow.ExtensionArray.from_storage(Months(), pyarrow.array([1, 2]))
    b = Bloom(10)
    for keys in (column, pyarrow.chunked_array([column]), pyarrow.table({"m": column}),
                 pandas.Series(column.to_pandas(), dtype=pandas.ArrowDtype(Months()))):  # fmt: skip
        with pytest.raises(TypeError, match="test.months"):
            b.add_many(keys)
    assert b.count == 0
    # A UUID is its bytes.
    b.add_many(pyarrow.array([key.bytes for key in IDS[:3]], pyarrow.uuid()))
    assert IDS[1].bytes in b


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, SystemExit, MemoryError, RuntimeError, KeyError]
)
def test_26_what_a_key_raises_is_what_it_raises(error):
    class Key:
        def __index__(self):
            raise error("from the key")

    class Hidden:
        @property
        def __index__(self):
            raise error("from the key")

    b, key = Bloom(10), Key()
    for call in (b.add, b.__contains__, b.contains_key, lambda k: b.add_many([k]),
                 lambda k: b.contains_many(iter([k])), lambda k: digests([k]), lambda k: Fuse([k]),
                 lambda k: b.add_many(numpy.array([k], object))):  # fmt: skip
        with pytest.raises(error, match="from the key"):
            call(key)
        with pytest.raises((error, TypeError)):
            call(Hidden())
    assert b.count == 0


def test_26_a_class_is_no_number():
    for key in (int, numpy.int64, bool):
        with pytest.raises(TypeError, match="keys are str"):
            Bloom(10).add(key)


@pytest.mark.parametrize("column", [
    polars.Series([]), polars.Series([None, None]), polars.Series([None], dtype=polars.String),
    polars.DataFrame({"u": [None, None]}), pyarrow.nulls(2), pandas.Series([None, None]),
    pyarrow.table({"u": pyarrow.nulls(2)}), polars.Series([], dtype=polars.Int64),
], ids=repr)  # fmt: skip
def test_26_a_column_of_nulls_or_of_nothing_is_one(column):
    b = Bloom(10)
    b.update(column)
    answers = b.contains_many(column)
    answers = answers.to_pylist() if hasattr(answers, "to_pylist") else list(answers)
    assert list(pandas.Series(answers).isna()) == [True] * len(column)
    assert b.count == 0 and b.count_many(column) == 0


def test_26_nulls_pass_through_an_expression_of_polars():
    frame, b = polars.DataFrame({"u": [None, None]}), Bloom(10)
    assert frame.select(polars.col("u").mayhap.contains(b))["u"].to_list() == [None, None]
    assert frame.filter(~polars.col("u").mayhap.contains(b)).height == 0
    assert frame.clear().filter(polars.col("u").mayhap.contains(b)).height == 0


def test_26_a_mapped_file_that_was_cut_answers_nothing(tmp_path):
    path = tmp_path / "f.mayhap"
    b = Bloom(100_000, 0.01)
    b.update(range(100_000))
    b.save(path)
    mapped = mayhap_bloom.open(path, mmap=True)
    assert mapped.fpp == b.fpp and mapped.health == b.health and mapped == b and b == mapped
    os.truncate(path, 5000)
    for call in (
        lambda: mapped.fpp, lambda: mapped.fill, lambda: mapped.distinct, lambda: mapped.health,
        lambda: mapped == b, lambda: b == mapped, lambda: mapped != b, lambda: repr(mapped),
        lambda: mapped.copy(), lambda: bytes(mapped), lambda: mapped.to_bytes(),
        lambda: mapped.contains_many([1]), lambda: mapped.save(tmp_path / "g"),
    ):  # fmt: skip
        with pytest.raises(OSError, match="f.mayhap"):
            call()


def test_26_the_health_of_a_mapped_file_is_that_of_the_filter(tmp_path):
    path = tmp_path / "f.mayhap"
    b = Bloom(10, 0.01)
    with pytest.warns(mayhap_bloom.FilterFullWarning):
        b.update(range(100))
    b.save(path)
    assert mayhap_bloom.open(path, mmap=True).health == b.health == "over capacity"


OPEN = """
import sys, mayhap_bloom
try:
    mayhap_bloom.open(sys.argv[1], **eval(sys.argv[2]))
except OSError as error:
    print("OSError", error)
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="only where there are named pipes")
@pytest.mark.parametrize("options", ["{}", "{'mmap': True}", "{'format': 'guava'}",
                                     "{'key_type': 'long'}"])  # fmt: skip
def test_26_a_named_pipe_is_refused_and_not_waited_for(options, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    words = [sys.executable, "-c", OPEN, str(path), options]
    said = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout
    assert said.startswith("OSError") and "pipe" in said


def test_28_errors_of_formats_and_parameters_are_value_errors(tmp_path):
    with pytest.raises(ValueError) as caught:
        mayhap_bloom.from_bytes(b"no filter")
    assert isinstance(caught.value, FormatError)
    assert isinstance(caught.value, mayhap_bloom.MayhapError)
    path, key = tmp_path / "f.mayhap", bytes(range(16))
    Bloom(10).save(path)
    for call in (lambda: mayhap_bloom.open(path, secret_key=key),
                 lambda: mayhap_bloom.open(path, secret_key=key, mmap=True),
                 lambda: mayhap_bloom.from_bytes(path.read_bytes(), secret_key=key),
                 lambda: mayhap_bloom.State(path, secret_key=key)):  # fmt: skip
        with pytest.raises(FormatError, match="the filter has none"):
            call()
    with pytest.raises(ValueError) as caught:
        Bloom(10) | Bloom(1000)
    assert isinstance(caught.value, mayhap_bloom.IncompatibleError)


def test_17_messages_say_what_helps(tmp_path):
    b = Bloom(10)
    with pytest.raises(TypeError, match="not numpy.bool; use bool"):
        b.add(numpy.bool_(True))
    with pytest.raises(TypeError, match=r'keys.view\("u4"\)'):
        b.add_many(numpy.zeros(3, "f4"))
    rows = pyarrow.StructArray.from_arrays([pyarrow.array(["a", "b"])], ["k"],
                                           mask=pyarrow.array([False, True]))  # fmt: skip
    with pytest.raises(TypeError, match="rows of the table are null"):
        b.add_many(rows)
    with pytest.raises(ValueError, match="fetch the file"):
        mayhap_bloom.open("http://127.0.0.1/f.mayhap")
    with pytest.raises(FileNotFoundError) as caught:
        mayhap_bloom.open(tmp_path / "none")
    assert str(caught.value).count("No such file") == 1 and caught.value.filename.endswith("none")
