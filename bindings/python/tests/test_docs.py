"""The examples of the documentation."""

import doctest

import pytest
from conftest import PROJECT

import mayhap_bloom

CLASSES = ["Bloom", "Scalable", "Compact", "Counting", "Window", "Fuse", "Ribbon", "Matrix",
           "State", "Filter"]  # fmt: skip


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
