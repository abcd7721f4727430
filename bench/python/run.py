"""Filters for Python, one process, one run: CPU time of a million distinct URLs.

    pip install -r bench/python/requirements.txt bindings/python bench/python/floors
    python bench/python/run.py --rounds 9 [--out bench/results/python.md]

Every round recreates the filter, adds all keys, looks up all of them and as many absent ones, and
does so for each subject in turn. The median of the rounds counts, in nanoseconds of CPU time per
key, including Python's loop; `floor` is a class that answers at once, or only hashes. Strings are
recreated for each subject, so that none finds a hash that another one left in them; a second pass
over the same strings, where CPython's own hash is cached, is measured separately.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

ITEMS = 1_000_000
FPP = 0.01


def urls(host: str) -> list[str]:
    """A million distinct URLs, as new objects."""
    return [f"https://{host}/path/{i * 7919}/item?id={i}" for i in range(ITEMS)]


def subjects() -> tuple[dict[str, Callable[[], Any]], list[str]]:
    """The constructor of each filter, by name, and the missing packages."""
    makers: dict[str, Callable[[], Any]] = {}
    missing = []

    def optional(module: str, add: Callable[[Any], dict[str, Callable[[], Any]]]) -> None:
        try:
            makers.update(add(importlib.import_module(module)))
        # Its folder by itself is an empty package.
        except (ImportError, AttributeError):
            missing.append(module)

    optional("floors", lambda m: {"floor: returns": m.Returns, "floor: hashes": m.Hashes})
    optional("mayhap_bloom", lambda m: {"mayhap_bloom": lambda: m.Bloom(ITEMS, FPP)})
    optional(
        "abloom",
        lambda m: {
            "abloom, serializable": lambda: m.BloomFilter(ITEMS, FPP, serializable=True),
            "abloom": lambda: m.BloomFilter(ITEMS, FPP),
        },
    )
    optional("rbloom", lambda m: {"rbloom": lambda: m.Bloom(ITEMS, FPP)})
    optional("fastbloom_rs", lambda m: {"fastbloom_rs": lambda: m.BloomFilter(ITEMS, FPP)})
    optional(
        "pybloomfilter", lambda m: {"pybloomfiltermmap3": lambda: m.BloomFilter(ITEMS, FPP)}
    )
    optional("quickbloom", lambda m: {"quickbloom": lambda: m.BloomFilter(ITEMS, FPP)})
    makers["set"] = set
    return makers, missing


def add_all(subject: Any, keys: list[str]) -> None:
    """Adds keys one by one."""
    add = subject.add
    for key in keys:
        add(key)


def look_up(subject: Any, keys: list[str]) -> None:
    """Looks keys up one by one."""
    for key in keys:
        key in subject  # noqa: B015


def cpu(call: Callable[..., object], *arguments: object) -> float:
    """Nanoseconds of CPU time a key."""
    start = time.process_time_ns()
    call(*arguments)
    return (time.process_time_ns() - start) / ITEMS


def one_by_one(rounds: int, makers: dict[str, Callable[[], Any]]) -> dict[tuple[str, str], float]:
    """The medians of each operation of each subject."""
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds):
        for name, make in makers.items():
            present, absent = urls("example.org"), urls("example.com")
            gc.collect()
            subject = make()
            passes = [("add", add_all, present), ("hit", look_up, present),
                      ("miss", look_up, absent), ("miss again", look_up, absent)]  # fmt: skip
            for operation, call, keys in passes:
                times.setdefault((name, operation), []).append(cpu(call, subject, keys))
            if hasattr(subject, "update"):
                again = urls("example.org")
                subject = make()
                times.setdefault((name, "list"), []).append(cpu(subject.update, again))
    return {key: statistics.median(values) for key, values in times.items()}


def batches(rounds: int) -> dict[str, tuple[float, float]]:
    """For each input the medians of adding and of looking up, by ours."""
    import numpy
    import polars
    import pyarrow

    from mayhap_bloom import Bloom

    texts = urls("example.org")
    inputs = {
        "list of str": texts,
        "NumPy u64": numpy.arange(ITEMS, dtype=numpy.uint64) * numpy.uint64(2_654_435_761),
        "PyArrow string": pyarrow.array(texts),
        "Polars String": polars.Series(texts),
    }
    times: dict[str, list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for name, keys in inputs.items():
            b = Bloom(ITEMS, FPP)
            added = cpu(b.update, keys)
            times.setdefault(name, []).append((added, cpu(b.contains_many, keys)))
    return {
        name: (statistics.median(a for a, _ in each), statistics.median(c for _, c in each))
        for name, each in times.items()
    }


def threads(rounds: int) -> float:
    """How many times as fast two threads look up two batches as one thread does both: elapsed."""
    import pyarrow

    from mayhap_bloom import Bloom

    keys = pyarrow.array(urls("example.org"))
    b = Bloom(ITEMS, FPP)
    b.update(keys)

    def elapsed(bodies: int, times: int) -> float:
        def body() -> None:
            for _ in range(times):
                b.contains_many(keys)

        all_threads = [threading.Thread(target=body) for _ in range(bodies)]
        start = time.perf_counter()
        for thread in all_threads:
            thread.start()
        for thread in all_threads:
            thread.join()
        return time.perf_counter() - start

    return statistics.median(elapsed(1, 20) / elapsed(2, 10) for _ in range(rounds))


def machine() -> list[str]:
    """The machine of the measurements."""
    model = "unknown"
    with open("/proc/cpuinfo") as file:
        fields = dict(line.split(":", 1) for line in file if ":" in line and line.strip())
        fields = {key.strip(): value.strip() for key, value in fields.items()}
        model = (f"{fields.get('model name', model)} (family {fields.get('cpu family')}, model "
                 f"{fields.get('model')}), {os.cpu_count()} CPUs")  # fmt: skip
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
    )
    return [
        f"- date: {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}",
        f"- commit: {commit.stdout.strip()}",
        f"- Python: {platform.python_implementation()} {platform.python_version()}",
        f"- CPU: {model}",
        f"- load before the run: {' '.join(f'{load:.2f}' for load in os.getloadavg())}",
    ]


def report(rounds: int) -> str:
    """The whole page."""
    lines = machine()
    makers, missing = subjects()
    single = one_by_one(rounds, makers)
    operations = ["add", "hit", "miss", "miss again", "list"]

    def cell(name: str, operation: str) -> str:
        time = single.get((name, operation))
        return "–" if time is None else f"{time:.1f} ({1e3 / time:.1f})"

    lines += [
        "",
        f"{ITEMS:,} distinct URLs of 50 bytes, p = {FPP:.0%}: nanoseconds of CPU time a key, and",
        f"in brackets million keys a second; medians of {rounds} rounds.",
        "",
        "| filter | `add` | `in`, hit | `in`, miss | miss, second pass | `update(list)` |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name in makers:
        lines.append(f"| {name} | " + " | ".join(cell(name, each) for each in operations) + " |")
    if missing:
        lines += ["", f"Not installed, and left out: {', '.join(missing)}."]
    lines += ["", "| batch | `update` | `contains_many` |", "|---|--:|--:|"]
    for name, (added, found) in batches(rounds).items():
        cells = [f"{time:.1f} ({1e3 / time:.0f})" for time in (added, found)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", f"Two threads on batches: {threads(rounds):.2f} times as fast as one (elapsed)."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measures, and prints or writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out")
    options = parser.parse_args()
    page = "# Filters for Python\n\nMade by `bench/python/run.py`.\n\n" + report(options.rounds)
    if options.out:
        with open(options.out, "w") as file:
            file.write(page)
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
