"""What the tests share."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

#: The project that the package is a part of.
PROJECT = Path(__file__).resolve().parents[3]


def golden_keys(count: int) -> list[str | bytes | int]:
    """The keys of the golden files of version 1, as their README lists them."""
    keys: list[str | bytes | int] = ["", "é", b"\xff\x00\x80", bytes(300), 2**64 - 2, -(2**63)]
    i = 0
    while len(keys) < count:
        keys += [f"member-{i}", -1 - i, 1_000_003 * i]
        i += 1
    return keys[:count]


@pytest.fixture(scope="session")
def command():
    """Runs the command `mayhap`, which `MAYHAP` names."""
    path = os.environ.get("MAYHAP") or shutil.which("mayhap")
    assert path, "set MAYHAP to the command: cargo build -p mayhap-cli, then target/debug/mayhap"

    def run(*arguments: object, stdin: bytes = b"") -> bytes:
        words = [path, *map(str, arguments)]
        done = subprocess.run(words, input=stdin, capture_output=True, check=False)
        assert done.returncode in (0, 1), (words, done.stderr.decode())
        return done.stdout

    return run
