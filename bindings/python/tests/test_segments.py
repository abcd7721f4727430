"""Segments: one filter that is filled in parts."""

import numpy
import pyarrow
import pytest

import mayhap_bloom
from mayhap_bloom import Bloom, Segment, assemble, digests, segment_bounds

ITEMS, FPP = 50_000, 0.01
SECRET = bytes(range(16))


def parts(folder, count, options, keys=range(ITEMS)):
    """The segments' files, each filled with the digests of its range."""
    bounds = [*segment_bounds(ITEMS, FPP, count), 2**64]
    all_digests = digests(numpy.array(keys), **options)
    paths = []
    for index in range(count):
        segment = Segment(ITEMS, FPP, index, count, **options)
        assert (segment.first_digest, segment.last_digest + 1) == tuple(bounds[index : index + 2])
        last = numpy.uint64(segment.last_digest)
        ours = all_digests[(all_digests >= segment.first_digest) & (all_digests <= last)]
        segment.insert_digests(ours)
        assert segment.contains_digests(ours).all()
        paths.append(folder / f"part-{index}")
        segment.save(paths[-1])
    return paths


@pytest.mark.parametrize("options", [{}, {"seed": 7}, {"secret_key": SECRET}])
@pytest.mark.parametrize("count", [1, 3, 16])
def test_the_file_is_that_of_a_filter_filled_at_once(tmp_path, count, options):
    whole = Bloom(ITEMS, FPP, layout="blocked", **options)
    whole.update(range(ITEMS - 1, -1, -1))
    whole.settle_count()
    whole.save(tmp_path / "whole")
    paths = parts(tmp_path, count, options)
    assemble(paths[::-1], tmp_path / "all")
    assert (tmp_path / "all").read_bytes() == (tmp_path / "whole").read_bytes()
    again = mayhap_bloom.open(tmp_path / "all", secret_key=options.get("secret_key"))
    assert all(again.contains_many(range(ITEMS)))
    with pytest.raises(FileExistsError):
        assemble(paths, tmp_path / "all", replace=False)


def test_digests_are_those_of_the_keys_in_the_kind_of_the_input():
    expected = digests(["a", b"b", 3])
    assert expected[0] == 0xE6C632B61E964E1F
    assert digests(("a", b"b", 3)) == digests(iter(["a", b"b", 3])) == expected
    numbers = digests(numpy.arange(5000))
    assert isinstance(numbers, numpy.ndarray) and numbers.dtype == numpy.uint64
    assert numbers.tolist() == digests(list(range(5000)))
    column = digests(pyarrow.array(["a", None, "c"]))
    assert column.type == pyarrow.uint64()
    assert column.to_pylist() == [expected[0], None, digests(["c"])[0]]
    assert digests(["a"], seed=1) != expected[:1]
    assert digests(["a"], secret_key=SECRET) != expected[:1]


def test_digests_in_place_of_keys():
    by_keys, by_digests = Bloom(1000, 0.01), Bloom(1000, 0.01)
    by_keys.update(range(900))
    numbers = digests(numpy.arange(900))
    by_digests.insert_digests(numbers[:300])
    by_digests.insert_digests(numbers[300:600].tolist())
    by_digests.insert_digests(pyarrow.array(numbers[600:]))
    assert by_keys == by_digests and len(by_digests) == len(by_keys)
    asked = digests(numpy.arange(2000))
    answers = by_digests.contains_digests(asked)
    assert answers.tolist() == by_keys.contains_many(list(range(2000)))
    assert by_digests.contains_digests(asked.tolist()) == answers.tolist()
    assert by_digests.contains_digests(pyarrow.array(asked)).to_pylist() == answers.tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        numpy.arange(3),
        numpy.arange(3, dtype=numpy.uint32),
        numpy.array(["a"]),
        pyarrow.array([1, 2]),
        pyarrow.array(["a"]),
        [-1],
        [2**64],
        ["a"],
        [1.0],
    ],
)
def test_what_is_no_digest_is_refused(wrong):
    for target in (Bloom(1000, 0.01), Segment(1000, 0.01, 0, 1)):
        for call in (target.insert_digests, target.contains_digests):
            with pytest.raises(TypeError, match="digests are unsigned 64-bit integers"):
                call(wrong)


