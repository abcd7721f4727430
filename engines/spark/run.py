"""Checks and measures `mayhap_bloom.spark` on a cluster; run by run.sh, which documents it.

Each line has a bound and a value. The checks decide about the end; measurements do not.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import against
import checks
import rows
from cluster import Cluster
from report import Report


def session(cluster: Cluster) -> Any:
    """A session with two executors of one core."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # For the plan "whole" of a filter of 120 MB (docs/engines.md).
        "spark.driver.memory": "3g",
        "spark.executor.memory": "1g",
        "spark.executor.maxNumFailures": "1000",
        "spark.local.dir": str(cluster.folder / "local"),
        "spark.sql.shuffle.partitions": "16",
        "spark.sql.files.maxPartitionBytes": "64m",
        "spark.task.maxFailures": "20",
        "spark.stage.maxConsecutiveAttempts": "20",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.ui.port": "0",
        # Stages must be visible while they run, however short.
        "spark.ui.liveUpdate.period": "0",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "FATAL",
    }
    builder = SparkSession.builder.master(cluster.master).appName("mayhap")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--record", action="store_true", help="write bench/results/engines.md")
    arguments = parser.parse_args()

    def number(name: str, long: int, short: int) -> int:
        return int(os.environ.get(name) or (short if arguments.short else long))

    num_rows = number("ROWS", 100_000_000, 1_000_000)
    kills, rounds = number("KILLS", 10, 1), number("ROUNDS", 3, 0)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("mayhap_bloom.spark").setLevel(logging.INFO)
    work = Path(os.environ["WORK"])
    data, logs = work / f"rows-{num_rows}", work / "cluster"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    if not data.exists():
        rows.write(data.with_suffix(".part"), num_rows)
        data.with_suffix(".part").rename(data)
    report = Report(num_rows, kills, rounds)
    with Cluster(logs) as cluster:
        spark = session(cluster)
        job = checks.Job(spark, cluster, data, work / "filters", num_rows, report)
        job.files()
        job.anti_join()
        job.dedup()
        if rounds:
            against.run(job, rounds)
        job.kills(kills)
        spark.stop()
    against.assembling(job, 64 << 20 if arguments.short else 4 << 30)
    report.print()
    if arguments.record:
        report.write(Path(__file__).parents[2] / "bench" / "results" / "engines.md")
    return report.failures


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
