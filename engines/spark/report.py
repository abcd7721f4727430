"""Lines with a bound and a value, on the screen and in a page."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple


class Line(NamedTuple):
    """One statement and whether it holds; a check has to, a measurement may not."""

    what: str
    bound: str
    value: str
    holds: bool
    is_check: bool


class Report:
    """The findings, in order."""

    def __init__(self, rows: int, kills: int, rounds: int) -> None:
        self.rows, self.kills, self.rounds = rows, kills, rounds
        self.load = os.getloadavg()
        self.lines: list[Line] = []
        self.start = time.monotonic()

    @property
    def failures(self) -> int:
        """Checks that do not hold."""
        return sum(line.is_check and not line.holds for line in self.lines)

    def check(self, what: str, bound: str, value: object, holds: bool) -> None:
        """A line that has to hold."""
        self._add(Line(what, bound, str(value), bool(holds), True))

    def measure(self, what: str, bound: str, value: object, holds: bool) -> None:
        """A line that is reported either way."""
        self._add(Line(what, bound, str(value), bool(holds), False))

    def _add(self, line: Line) -> None:
        self.lines.append(line)
        elapsed = time.monotonic() - self.start
        print(f"{elapsed:6.0f} s  {_verdict(line):9} {line.what}: {line.value} ({line.bound})")
        sys.stdout.flush()

    def print(self) -> None:
        """The sum of it."""
        missed = sum(not line.is_check and not line.holds for line in self.lines)
        checks = sum(line.is_check for line in self.lines)
        elapsed = time.monotonic() - self.start
        print(f"{checks} checks, {self.failures} failed; {missed} aims missed; {elapsed:.0f} s")

    def write(self, path: Path) -> None:
        """The page of results; text below its last line of `---` is kept."""
        rows = [f"| {x.what} | {x.bound} | {x.value} | {_verdict(x)} |" for x in self.lines]
        commit = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
        ).stdout.strip()
        date = datetime.datetime.now(datetime.UTC)
        notes = path.read_text().partition("\n---\n")[2] if path.exists() else "\n"
        head = [
            "# Engines", "",
            f"Made by `ROWS={self.rows} KILLS={self.kills} ROUNDS={self.rounds} "
            "engines/spark/run.sh --record`.", "",
            f"- date: {date:%Y-%m-%d %H:%M} UTC",
            f"- commit: {commit}",
            f"- CPU: {_cpu()}, {os.cpu_count()} CPUs",
            f"- load before the run: {' '.join(f'{x:.2f}' for x in self.load)}",
            f"- CPython {platform.python_version()}, Spark {_spark()}, a master and two workers of "
            "one core on loopback", "",
            "| | bound | here | |", "|---|---|---|---|",
        ]  # fmt: skip
        path.write_text("\n".join(head + rows) + "\n\n---\n" + notes)


def _verdict(line: Line) -> str:
    if line.holds:
        return "kept"
    return "**FAILED**" if line.is_check else "**not kept**"


def _cpu() -> str:
    info = dict(
        line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line
    )
    fields = {key.strip(): value.strip() for key, value in info.items()}
    family, model = fields.get("cpu family", "?"), fields.get("model", "?")
    return f"{fields.get('model name', '?')} (family {family}, model {model})"


def _spark() -> str:
    import pyspark

    return str(pyspark.__version__)
