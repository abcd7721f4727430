"""Keys: the same bytes in every language, and a refusal of everything else."""

import array
import decimal
import uuid

import numpy
import pytest
from conftest import PROJECT, golden_keys

import mayhap_bloom
from mayhap_bloom import Bloom

GOLDEN = PROJECT / "crates/mayhap/tests/golden/native"


def test_keys_that_are_the_same_bytes_are_one_key():
    same = [
        ["é", "é".encode(), bytearray("é".encode()), memoryview("é".encode())],
        [1, True, numpy.int8(1), numpy.uint64(1), (1).to_bytes(8, "little")],
        [-1, 2**64 - 1, numpy.int32(-1), b"\xff" * 8],
        ["", b"", bytearray()],
        [numpy.str_("abc"), "abc", b"abc", numpy.bytes_(b"abc"), array.array("B", b"abc")],
    ]
    for keys in same:
        for inserted in keys:
            b = Bloom(100, 1e-9)
            b.add(inserted)
            assert all(key in b for key in keys), inserted
            assert b.add_many(keys[:1]) == [False]
    b = Bloom(100, 1e-9)
    b.add(1)
    assert "1" not in b and b"\x01" not in b and 0 not in b


@pytest.mark.parametrize(
    "key",
    [1.0, 1.5, numpy.bool_(True), numpy.float64(1), numpy.float32(1), None, (1, 2), [1],
     {"a": 1}, object(), decimal.Decimal(1), uuid.UUID(int=1), numpy.array([1, 2]),
     numpy.array(1.5), array.array("d", [1.0]), 1j],
)  # fmt: skip
def test_what_has_no_bytes_that_all_languages_agree_on_is_refused(key):
    b = Bloom(100)
    for call in (b.add, b.__contains__, b.contains_key, lambda key: b.add_many([key])):
        with pytest.raises(TypeError, match="keys are str, bytes-like or int, not"):
            call(key)
    assert len(b) == 0


@pytest.mark.parametrize("key", [2**64, -(2**63) - 1, 10**100])
def test_integers_beyond_64_bits_are_refused(key):
    b = Bloom(100)
    with pytest.raises(OverflowError, match="from -2\\*\\*63 to 2\\*\\*64 - 1"):
        b.add(key)
    with pytest.raises(OverflowError):
        b.update([1, key])
    assert len(b) == 1


def test_half_characters_are_refused():
    b = Bloom(100)
    with pytest.raises(UnicodeEncodeError):
        b.add("\ud800")
    with pytest.raises(UnicodeEncodeError):
        b.update(["é", "\ud800"])
    assert "é" in b


@pytest.mark.parametrize(
    "line", (GOLDEN / "answers.txt").read_text().splitlines(), ids=lambda line: line.split()[0]
)
def test_golden_files_give_their_answers(line):
    name, inserted, new, false_positives = line.split()
    key = bytes(range(16)) if "sip13" in name else None
    path = GOLDEN / f"{name}.mayhap"
    for mmap in (False, True):
        b = mayhap_bloom.open(path, secret_key=key, mmap=mmap)
        members = golden_keys(int(inserted))
        assert all(member in b for member in members)
        assert b.count_many(members) == len(members)
        assert len(b) == int(new)
        absent = {i for i in range(1000) if f"absent-{i}" in b}
        listed = set() if false_positives == "-" else {*map(int, false_positives.split(","))}
        assert absent == listed


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("v1-standard", (100, 0.01, "standard", 0)), ("v1-blocked-k8", (300, 0.05, "blocked", 42))],
)
def test_the_bits_of_every_key_type_are_those_of_the_specification(name, numbers):
    items, fpp, layout, seed = numbers
    inserted = {"v1-standard": 150, "v1-blocked-k8": 450}[name]
    golden = mayhap_bloom.open(GOLDEN / f"{name}.mayhap")
    # The golden files have sizes of their own, so a copy of one is emptied and filled again.
    b = golden.copy()
    b.clear()
    assert (b.expected_items, b.target_fpp, b.layout, b.seed) == (items, fpp, layout, seed)
    with pytest.warns(mayhap_bloom.FilterFullWarning):
        for key in golden_keys(inserted):
            b.add(key)
    assert memoryview(b) == memoryview(golden) and b == golden and len(b) == len(golden)
