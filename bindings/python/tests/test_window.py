"""Windows: the unit of times, and the keys that they remember."""

import struct
import time

import pytest

from mayhap_bloom import Window

#: Where a file has the span of a time window, in milliseconds.
SPAN = slice(72, 80)


@pytest.mark.parametrize(
    ("seconds", "millis"), [(0.5, 500), (0.001, 1), (1.25, 1250), (2, 2000), (86_400, 86_400_000)]
)
def test_seconds_have_fractions(tmp_path, seconds, millis):
    path = tmp_path / "w.mayhap"
    Window(items=10, seconds=seconds).save(path)
    assert struct.unpack("<Q", path.read_bytes()[SPAN]) == (millis,)


def test_ages_are_in_seconds():
    hour = Window(items=100, seconds=3600, target_fpp=1e-9)
    before = time.time()
    hour.add("key")
    added = time.time()
    # Some milliseconds, which cannot be mistaken for as many seconds.
    while time.time() < added + 0.02:
        pass
    least, most = hour.age("key")
    after = time.time()
    # The clock of the window has whole milliseconds.
    assert 0.02 - 0.002 <= least <= most <= after - before + 0.002


def test_ages_of_a_window_of_keys_are_arrivals_repeats_too():
    last = Window(items=140, target_fpp=1e-9)
    last.add("first")
    for _ in range(145):
        last.add("again")
    assert last.age("first") == (136.0, 145.0)
    for _ in range(5):
        last.add("again")
    assert "first" not in last and "again" in last
