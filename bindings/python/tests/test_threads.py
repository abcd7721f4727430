"""Many threads at one filter: nothing is lost, and none waits forever."""

import sys
import threading

import numpy
import pytest

from mayhap_bloom import Bloom, Compact, Counting, Matrix, Scalable


@pytest.fixture(autouse=True)
def quick_switches():
    """Threads take turns a thousand times as often as usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


def run(*bodies):
    """Runs all at once, and raises the first exception of any."""
    failed, ready = [], threading.Barrier(len(bodies))

    def guarded(body):
        try:
            ready.wait()
            body()
        except BaseException as error:  # handed to the test
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


@pytest.mark.parametrize("create", [lambda: Bloom(400_000, 1e-6), lambda: Scalable(1000, 1e-6),
                                    lambda: Counting(400_000, 1e-6),
                                    lambda: Compact(400_000, 1e-6)])  # fmt: skip
def test_no_key_is_lost_and_each_is_new_once(create):
    b = create()
    numbers = numpy.arange(100_000)
    news = []

    def batches():
        news.append(sum(int(b.add_many(part).sum()) for part in numpy.split(numbers, 4)))

    def singles():
        news.append(sum(b.add(i) for i in range(20_000)))

    def lists():
        news.append(sum(b.add_many([f"key-{i}" for i in range(30_000)])))

    def look():
        for i in range(0, 20_000, 7):
            if b.add(i):
                news.append(1)
            assert i in b
            len(b), b.count, b.expected_fpp

    run(batches, batches, singles, singles, lists, lists, look)
    assert b.count_many(numbers) == len(numbers)
    assert b.count_many(f"key-{i}" for i in range(30_000)) == 30_000
    # Exactly one of two threads with the same key got "new".
    assert 130_000 - 10 <= sum(news) <= 130_000
    # A filter from which keys are removed counts repeated insertions, too.
    assert sum(news) == len(b) or b.kind in ("compact", "counting")


def test_whole_filters_are_read_while_they_change():
    b = Bloom(200_000, 1e-6)
    other = Bloom(200_000, 1e-6)
    other.update(range(1000))

    def add():
        b.update(numpy.arange(100_000, 200_000))
        for i in range(5000):
            b.add(i)

    def copy():
        before = 0
        for _ in range(10):
            taken = b.copy()
            held = taken.count_many(numpy.arange(100_000, 200_000))
            assert held >= before
            before = held
            assert len(bytes(b)) > 4096
            b.fpp, b.fill, repr(b), b == other

    def unite():
        nonlocal b, other
        for _ in range(10):
            b |= other
            other |= b

    run(add, copy, unite, unite)
    assert b.count_many(range(1000)) == 1000
    assert b.count_many(numpy.arange(100_000, 200_000)) == 100_000


def test_a_matrix_is_filled_by_many():
    m = Matrix(4, 20_000, 1e-6)
    run(*(lambda set=set: m.update(set, numpy.arange(20_000)) for set in range(4)))
    assert m.which_many([5, 19_999]) == [[0, 1, 2, 3]] * 2
