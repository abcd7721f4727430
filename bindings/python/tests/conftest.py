"""Shared parts of the tests."""

import os
import shutil
import socket
import subprocess
import time
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


@pytest.fixture(scope="session")
def redis(tmp_path_factory):
    """The URL of a Redis server, without a database."""
    program = os.environ.get("MAYHAP_REDIS_SERVER", "redis-server")
    assert shutil.which(program), "the tests start redis-server"
    folder = tmp_path_factory.mktemp("redis")
    for _ in range(10):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        words = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        server = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        if answers(port, server):
            break
        # Another program took the port meanwhile.
        server.wait()
    yield f"redis://127.0.0.1:{port}"
    server.terminate()
    server.wait()


def answers(port, server):
    """Whether a server starts to answer, rather than exit."""
    until = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < until:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(b"PING\r\n")
                if connection.recv(100).startswith(b"+PONG") and server.poll() is None:
                    return True
        except OSError:
            time.sleep(0.01)
    return False


@pytest.fixture(scope="session")
def mayhap_server(tmp_path_factory):
    """The URL of a running `mayhap serve`."""
    words = [os.environ.get("MAYHAP") or shutil.which("mayhap"), "serve", "--port", "0"]
    folder = tmp_path_factory.mktemp("serve")
    server = subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True)
    said = ""
    while "Redis clients: " not in said:
        line = server.stderr.readline()
        assert line, said
        said += line
    # Its further output is read to the end, so that it never blocks.
    port = said.rpartition("Redis clients: 127.0.0.1:")[2].split()[0]
    yield f"redis://127.0.0.1:{port}"
    server.terminate()
    server.communicate()
