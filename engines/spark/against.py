"""Spark's own means for the same jobs, beside ours, in one session: CPU time of the workers."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from checks import FPP, PLANS, Job

from mayhap_bloom import spark as mayhap

#: Assembles like a driver; prints its peak memory, in MB.
ASSEMBLE = """
import sys
import pyspark.sql
from mayhap_bloom import assemble
folder, count = sys.argv[1], int(sys.argv[2])
assemble([f"{folder}/{i:06}.mayhap" for i in range(count)], f"{folder}/whole.mayhap")
# Of this program alone; getrusage includes its parent's memory, too.
lines = open("/proc/self/status").read().splitlines()
print(next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM:")))
"""


def noop(rows: Any) -> None:
    """Computes all rows and keeps none."""
    rows.write.format("noop").mode("overwrite").save()


def spark_bloom(job: Job, column: str) -> None:
    """Spark's own filter, which Python reaches only through the JVM."""
    job.rows._jdf.stat().bloomFilter(column, job.distinct[column], FPP).bitSize()


def run(job: Job, rounds: int) -> None:
    """Medians of each job, after a round that is not counted."""
    jobs: dict[str, Callable[[], object]] = {}
    for column in ("url", "id"):
        jobs[f"bloomFilter, {column}"] = lambda c=column: spark_bloom(job, c)
        for plan in PLANS:
            jobs[f"build, {column}, {plan}"] = lambda c=column, p=plan: job.build(c, p)
            files = lambda c=column, p=plan: job.build(c, p, job.parquet())  # noqa: E731
            jobs[f"build of ParquetFiles, {column}, {plan}"] = files
    count = job.distinct["url"]
    jobs["dropDuplicates"] = lambda: noop(job.rows.dropDuplicates(["url"]))
    jobs["dedup"] = lambda: noop(mayhap.dedup(job.rows, "url", count, FPP))
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(rounds + 1):
        for name, call in jobs.items():
            before = job.cluster.cpu_seconds()
            call()
            if turn:
                times[name].append(job.cluster.cpu_seconds() - before)
    medians = {name: statistics.median(each) for name, each in times.items()}
    for column in ("url", "id"):
        peer = f"bloomFilter, {column}"
        for plan in PLANS:
            _line(job, medians, f"build, {column}, {plan}", peer, 0.5)
            _line(job, medians, f"build of ParquetFiles, {column}, {plan}", peer, 0.5)
    _line(job, medians, "dedup", "dropDuplicates", 0.3)


def _line(job: Job, medians: dict[str, float], ours: str, peer: str, aim: float) -> None:
    ratio = medians[ours] / medians[peer]
    value = f"{ratio:.2f} × ({medians[ours]:.1f} s to {medians[peer]:.1f} s)"
    job.report.measure(f"CPU of `{ours}` to `{peer}`", f"≤ {aim} ×", value, ratio <= aim)


def assembling(job: Job, num_bytes: int) -> None:
    """The memory of a driver that puts segments together."""
    from mayhap_bloom import Segment

    count = 16
    keys = round(num_bytes * 8 / 10.24)
    folder = job.folder / "segments"
    folder.mkdir()
    for number in range(count):
        Segment(keys, FPP, number, count).save(folder / f"{number:06}.mayhap")
    words = [sys.executable, "-c", ASSEMBLE, str(folder), str(count)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    size = (folder / "whole.mayhap").stat().st_size
    what = f"memory of a driver that assembles {size / 1e9:.2f} GB"
    job.report.check(what, "≤ 300 MB", f"{done.stdout.strip()} MB", int(done.stdout) <= 300)
    for path in folder.iterdir():
        path.unlink()
