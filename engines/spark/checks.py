"""The checks: the bytes of the command, the predicted losses, and the death of workers."""

from __future__ import annotations

import filecmp
import itertools
import math
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import rows
from cluster import Cluster, rest
from report import Report

from mayhap_bloom import Bloom, open as open_filter, spark as mayhap

FPP = 0.01
PLANS = ("whole", "segments")
#: Stages that each plan of `build` has.
STAGES = {"whole": 3, "segments": 2}


class Job:
    """The rows, the cluster, and the files that the command built of the same keys."""

    def __init__(
        self, spark: Any, cluster: Cluster, data: Path, folder: Path, num_rows: int, report: Report
    ) -> None:
        self.spark, self.cluster, self.report = spark, cluster, report
        self.num_rows, self.data, self.folder = num_rows, data, folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.rows = spark.read.parquet(str(data / "rows"))
        self.probe = spark.read.parquet(str(data / "probe"))
        self.distinct = {"url": rows.distinct(num_rows), "id": num_rows}
        self.oracle = {column: self._by_command(column) for column in ("url", "id")}

    def _by_command(self, column: str) -> Path:
        path = self.folder / f"command-{column}.mayhap"
        words = [os.environ["MAYHAP"], "build", "-o", path, "-n", self.distinct[column], "-p", FPP]
        words += ["--layout", "blocked", "--reproducible", "-q"]
        words += ["--hex"] if column == "id" else []
        with subprocess.Popen([*map(str, words), "-"], stdin=subprocess.PIPE) as process:
            assert process.stdin
            for piece in rows.lines(self.num_rows, column):
                process.stdin.write(piece)
        assert process.returncode == 0, process.returncode
        if column == "id":
            # The header records that keys were written in hex.
            open_filter(path).save(path, key_options="")
        return path

    def build(self, column: str, plan: Any, source: Any = None) -> Path:
        """The file that Spark builds."""
        path = self.folder / f"{plan}-{column}.mayhap"
        source = source or self.rows
        mayhap.build(source, column, self.distinct[column], FPP, path, plan=plan)
        return path

    def parquet(self) -> Any:
        """The rows' files, for tasks to read."""
        return mayhap.ParquetFiles(self.spark, self.data / "rows")

    def files(self) -> None:
        """Files of both plans against the command's."""
        for column, plan in itertools.product(("url", "id"), PLANS):
            last = last_stage(self.spark)
            path = self.build(column, plan)
            same = filecmp.cmp(path, self.oracle[column], shallow=False)
            what = f"`build`, {column}, {plan}: the file is the command's"
            self.report.check(what, "every byte", f"{path.stat().st_size:,} bytes", same)
            if plan == "segments":
                sent = shuffled(self.spark, last) / self.num_rows
                what = f"bytes shuffled a key, {column}"
                self.report.check(what, "≤ 9", f"{sent:.2f}", sent <= 9)

        for plan in PLANS:
            same = filecmp.cmp(
                self.build("url", plan, self.parquet()), self.oracle["url"], shallow=False
            )
            what = f"`build` of `ParquetFiles`, url, {plan}: the file is the command's"
            self.report.check(what, "every byte", "all" if same else "no", same)

    def anti_join(self) -> None:
        """Rows kept against Spark's own join."""
        path = str(self.oracle["url"])
        keys = self.rows.select("url")
        exact = self.probe.join(keys, "url", "left_anti").count()
        foretold = open_filter(path).fpp * exact
        for plan in PLANS:
            kept = mayhap.anti_join(self.probe, "url", path, plan=plan)
            missing = exact - kept.count()
            deviation = (missing - foretold) / math.sqrt(max(foretold, 1))
            what = f"`anti_join`, {plan}: rows missing of Spark's {exact:,}"
            value = f"{missing:,}, {deviation:+.1f} σ"
            self.report.check(what, f"{foretold:,.0f} ± 3 σ", value, abs(deviation) <= 3)
        wrong = kept.join(keys, "url", "left_semi").count()
        self.report.check("`anti_join`: rows kept that are in the filter", "0", wrong, not wrong)
        semi = mayhap.semi_join(self.probe, "url", path).count()
        both = semi + exact - missing
        total = self.probe.count()
        self.report.check("`semi_join` and `anti_join`: rows", f"{total:,}", both, both == total)

    def dedup(self) -> None:
        """The lost rows against the predicted number."""
        count = self.distinct["url"]
        # Once: another time, other keys may be lost.
        kept = mayhap.dedup(self.rows, "url", count, FPP).groupBy("url").count()
        num_kept, num_distinct = kept.selectExpr("sum(count)", "count(*)").first()
        what = "`dedup`: keys that come twice"
        self.report.check(what, "0", num_kept - num_distinct, num_kept == num_distinct)
        tasks = int(self.spark.conf.get("spark.sql.shuffle.partitions"))
        foretold = lost_by_dedup(count, FPP, tasks)
        bound, lost = foretold + 3 * math.sqrt(foretold), count - num_kept
        what = f"`dedup`: keys lost of {count:,}"
        holds = 0 <= lost <= bound
        self.report.check(what, f"≤ {foretold:,.0f} + 3 σ", f"{lost:,}", holds)

    def kills(self, rounds: int) -> None:
        """Builds while workers are killed, one in each stage."""
        for plan in PLANS:
            stages = STAGES[plan]
            same, built, complete, hits = 0, 0, 0, 0
            # A stage that is over before it is seen does not count: another round.
            while complete < rounds and built < 3 * rounds:
                killer = Killer(self.spark, self.cluster, stages)
                path = self.build("url", plan)
                killed = killer.stop()
                built, hits, complete = built + 1, hits + killed, complete + (killed == stages)
                same += filecmp.cmp(path, self.oracle["url"], shallow=False)
            what = f"`build`, {plan}, while {hits} workers are killed: the same bytes"
            self.report.check(what, f"{built} of {built}", f"{same} of {built}", same == built)
            what = f"rounds with a worker killed in each of {stages} stages, {plan}"
            self.report.check(what, rounds, complete, complete >= rounds)
            left = list(self.folder.glob("*.segments-*"))
            self.report.check(f"folders left behind, {plan}", "0", len(left), not left)


