"""Damaged files: every way to open one gives an error or the answers of before.

A sample in ordinary runs; with BORDERS=1 every kind has 400 damages.
"""

import os
import random
import shutil

import pytest

import mayhap_bloom
from conftest import PROJECT
from mayhap_bloom import Bloom, Compact, Counting, Fuse, Matrix, Ribbon, Scalable, State, Window

IS_WHOLE = os.environ.get("BORDERS") == "1"
DAMAGES = 400 if IS_WHOLE else 12
KEYS = [f"key-{i}" for i in range(3000)]
ABSENT = [f"absent-{i}" for i in range(300)]

KINDS = {
    "blocked": lambda: Bloom(6000, 0.01, layout="blocked"),
    "standard": lambda: Bloom(6000, 0.01, layout="standard"),
    "scalable": lambda: Scalable(100, 0.01),
    "compact": lambda: Compact(6000, 0.01),
    "counting": lambda: Counting(6000, 0.01),
    "window": lambda: Window(items=6000),
    "fuse": lambda: Fuse(KEYS),
    "ribbon": lambda: Ribbon(KEYS),
    "matrix": lambda: Matrix(3, 6000),
}


def damage(data, numbers):
    """A damaged copy of a file, and the kind of damage."""
    kinds = ["bit", "page", "sector", "cut", "longer", "bytes"]
    data, kind = bytearray(data), numbers.choice(kinds)
    at = numbers.randrange(len(data))
    if kind == "bit":
        data[at] ^= 1 << numbers.randrange(8)
    elif kind in ("page", "sector"):
        size = 4096 if kind == "page" else 512
        start = at - at % size
        data[start : start + size] = bytes(len(data[start : start + size]))
    elif kind == "cut":
        del data[at:]
    elif kind == "longer":
        data += numbers.randbytes(numbers.randrange(1, 100))
    else:
        for _ in range(numbers.randrange(1, 20)):
            data[numbers.randrange(len(data))] = numbers.randrange(256)
    return bytes(data), (kind, at)


def answers(filter):
    """The answers of a filter for keys."""
    if isinstance(filter, Matrix):
        return filter.which_many(KEYS + ABSENT)
    many = filter.contains_many(KEYS + ABSENT)
    assert many[::97] == [key in filter for key in (KEYS + ABSENT)[::97]]
    return many


def of_state(path):
    with State(path) as state:
        return answers(state)


#: Ways to open a file and to query it.
WAYS = {
    "open": lambda path: answers(mayhap_bloom.open(path)),
    "from_bytes": lambda path: answers(mayhap_bloom.from_bytes(path.read_bytes())),
    "mmap": lambda path: answers(mayhap_bloom.open(path, mmap=True)),
    "State": of_state,
}


#: Kinds that take no keys.
FROZEN = ("fuse", "ribbon")


def ways(kind):
    """The ways of a kind that read the whole file."""
    takes_no_keys = kind in ("matrix", *FROZEN)
    return ["open", "from_bytes"] if takes_no_keys else ["open", "from_bytes", "State"]


#: Kinds that are mapped.
MAPPED = ["blocked", "standard"]


@pytest.mark.parametrize(
    ("kind", "way"),
    [*((kind, way) for kind in KINDS for way in ways(kind)), *((kind, "mmap") for kind in MAPPED)],
)
def test_borders_a_damaged_file_gives_no_wrong_answer(kind, way, tmp_path):
    whole, path, numbers = tmp_path / "whole", tmp_path / "f.mayhap", random.Random(kind)
    filter = KINDS[kind]()
    if isinstance(filter, Matrix):
        filter.update(1, KEYS)
    elif kind not in FROZEN:
        filter.update(KEYS)
    filter.save(whole)
    data, expected, refused = whole.read_bytes(), answers(filter), 0
    for _ in range(DAMAGES):
        damaged, what = damage(data, numbers)
        for left in tmp_path.glob("f.mayhap*"):
            left.unlink()
        path.write_bytes(damaged)
        try:
            found = WAYS[way](path)
        except (mayhap_bloom.MayhapError, OSError, ValueError):
            refused += 1
            continue
        # Not `==`, whose report would be as long as the answers.
        assert damaged == data or found == expected, what
    assert refused > DAMAGES // 2


#: Operations that read all bits of a filter; `other` has the same keys.
WHOLE = {
    "fpp": lambda filter, other: filter.fpp,
    "fill": lambda filter, other: filter.fill,
    "health": lambda filter, other: filter.health,
    "distinct": lambda filter, other: filter.distinct,
    "==": lambda filter, other: filter == other,
    "== from the right": lambda filter, other: other == filter,
    "!=": lambda filter, other: filter != other,
    "| from the right": lambda filter, other: (other | filter).count,
    "copy": lambda filter, other: filter.copy().count,
    "bytes": lambda filter, other: bytes(filter),
    "to_bytes": lambda filter, other: filter.to_bytes(),
    "repr": lambda filter, other: repr(filter),
}


@pytest.mark.parametrize("kind", MAPPED)
def test_borders_numbers_of_a_damaged_mapped_file_are_errors(kind, tmp_path):
    whole, path, numbers = tmp_path / "whole", tmp_path / "f.mayhap", random.Random(kind)
    other = KINDS[kind]()
    other.update(KEYS)
    other.save(whole)
    data = whole.read_bytes()
    sound = mayhap_bloom.open(whole, mmap=True)
    expected = {name: call(sound, other) for name, call in WHOLE.items()}
    for name, call in WHOLE.items():
        for _ in range(DAMAGES // 3):
            # No bit of the header, which is checked when the file is opened.
            damaged, at = bytearray(data), numbers.randrange(4096, len(data))
            damaged[at] ^= 1 << numbers.randrange(8)
            path.write_bytes(damaged)
            try:
                found = call(mayhap_bloom.open(path, mmap=True), other)
            except mayhap_bloom.FormatError:
                continue
            # Only the bytes after the bits need not be read.
            assert at >= 4096 + other.num_bytes and found == expected[name], (name, at)
        path.write_bytes(data)
        filter = mayhap_bloom.open(path, mmap=True)
        os.truncate(path, 5000)
        with pytest.raises(OSError, match="f.mayhap"):
            call(filter, other)


GOLDEN = PROJECT / "crates/mayhap-formats/tests/golden"


def test_borders_no_file_of_another_system_is_taken_for_ours(tmp_path):
    paths = sorted(path for path in GOLDEN.glob("*/*") if path.is_file())
    for path in paths if IS_WHOLE else paths[::7]:
        copy = tmp_path / "f"
        shutil.copy(path, copy)
        for open_it in (lambda: mayhap_bloom.open(copy, mmap=True), lambda: State(copy),
                        lambda: mayhap_bloom.from_bytes(copy.read_bytes())):  # fmt: skip
            with pytest.raises((mayhap_bloom.MayhapError, OSError, ValueError)):
                open_it()
        assert copy.read_bytes() == path.read_bytes()
        copy.unlink()
