"""`python -m mayhap_bloom`, and the examples of the documentation."""

import doctest
import subprocess
import sys

import pytest
from conftest import PROJECT

import mayhap_bloom


def run(*arguments, stdin=b""):
    words = [sys.executable, "-m", "mayhap_bloom", *map(str, arguments)]
    return subprocess.run(words, input=stdin, capture_output=True, check=False)


def test_lines_are_built_and_checked(tmp_path, command):
    path = tmp_path / "seen.mayhap"
    done = run("build", path, "-n", 1000, "-p", "1e-6", stdin=b"a\nb\n\xff\n")
    assert done.returncode == 0 and b"3 of 1000 keys" in done.stderr, done.stderr
    done = run("check", path, stdin=b"b\nz\n\xff\n")
    assert (done.returncode, done.stdout) == (0, b"b\n\xff\n")
    done = run("check", "-v", path, stdin=b"b\nz\n")
    assert (done.returncode, done.stdout) == (0, b"z\n")
    assert run("check", path, stdin=b"z\n").returncode == 1
    assert run("build", path, "-n", 10).returncode == 2
    assert run("check", tmp_path / "nowhere").returncode == 2
    assert b"3 of 1000 keys" in run("info", path).stdout
    hashes = tmp_path / "hashes.mayhap"
    command("build", "-o", hashes, "-n", 10, "--hex", stdin=b"4a\n")
    assert run("check", hashes, stdin=b"4A\n4b\nno hex\n").stdout == b"4A\n"


def test_03_lines_with_cr_lf_are_those_without(tmp_path, command):
    theirs, ours, matrix = (tmp_path / name for name in ("theirs", "ours", "matrix"))
    for number, lines in enumerate((b"a\r\nb\r\n", b"a\r\nb\n", b"a\nb\n")):
        assert run("build", "--force", ours, "-n", 10, "-p", "1e-6", stdin=lines).returncode == 0
        command("build", "-q", "--force", "-o", theirs, "-n", 10, "-p", "1e-6", stdin=lines)
        assert ours.read_bytes() == theirs.read_bytes(), number
        for same in (b"a\nb\n", b"a\r\nb\r\n"):
            assert run("check", ours, stdin=same).stdout == same
            assert run("check", "-v", ours, stdin=same).stdout == b""
    (tmp_path / "words").write_bytes(b"Word\n")
    command("build", "-q", "--layout", "matrix", "-n", 10, "-o", matrix, "--lower",
            tmp_path / "words", tmp_path / "words")  # fmt: skip
    for same in (b"word\n", b"WORD\r\n"):
        assert run("check", matrix, stdin=same).stdout == same
    foreign = PROJECT / "crates/mayhap-formats/tests/golden/guava/javaser_long_mitz64.ser"
    assert run("check", foreign, stdin=b"5\r\n6\n").stdout == b"5\r\n6\n"


CLASSES = ["Bloom", "Scalable", "Counting", "Window", "Fuse", "Matrix", "State", "Filter"]


@pytest.mark.parametrize("name", CLASSES)
def test_the_examples_of_docstrings_hold(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner()
    subject = getattr(mayhap_bloom, name)
    names = {name: getattr(mayhap_bloom, name) for name in mayhap_bloom.__all__}
    found = 0
    for text in (subject.__doc__, subject.__dict__.get("add") and subject.add.__doc__):
        if text and ">>>" in text:
            test = doctest.DocTestParser().get_doctest(text, dict(names), name, None, 0)
            runner.run(test)
            found += len(test.examples)
    assert runner.summarize().failed == 0 and found > 0


@pytest.mark.parametrize("page", ["bindings/python/README.md", "docs/python.md"])
def test_the_examples_of_pages_hold(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = doctest.testfile(str(PROJECT / page), module_relative=False)
    assert outcome.failed == 0 and outcome.attempted >= 3


def test_everything_public_is_documented():
    for name in mayhap_bloom.__all__:
        thing = getattr(mayhap_bloom, name)
        assert name == "__version__" or thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                assert value.__doc__, (name, member)
