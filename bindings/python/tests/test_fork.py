"""Processes that fork: children answer or raise, and never hang; locks stay with the parent."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest

import mayhap_bloom
from conftest import PROJECT
from mayhap_bloom import Bloom, Matrix, ReadOnlyError, Scalable, State

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork"),
    # From 3.12 on, a fork in a process with threads is one.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def child(body):
    """The exit code of `body` in a child, which has half a minute for it."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if body() else 2
        finally:
            os._exit(code)
    until = time.monotonic() + 30
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return "hung"
        time.sleep(0.001)


def test_25_a_child_reads_a_state_whenever_it_was_forked(tmp_path):
    path = tmp_path / "seen.mayhap"
    with State(path, create=Bloom(100_000, 1e-9)) as seen:
        for i in range(60):
            seen.update(f"k{i}_{j}" for j in range(200))
            # The thread that releases the lock does so now, or is about to.
            time.sleep(0.018 + 0.0001 * (i % 40))
            code = child(lambda i=i: f"k{i}_1" in seen and len(seen) > 0 and repr(seen))
            assert code == 0, (i, code)


def test_25_a_child_does_not_change_the_state_of_its_parent(tmp_path):
    path = tmp_path / "seen.mayhap"

    def body():
        try:
            seen.add("b")
        except ReadOnlyError as error:
            return "after fork()" in str(error) and "a" in seen.copy()

    with State(path, create=Bloom(1000, 1e-9)) as seen:
        seen.add("a")
        assert child(body) == 0
        # The child has closed its files, and the lock is still ours.
        assert seen.add("b") and not seen.add("a")
    assert len(mayhap_bloom.open(path)) == 2


@pytest.mark.parametrize("create", [lambda: Bloom(2_000_000), lambda: Scalable(1000)])
def test_25_a_child_reads_a_filter_that_another_thread_was_changing(create):
    b, numbers, stop = create(), numpy.arange(300_000), threading.Event()

    def fill():
        while not stop.is_set():
            b.update(numbers)
            b.update(map(str, range(1000)))

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        for i in range(30):
            assert child(lambda: (5 in b) is not None and b.add("x") is not None) == 0, i
    finally:
        stop.set()
        thread.join()


def test_25_a_child_reads_other_classes_that_another_thread_was_changing():
    golden = PROJECT / "crates/mayhap-formats/tests/golden/guava/bytes_mitz32.bin"
    matrix, foreign = Matrix(4, 100_000), mayhap_bloom.open(golden)
    numbers, stop = numpy.arange(100_000), threading.Event()

    def fill():
        while not stop.is_set():
            matrix.update(1, numbers)
            foreign.contains_many(numbers)
            foreign.update(numbers[:3])

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        for i in range(20):
            code = child(lambda: matrix.which(5) is not None and foreign.add("x") is not None)
            assert code == 0, (i, code)
    finally:
        stop.set()
        thread.join()


#: Adds a key, forks a worker that never uses the state, reports it, and waits to be killed.
PARENT = """
import os, sys, time
from mayhap_bloom import Bloom, State
seen = State(sys.argv[1], create=Bloom(1000))
seen.add("a")
worker = os.fork()
if worker == 0:
    time.sleep(600)
    os._exit(0)
for i in range(10**9):
    # The lock is held all the while.
    seen.add(str(i % 500))
    if i == 100:
        print(worker, flush=True)
"""


def test_25_a_forked_worker_does_not_keep_the_lock_of_its_killed_parent(tmp_path, command):
    path = tmp_path / "seen.mayhap"
    words = [sys.executable, "-c", PARENT, str(path)]
    parent = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    worker = int(parent.stdout.readline())
    try:
        parent.kill()
        parent.wait()
        # A time-out would be an error; the worker, which inherited the files, is alive.
        command("add", "--lock-timeout", "20s", path, stdin=b"theirs\n")
        os.kill(worker, 0)
        # Nor does it keep the log, so that the file is written in the place of it.
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["seen.mayhap"]
    finally:
        os.kill(worker, signal.SIGKILL)
        parent.stdout.close()
    assert "theirs" in mayhap_bloom.open(path)


def test_25_many_threads_fork_at_once(tmp_path):
    with State(tmp_path / "seen.mayhap", create=Bloom(100_000)) as seen:
        codes, numbers = [], numpy.arange(50_000)

        def work(i):
            for _ in range(5):
                seen.update(numbers[i * 1000 : (i + 1) * 1000])
                codes.append(child(lambda: "x" not in seen or True))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert codes == [0] * 20


def test_25_a_module_that_is_imported_anew_forks_as_before():
    words = (
        "import os, sys; import mayhap_bloom; "
        "[sys.modules.pop(m) for m in list(sys.modules) if m.startswith('mayhap_bloom')]; "
        "import mayhap_bloom; pid = os.fork(); pid or os._exit(0); "
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    subprocess.run([sys.executable, "-c", words], timeout=60, check=True)
