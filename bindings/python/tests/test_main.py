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