class Killer:
    """Kills a worker once in each of the next stages while it is active.

    Stages are identified by their number of tasks: a stage that reruns because its output was lost
    gets a new id but is the same stage.
    """

    def __init__(self, spark: Any, cluster: Cluster, stages: int) -> None:
        self.tracker = spark.sparkContext.statusTracker()
        self.cluster, self.stages = cluster, stages
        self.struck: set[int] = set()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        while len(self.struck) < self.stages and not self.ended.is_set():
            for stage in self.tracker.getActiveStageIds():
                info = self.tracker.getStageInfo(stage)
                if info and info.numActiveTasks and info.numTasks not in self.struck:
                    self.cluster.kill_worker(len(self.struck) % 2)
                    self.struck.add(info.numTasks)
            time.sleep(0.002)

    def stop(self) -> int:
        """How many were killed."""
        self.ended.set()
        self.thread.join()
        return len(self.struck)


def last_stage(spark: Any) -> int:
    """The number of the newest stage."""
    return max((stage["stageId"] for stage in rest(spark, "stages")), default=-1)


def shuffled(spark: Any, last: int) -> int:
    """The bytes that stages after this one wrote for others."""
    new = (stage for stage in rest(spark, "stages") if stage["stageId"] > last)
    return sum(stage["shuffleWriteBytes"] for stage in new)


def lost_by_dedup(keys: int, fpp: float, tasks: int) -> float:
    """The keys that a filter in each task takes for repetitions, by its rate as it fills."""
    share = keys / tasks
    expected = math.ceil(share + 4 * math.sqrt(share))
    filter = Bloom(expected, fpp, on_full="grow")
    steps, lost, inserted = 200, 0.0, 0
    for step in range(steps):
        until = round(share * (step + 1) / steps)
        before = filter.fpp
        filter.update(range(inserted, until))
        lost += (before + filter.fpp) / 2 * (until - inserted)
        inserted = until
    return lost * tasks
