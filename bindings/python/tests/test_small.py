"""Small filters: as bytes, and their subclasses as copies."""

import copy
import pickle
import random

import pytest

import mayhap_bloom
from mayhap_bloom import (
    Bloom,
    Compact,
    Counting,
    FormatError,
    Fuse,
    Matrix,
    Ribbon,
    Scalable,
    Window,
)


def kinds(n):
    yield Bloom(n, 0.01)
    yield Bloom(n, 1e-9)
    yield Bloom(n, 0.01, layout="standard", seed=7)
    yield Bloom(n, 0.01, on_full="grow")
    yield Scalable(n, 0.01)
    yield Compact(n, 0.01)
    yield Counting(n, 0.01)
    yield Window(items=n)
    yield Fuse(range(n))
    yield Ribbon(range(n))


@pytest.mark.parametrize("n", [1, 10, 100, 1000, 3000, 5000, 10_000])
def test_28_a_filter_is_few_bytes(n):
    for b in kinds(n):
        if b.kind not in ("fuse", "ribbon"):
            b.update(range(n - n // 50))
        packed = b.to_bytes()
        assert len(packed) <= 2 * b.num_bytes + 200, (b, len(packed))
        assert len(pickle.dumps(b)) <= 2 * b.num_bytes + 300
        # Unpacked bytes, as written before, still open.
        for data in (packed, bytes(b), bytearray(packed), memoryview(packed)):
            other = mayhap_bloom.from_bytes(data)
            assert other == b and bytes(other) == bytes(b) and other.to_bytes() == packed
            assert other.count_many(range(n)) == b.count_many(range(n))


def test_28_a_large_filter_is_its_file():
    b = Bloom(1_000_000)
    assert b.to_bytes() == bytes(b) and mayhap_bloom.from_bytes(b.to_bytes()) == b


def test_28_a_matrix_is_few_bytes():
    m = Matrix(3, 100)
    m.update(1, range(100))
    assert len(m.to_bytes()) <= 2 * m.num_bytes + 200 < len(bytes(Matrix(3, 10))) + 2 * m.num_bytes
    other = mayhap_bloom.from_bytes(m.to_bytes())
    assert other.which(5) == m.which(5) and bytes(other) == bytes(m)
    assert bytes(pickle.loads(pickle.dumps(m))) == bytes(m)


def test_28_packed_bytes_in_a_file_open(tmp_path):
    path = tmp_path / "f"
    b = Counting(10)
    b.add("a")
    path.write_bytes(b.to_bytes())
    assert mayhap_bloom.open(path) == b
    with pytest.raises(FormatError):
        mayhap_bloom.open(path, mmap=True)


def test_28_a_hundred_keys_at_one_percent_are_at_most_200_bytes(tmp_path):
    path, pages = tmp_path / "short", tmp_path / "pages"
    for layout in ("blocked", "standard"):
        b = Bloom(100, 0.01, layout=layout)
        b.update(range(100))
        b.save(path, short=True)
        b.save(pages)
        assert path.read_bytes() == b.to_bytes() and len(b.to_bytes()) <= 200
        assert len(pages.read_bytes()) == 8200 and pages.read_bytes() == bytes(b)
        assert len(pickle.dumps(b)) <= 300
        for data in (b.to_bytes(), bytearray(b.to_bytes()), pages.read_bytes()):
            assert mayhap_bloom.from_bytes(data) == b
        for other in (mayhap_bloom.open(path), mayhap_bloom.open(path, mmap=True)):
            assert other == b and bytes(other) == bytes(b) and other.to_bytes() == b.to_bytes()
            assert other.count_many(range(100)) == 100 and "absent" not in other
    with pytest.raises(FileExistsError):
        b.save(path, short=True, replace=False)


def test_28_what_has_no_short_form_is_refused(tmp_path):
    path = tmp_path / "f"
    for b in (Counting(9), Window(items=9), Scalable(9), Fuse(range(9)), Ribbon(range(9))):
        with pytest.raises((TypeError, ValueError), match="short file"):
            b.save(path, short=True)
    with pytest.raises(ValueError, match="above the limit of 4095"):
        Bloom(4000, 0.01).save(path, short=True)
    assert not path.exists()


def test_28_a_filter_with_few_keys_is_as_few_bytes_as_before():
    b = Bloom(2000, 0.01)
    b.add("a")
    assert len(b.to_bytes()) < 300 and mayhap_bloom.from_bytes(b.to_bytes()) == b


@pytest.mark.parametrize("make", [Bloom, Counting])
def test_28_every_damage_of_packed_bytes_is_an_error(make):
    b = make(10, 1e-6)
    b.update(range(10))
    packed, changes = b.to_bytes(), random.Random(1)
    for bit in range(8 * len(packed)):
        damaged = bytearray(packed)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FormatError):
            mayhap_bloom.from_bytes(damaged)
    for end in range(len(packed)):
        with pytest.raises(FormatError):
            mayhap_bloom.from_bytes(packed[:end])
    for _ in range(1000):
        damaged = bytearray(packed)
        for _ in range(changes.randrange(1, 9)):
            damaged[changes.randrange(len(damaged))] = changes.randrange(256)
        if damaged != packed:
            with pytest.raises(FormatError):
                mayhap_bloom.from_bytes(damaged)


def test_28_a_size_is_that_of_before_whether_it_is_remembered_or_not():
    numbers = random.Random(2)
    for _ in range(300):
        n, p = numbers.randrange(1, 10**6), 10 ** -numbers.uniform(0.1, 12)
        layout = numbers.choice(["blocked", "standard", None])
        try:
            first = Bloom(n, p, layout=layout)
        except ValueError:
            continue
        again = Bloom(n, p, layout=layout)
        assert bytes(again) == bytes(first)
        # Without the cached sizes: by the header of a file.
        with pytest.raises(ValueError, match="num_bytes"):
            Bloom(n, p, layout=layout, max_bytes=first.num_bytes - 1)
        assert Bloom(n, p, layout=layout, max_bytes=first.num_bytes) == first


class Tagged(Bloom):
    """A subclass with attributes of its own."""

    def __init__(self, *arguments, **options):
        self.tag = ["made"]


class Slotted(Scalable):
    __slots__ = ("tag",)


class Own(Window):
    def __new__(cls, name):
        new = super().__new__(cls, items=10)
        new.name = name
        return new

    def __getstate__(self):
        return {"name": self.name}

    def __setstate__(self, state):
        self.name = state["name"] + "!"


class Counted(Counting):
    pass


class Fixed(Fuse):
    pass


WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {i}": lambda b, i=i: pickle.loads(pickle.dumps(b, i))
       for i in range(2, pickle.HIGHEST_PROTOCOL + 1)},
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_28_a_subclass_stays_one_with_its_attributes(way):
    b = Tagged(100, 0.01, on_full="raise")
    b.add("a")
    b.tag.append(b) if way.startswith("deep") else b.tag.append("more")
    other = WAYS[way](b)
    assert type(other) is Tagged and other == b and other is not b and "a" in other
    assert other.on_full == "raise" and other.tag[0] == "made" and len(other.tag) == 2
    if way != "copy":
        assert other.tag is not b.tag
    if way == "deepcopy":
        assert other.tag[1] is other
    other.add("b")
    assert "b" not in b

    slotted = Slotted(10)
    slotted.tag = "slot"
    assert type(WAYS[way](slotted)) is Slotted and WAYS[way](slotted).tag == "slot"
    own = WAYS[way](Own("name"))
    assert type(own) is Own and own.name == "name!"
    for plain in (Counted(10), Fixed([1, 2, 3])):
        assert type(WAYS[way](plain)) is type(plain) and WAYS[way](plain) == plain


def test_28_a_copy_and_a_union_are_of_the_subclass():
    b = Tagged(100)
    assert type(b.copy()) is Tagged and type(b | b.copy()) is Tagged
    grows = Tagged(10, on_full="grow")
    assert type(grows.copy()) is Tagged and grows.copy().kind == "scalable"
    assert type(Bloom(10).copy()) is Bloom


def test_28_our_own_classes_are_pickled_as_before():
    restore, arguments = Bloom(10).__reduce__()
    assert restore.__name__ == "_restore" and len(arguments) == 2
    # Written by an earlier version.
    assert restore(bytes(Bloom(10)), "raise").on_full == "raise"