def test_digests_of_other_segments_are_refused_and_nothing_is_inserted():
    first, second = Segment(ITEMS, FPP, 0, 2), Segment(ITEMS, FPP, 1, 2)
    assert first.last_digest + 1 == second.first_digest
    ours, theirs = first.last_digest, second.first_digest
    with pytest.raises(ValueError, match="belongs to another segment"):
        first.insert_digests([ours, theirs])
    assert first.contains_digests([ours]) == [False]
    with pytest.raises(ValueError, match="belongs to another segment"):
        second.contains_digests(numpy.array([ours], dtype=numpy.uint64))
    first.insert_digests([ours])
    assert first.contains_digests([ours, 0, ours]) == [True, False, True]


def test_numbers_that_no_segment_has():
    for index, count in [(0, 0), (2, 2), (0, 10**6)]:
        with pytest.raises(ValueError, match="must be from"):
            Segment(ITEMS, FPP, index, count)
    with pytest.raises(ValueError, match="must be from"):
        segment_bounds(ITEMS, FPP, 0)
    with pytest.raises(ValueError, match="above the limit"):
        Segment(ITEMS, FPP, 0, 2, max_bytes=1000)
    half = Segment(ITEMS, FPP, 0, 2, max_bytes=60_000)
    assert half.num_bytes < 60_000 and half.pages == (0, half.num_bytes // 4096)
    last = f"{half.last_digest:#018x}"
    assert repr(half).startswith(f"<mayhap_bloom.Segment: digests 0x0000000000000000 to {last}, ")


def test_a_saved_segment_is_opened_and_continued(tmp_path):
    path = tmp_path / "part"
    segment = Segment(ITEMS, FPP, 1, 3, secret_key=SECRET)
    segment.insert_digests([segment.first_digest])
    segment.save(path, key_options="hex=decode\n")
    with pytest.raises(FileExistsError):
        segment.save(path, replace=False)
    again = Segment.open(path, secret_key=SECRET)
    assert (again.pages, again.key_options) == (segment.pages, "hex=decode\n")
    assert (again.expected_items, again.target_fpp) == (ITEMS, FPP)
    assert again.contains_digests([again.first_digest, again.last_digest]) == [True, False]
    with pytest.raises(mayhap_bloom.FormatError, match="secret key"):
        Segment.open(path)
    with pytest.raises(TypeError, match="assemble"):
        mayhap_bloom.open(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(mayhap_bloom.FormatError, match="truncated"):
        Segment.open(path, secret_key=SECRET)


def test_segments_that_do_not_fit_are_refused_and_nothing_is_written(tmp_path):
    paths = parts(tmp_path, 3, {})
    other = tmp_path / "other"
    Segment(ITEMS, FPP, 2, 3, seed=1).save(other)
    out = tmp_path / "all"
    with pytest.raises(ValueError, match="are missing"):
        assemble(paths[1:], out)
    with pytest.raises(ValueError, match="both have pages"):
        assemble([*paths, paths[0]], out)
    with pytest.raises(mayhap_bloom.IncompatibleError, match="digest seed"):
        assemble([*paths[:2], other], out)
    with pytest.raises(ValueError, match="paths is empty"):
        assemble([], out)
    with pytest.raises(FileNotFoundError):
        assemble([tmp_path / "nothing"], out)
    assert not out.exists()


def test_a_count_is_settled_only_where_there_is_one():
    seen = Bloom(1000, 0.1)
    seen.update(range(1000))
    before = seen.count
    seen.settle_count()
    assert abs(seen.count - before) < 100
    with pytest.raises(TypeError, match="no count to settle"):
        Bloom(1000, 0.1, on_full="grow").settle_count()
