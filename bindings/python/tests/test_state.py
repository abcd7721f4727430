"""States: added keys survive kill -9, and many processes change one file in turns."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import mayhap_bloom
from mayhap_bloom import Bloom, Compact, Counting, Fuse, Scalable, State, Window

#: Inserts keys, and reports the acknowledged ones; starts on "go" on stdin.
WRITER = """
import sys
from mayhap_bloom import Bloom, State
path, prefix, count, at_once = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with State(path, create=Bloom(100_000, 1e-9)) as seen:
    print("ready", flush=True)
    sys.stdin.readline()
    for i in range(0, count, at_once):
        keys = [f"{prefix}-{j}" for j in range(i, min(i + at_once, count))]
        new = [seen.add(keys[0])] if at_once == 1 else seen.add_many(keys)
        print(*(f"{key} {int(one)}" for key, one in zip(keys, new)), sep="\\n", flush=True)
"""


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def begin(path, prefix, count, at_once=1):
    """A process that inserts keys once it reads a line."""
    words = [sys.executable, "-c", WRITER, path, prefix, count, at_once]
    return subprocess.Popen(
        [str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_a_torn_write_is_said_once_in_the_log(tmp_path, caplog):
    path, log = tmp_path / "seen.mayhap", tmp_path / "seen.mayhap.log"
    with State(path, create=Bloom(1000, 1e-9)) as seen:
        seen.add("before")
        seen.sync()
        kept = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    for name, data in kept.items():
        (tmp_path / name).write_bytes(data)
    os.truncate(log, len(kept[log.name]) - 3)
    assert caplog.records == []
    with State(path) as seen:
        assert "before" not in seen and seen.add("before")
    with State(path) as seen:
        assert "before" in seen
    said = [(record.name, record.levelname) for record in caplog.records]
    assert said == [("mayhap_bloom", "WARNING")]
    assert f"{log}: removed a torn write" in caplog.text


def test_a_state_is_created_filled_and_continued(tmp_path):
    path = tmp_path / "seen.mayhap"
    for create in (None, Fuse(["a"])):
        with pytest.raises((FileNotFoundError, TypeError)):
            State(path, create=create)
    assert files(tmp_path) == []
    first = Bloom(1000, 1e-9)
    first.add("before")
    with State(path, create=first) as seen:
        assert isinstance(seen, mayhap_bloom.Filter) and seen.path == path
        assert seen.add("a") and not seen.add("a") and not seen.add("before")
        assert seen.add_many(["a", "b", b"c", 5]) == [False, True, True, True]
        seen.update(["d"], ["e"])
        assert "a" in seen and 5 in seen and "z" not in seen and len(seen) == 7
        assert seen.contains_many(["a", "z"]) == [True, False]
        assert "seen.mayhap.log" in files(tmp_path)
        assert "State: 7 of 1000 keys" in repr(seen)
    # The file is the whole filter; the filter passed in is not the filter of the state.
    assert files(tmp_path) == ["seen.mayhap"] and "a" not in first
    assert mayhap_bloom.open(path) == seen.copy() and type(seen.copy()) is Bloom
    with State(path, create=Bloom(10)) as again:
        assert again.expected_items == 1000 and not again.add("e") and again.add("f")
    assert len(mayhap_bloom.open(path)) == 8


@pytest.mark.parametrize("at_once", [1, 500], ids=["one by one", "batches"])
def test_acknowledged_keys_survive_kill_9(at_once, tmp_path, command):
    path = tmp_path / "seen.mayhap"
    child = begin(path, "key", 50_000, at_once)
    try:
        assert child.stdout.readline() == "ready\n"
        child.stdin.write("go\n")
        child.stdin.flush()
        acknowledged = [child.stdout.readline() for _ in range(2000)]
    finally:
        child.kill()
    acknowledged += child.stdout.readlines()
    assert child.wait() == -signal.SIGKILL
    child.stdin.close()
    child.stdout.close()
    # The last line may have been cut.
    keys = [line.split()[0] for line in acknowledged if line.endswith(("0\n", "1\n"))]
    assert 2000 <= len(keys) < 50_000
    lines = "\n".join(keys).encode() + b"\n"
    assert command("check", path, stdin=lines) == lines
    with pytest.raises(OSError, match=r"log.*State\(path\)"):
        mayhap_bloom.open(path)  # not without the log: that would be a part of the keys
    with State(path) as seen:
        assert all(key in seen for key in keys)
        assert seen.add_many(keys) == [False] * len(keys)
        assert len(seen) < 50_000
    assert mayhap_bloom.open(path).count_many(keys) == len(keys)


def test_the_command_and_processes_lose_no_key_and_each_is_new_once(tmp_path, command):
    path, count = tmp_path / "seen.mayhap", 3000
    State(path, create=Bloom(100_000, 1e-9)).close()
    children = [begin(path, prefix, count) for prefix in ("both", "both", "own")]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    for i in range(20):
        lines = "".join(f"command-{j}\n" for j in range(100 * i, 100 * (i + 1)))
        command("add", path, stdin=lines.encode())
    new = []
    for child in children:
        out, _ = child.communicate()
        assert child.returncode == 0
        new += [line.split()[0] for line in out.splitlines() if line.endswith(" 1")]
    keys = [f"{prefix}-{i}" for prefix in ("both", "own") for i in range(count)]
    assert sorted(new) == sorted(keys)
    everything = keys + [f"command-{i}" for i in range(2000)]
    seen = mayhap_bloom.open(path)
    assert seen.count_many(everything) == len(everything) == len(seen)
    assert files(tmp_path) == ["seen.mayhap"]


def test_the_lock_is_free_in_pauses_and_what_others_add_is_seen(tmp_path, command):
    path = tmp_path / "seen.mayhap"
    with State(path, create=Bloom(1000, 1e-9)) as seen:
        assert seen.add("ours")
        # It waits for the pause, not for the end of this block.
        command("add", "--lock-timeout", "30s", path, stdin=b"theirs\n")
        assert "theirs" not in seen
        seen.refresh()
        assert "theirs" in seen
        command("add", path, stdin=b"more\n")
        assert not seen.add("more") and len(seen) == 3
        seen.add("last")
        seen.sync()
        seen.checkpoint()
        assert "seen.mayhap.log" not in files(tmp_path)
        assert command("check", path, stdin=b"last\n") == b"last\n"
        # The whole filter is replaced by the command, too.
        command("remove" if seen.kind == "counting" else "add", path, stdin=b"again\n")
        assert not seen.add("again")
    assert len(mayhap_bloom.open(path)) == 5


def test_others_get_a_turn_while_keys_come_without_a_pause(tmp_path, command):
    path = tmp_path / "seen.mayhap"
    with State(path, create=Scalable(100_000, 1e-9)) as seen:
        stop, count = threading.Event(), 0

        def add():
            nonlocal count
            while not stop.is_set():
                count += seen.add(f"ours-{count}")

        thread = threading.Thread(target=add)
        thread.start()
        try:
            command("add", "--lock-timeout", "20s", path, stdin=b"theirs\n")
        finally:
            stop.set()
            thread.join()
        assert not seen.add("theirs") and len(seen) == count + 1
    assert "theirs" in mayhap_bloom.open(path)


def test_a_lock_that_is_never_free_is_an_error_in_time(tmp_path):
    path = tmp_path / "seen.mayhap"
    with State(path, create=Bloom(1000), lock_timeout=0.2) as seen:
        with held(path):
            with pytest.raises(TimeoutError, match="seen.mayhap: is being changed by process"):
                seen.add("a")
            with pytest.raises(TimeoutError, match="waited 0.[2-9]"):
                State(path, lock_timeout=0.2)
            assert "a" not in seen and len(seen) == 0
        assert seen.add("a")
    with pytest.raises(ValueError, match="lock_timeout"):
        State(path, lock_timeout=-1)


def test_many_threads_share_a_state(tmp_path):
    path, new = tmp_path / "seen.mayhap", []
    with State(path, create=Scalable(100, 1e-9)) as seen:

        def add(first):
            new.append(sum(seen.add(f"key-{i}") for i in range(first, first + 1000)))
            new.append(sum(seen.add_many([f"key-{i}" for i in range(3000)])))
            assert all(f"key-{i}" in seen for i in range(3000)) and len(seen) > 0

        threads = [threading.Thread(target=add, args=(first,)) for first in (0, 500, 1000, 2000)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(new) == 3000 == len(seen)
    assert mayhap_bloom.open(path).count_many(f"key-{i}" for i in range(3000)) == 3000


def kinds():
    """A filter of each kind that can be a state."""
    secret_key = bytes(range(16))
    yield Bloom(1000, 1e-6), None
    yield Bloom(1000, 1e-6, layout="standard", secret_key=secret_key), secret_key
    yield Scalable(10, 1e-6), None
    yield Compact(1000, 1e-6), None
    yield Counting(1000, 1e-6), None
    yield Window(items=1000, target_fpp=1e-6), None
    yield Window(items=1000, seconds=3600, target_fpp=1e-6), None


def test_every_kind_that_changes_is_a_state(tmp_path):
    for i, (create, secret_key) in enumerate(kinds()):
        path = tmp_path / f"{i}.mayhap"
        seen = State(path, create=create, secret_key=secret_key)
        keys = [f"key-{j}" for j in range(500)]
        assert all(seen.add_many(keys)) and seen.kind == create.kind
        assert seen.on_full == create.on_full
        seen.add("twice")
        seen.add("twice")
        # Not closed: as a crash would leave it.
        del seen
        with State(path, secret_key=secret_key) as seen:
            assert seen.count_many(keys) == 500 and "twice" in seen
            removes = seen.kind in ("compact", "counting")
            if removes:
                assert seen.remove("twice") and seen.remove("twice") and not seen.remove("twice")
            else:
                with pytest.raises(TypeError, match="counters"):
                    seen.remove("twice")
        opened = mayhap_bloom.open(path, secret_key=secret_key)
        assert opened.count_many(keys) == 500 and opened.key_options == create.key_options
        assert ("twice" in opened) == (not removes)


def test_a_closed_state_is_read_only(tmp_path):
    path = tmp_path / "seen.mayhap"
    with pytest.raises(RuntimeError, match="from within"):
        with State(path, create=Bloom(1000, 1e-9)) as seen:
            seen.add("a")
            raise RuntimeError("from within")
    seen.close()
    assert "a" in seen and len(seen) == 1
    def unite():
        return seen.__ior__(Bloom(1000, 1e-9))

    for change in (lambda: seen.add("b"), lambda: seen.update(["b"]), seen.clear, seen.refresh,
                   seen.checkpoint, seen.sync, unite):  # fmt: skip
        with pytest.raises(mayhap_bloom.ReadOnlyError, match="closed"):
            change()
    assert "b" not in mayhap_bloom.open(path) and "a" in mayhap_bloom.open(path)


def test_whole_filters_are_taken_over_and_cleared(tmp_path):
    path = tmp_path / "seen.mayhap"
    other = Bloom(1000, 1e-9)
    other.update(["x", "y"])
    with State(path, create=Bloom(1000, 1e-9)) as seen, State(path) as beside:
        seen.add("a")
        seen |= other
        assert isinstance(seen, State) and seen.count_many(["a", "x", "y"]) == 3
        assert not beside.add("x") and "a" in beside
        seen.clear()
        assert "a" not in seen and beside.add("a") and len(beside) == 1
        assert (other | seen) == (other | Bloom(1000, 1e-9))
        with pytest.raises(mayhap_bloom.IncompatibleError):
            seen |= Scalable(10)
        with pytest.raises(BufferError, match="a state"):
            memoryview(seen)
        with pytest.raises(TypeError, match="not pickled"):
            seen.__reduce__()
    assert mayhap_bloom.open(path).count_many(["a", "x"]) == 1


def test_a_full_state_warns_or_raises(tmp_path):
    path = tmp_path / "seen.mayhap"
    with State(path, create=Bloom(10, 1e-9), on_full="raise") as seen:
        with pytest.raises(mayhap_bloom.FilterFullError):
            seen.update(range(100))
        # A batch is added completely or not at all.
        assert len(seen) == 0
        seen.update(range(10))
        with pytest.raises(mayhap_bloom.FilterFullError):
            seen.add("one more")
    assert mayhap_bloom.open(path).count_many(range(100)) == 10
    with State(path) as seen:
        with pytest.warns(mayhap_bloom.FilterFullWarning):
            seen.add("one more")
    with pytest.raises(ValueError, match="does not grow"):
        State(path, on_full="grow")


def test_digests_stay_complete_and_a_larger_filter_is_taken_over(tmp_path, command):
    path = tmp_path / "seen.mayhap"
    command("build", "--keep-digests", "-o", path, "-n", 100, "-p", "1e-9", stdin=b"first\n")
    keys = [f"key-{i}" for i in range(60)] + [f"more-{i}" for i in range(5000)]
    with State(path, on_full="raise") as seen:
        seen.update(keys[:60])
        with pytest.raises(mayhap_bloom.ReadOnlyError, match="digests"):
            seen.clear()
        command("grow", path, "-n", 10_000)
        assert not seen.add("first") and seen.expected_items == 10_000
        # There would have been no room for them.
        assert all(seen.add_many(keys[60:]))
        assert not any(seen.add_many(keys))
    # The command rebuilds it from the digests alone.
    command("grow", path, "-n", 20_000)
    grown = mayhap_bloom.open(path)
    assert grown.count_many(["first", *keys]) == 5061 == len(grown)


def test_damaged_digests_are_an_error_before_anything_is_added(tmp_path, command):
    path = tmp_path / "seen.mayhap"
    command("build", "--keep-digests", "-o", path, "-n", 1000, stdin=b"first\n" * 10)
    digests = tmp_path / "seen.mayhap.digests"
    whole, image = digests.read_bytes(), path.read_bytes()
    # The magic, and the code of the key.
    for place in (0, 104):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        digests.write_bytes(damaged)
        with pytest.raises(mayhap_bloom.FormatError, match="digests: is damaged at byte"):
            State(path)
        assert path.read_bytes() == image
    digests.write_bytes(whole)
    with State(path) as seen:
        assert "first" in seen


def test_a_window_of_time_needs_its_unit(tmp_path, command):
    path = tmp_path / "week.mayhap"
    command("create", path, "--layout", "window:7d", "-n", 1000)
    with State(path) as seen:
        assert seen.add("a") and not seen.add("a")
    assert command("check", path, stdin=b"a\n") == b"a\n"
    with State(tmp_path / "ours.mayhap", create=Window(items=1000, seconds=60)) as seen:
        assert seen.key_options == "clock=unix-ms\n" and seen.add("a")
    # The command adds to it, since the file has the unit.
    command("add", tmp_path / "ours.mayhap", stdin=b"b\n")
    assert "b" in mayhap_bloom.open(tmp_path / "ours.mayhap")


def change_inherited(seen, answers):
    try:
        seen.add("from the child")
    except mayhap_bloom.ReadOnlyError as error:
        answers.put((str(error), "a" in seen))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_opens_the_state_itself(tmp_path):
    path = tmp_path / "seen.mayhap"
    context = multiprocessing.get_context("fork")
    with State(path, create=Bloom(1000, 1e-9)) as seen:
        seen.add("a")
        answers = context.Queue()
        child = context.Process(target=change_inherited, args=(seen, answers), daemon=True)
        child.start()
        message, found = answers.get(timeout=60)
        child.join()
        assert "after fork()" in message and found and child.exitcode == 0
        assert seen.add("b") and "from the child" not in seen
    assert len(mayhap_bloom.open(path)) == 2


def test_signals_end_a_wait(tmp_path):
    path = tmp_path / "seen.mayhap"
    with held(path):
        waiter = subprocess.Popen([sys.executable, "-c", WAITER, path], stdout=subprocess.PIPE)
        # A process that waits for a lock leaves a mark in its file.
        while (tmp_path / ".seen.mayhap.mayhap-lck").stat().st_size <= 4096:
            assert waiter.poll() is None
            time.sleep(0.01)
        waiter.send_signal(signal.SIGINT)
        out, _ = waiter.communicate()
        assert (out, waiter.returncode) == (b"interrupted\n", 0)


@contextlib.contextmanager
def held(path):
    """Another process holds the lock of a file."""
    words = [sys.executable, "-c", HOLDER, path]
    holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    yield
    holder.communicate(b"\n")
    assert holder.returncode == 0


#: Takes the lock of a file without the package, and holds it until it reads a line.
HOLDER = """
import fcntl, os, sys
folder, name = os.path.split(sys.argv[1])
path = os.path.join(folder, f".{name}.mayhap-lck")
while True:
    file = open(path, "w")
    fcntl.flock(file, fcntl.LOCK_EX)
    if os.path.exists(path) and os.path.samestat(os.stat(path), os.fstat(file.fileno())):
        break
file.write(f"mayhap-lock\\n{os.getpid()} test\\n")
file.flush()
print("held", flush=True)
sys.stdin.readline()
"""

WAITER = """
import sys
from mayhap_bloom import Bloom, State
try:
    State(sys.argv[1], create=Bloom(10))
except KeyboardInterrupt:
    print("interrupted")
"""
