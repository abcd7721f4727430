"""A standalone cluster on loopback: a master and workers as processes of their own.

They are part of the `pyspark` package. Processes started here are stopped here, by process id.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pyspark

HOME = Path(pyspark.__file__).parent
TICKS = os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """A port of loopback that nothing listens on."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class Cluster:
    """A master and two workers of one core each."""

    def __init__(self, folder: Path, memory: str = "1536m") -> None:
        self.folder, self.memory = folder, memory
        self.port = free_port()
        self.master = f"spark://127.0.0.1:{self.port}"
        self.number = 0
        #: CPU seconds of workers that have ended.
        words = ["--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(free_port())]
        self.processes = [self._start("org.apache.spark.deploy.master.Master", *words)]
        self._wait_for_master()
        self.numbers = [0, 0]
        self.workers = [self._worker(0), self._worker(1)]

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        for process in [*self.workers, *self.processes]:
            kill_tree(process.pid)
            process.wait()
        shutil.rmtree(self.folder / "local", ignore_errors=True)

    def _local(self, number: int) -> Path:
        """The folder of a worker's executors for shuffled data."""
        return self.folder / "local" / str(number)

    def _start(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        self.number += 1
        environment = {
            **os.environ,
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self._local(self.number)),
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        with (self.folder / f"{self.number}-{name.rpartition('.')[2]}.log").open("wb") as log:
            return subprocess.Popen(
                [str(HOME / "bin" / "spark-class"), name, *words],
                env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )  # fmt: skip

    def _worker(self, index: int) -> subprocess.Popen[bytes]:
        words = ["--host", "127.0.0.1", "--cores", "1", "--memory", self.memory]
        words += ["--webui-port", str(free_port())]
        words += ["--work-dir", str(self.folder / "work"), self.master]
        process = self._start("org.apache.spark.deploy.worker.Worker", *words)
        self.numbers[index] = self.number
        return process

    def _wait_for_master(self) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise TimeoutError(f"no master on port {self.port}; its log is in {self.folder}")

    def kill_worker(self, index: int) -> None:
        """Ends a worker with its executor and its disk, as a machine dies, and starts another."""
        kill_tree(self.workers[index].pid)
        self.workers[index].wait()
        shutil.rmtree(self._local(self.numbers[index]), ignore_errors=True)
        self.workers[index] = self._worker(index)

    def cpu_seconds(self) -> float:
        """CPU time of the workers, their executors and the Python processes of these so far."""
        return sum(cpu_seconds(worker.pid) for worker in self.workers)


def children(pid: int) -> list[int]:
    """The processes started by this one, and by its children."""
    try:
        names = Path(f"/proc/{pid}/task").glob("*/children")
        found = [int(word) for name in names for word in name.read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return found + [below for child in found for below in children(child)]


def kill_tree(pid: int) -> None:
    """Ends a process and all that it has started with SIGKILL."""
    for each in [pid, *children(pid)]:
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            pass


def cpu_seconds(pid: int) -> float:
    """User and system time of a tree of processes, ended ones included."""
    total = 0
    for each in [pid, *children(pid)]:
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        # utime, stime, and the same of children that were waited for.
        total += sum(int(field) for field in fields[11:15])
    return total / TICKS


def rest(session: Any, path: str) -> Any:
    """The answer of the driver's REST interface."""
    context = session.sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/{path}"
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)
