"""The command and the package: the same bytes from the same keys, and each opens the other's."""

import pytest

import mayhap_bloom
from mayhap_bloom import Bloom, Counting, Fuse, Scalable

TEXTS = [f"https://example.org/{i}/é" for i in range(2000)]
LIST = "\n".join(TEXTS).encode()


@pytest.mark.parametrize(
    ("arguments", "create"),
    [
        (["-p", "1e-3"], lambda: Bloom(2000, 1e-3)),
        (["-p", "1e-3", "--layout", "standard"], lambda: Bloom(2000, 1e-3, layout="standard")),
        (["-p", "1e-6"], lambda: Bloom(2000, 1e-6)),
        (["-p", "1e-3", "--layout", "counting"], lambda: Counting(2000, 1e-3)),
        (["-p", "1e-3", "--layout", "scalable"], lambda: Scalable(2000, 1e-3)),
    ],
    ids=["blocked", "standard", "low rate", "counting", "scalable"],
)
def test_files_are_equal_byte_for_byte(arguments, create, command, tmp_path):
    theirs, ours = tmp_path / "theirs.mayhap", tmp_path / "ours.mayhap"
    command("build", "-o", theirs, "-n", 2000, *arguments, stdin=LIST)
    for keys in (TEXTS, [text.encode() for text in TEXTS]):
        b = create()
        b.update(keys)
        b.save(ours)
        assert ours.read_bytes() == theirs.read_bytes()
        assert mayhap_bloom.open(theirs) == b


@pytest.mark.parametrize("bits", [8, 16])
def test_static_sets_are_equal_byte_for_byte(bits, command, tmp_path):
    theirs, fpp = tmp_path / "theirs.mayhap", {8: "1%", 16: "1e-4"}[bits]
    command("build", "-o", theirs, "--layout", "fuse", "-p", fpp, stdin=LIST)
    assert bytes(Fuse(TEXTS, bits=bits)) == theirs.read_bytes()


def test_integer_keys_are_the_bytes_that_hex_digits_name(command, tmp_path):
    numbers = [0, 1, -1, 2**63 - 1, -(2**63), 2**64 - 2, *range(100, 400)]
    raw = [(number % 2**64).to_bytes(8, "little") for number in numbers]
    theirs, ours = tmp_path / "theirs.mayhap", tmp_path / "ours.mayhap"
    lines = "\n".join(key.hex() for key in raw).encode()
    command("build", "-o", theirs, "-n", 1000, "-p", "1e-4", "--hex", stdin=lines)
    b = Bloom(1000, 1e-4)
    b.update(numbers)
    b.save(ours, key_options="hex=decode\n")
    assert ours.read_bytes() == theirs.read_bytes()
    opened = mayhap_bloom.open(theirs)
    assert opened.key_options == "hex=decode\n" and all(number in opened for number in numbers)
    assert opened.cut(raw[1].hex()) == raw[1] and opened.cut("no hex") is None
    assert opened.cut(raw[1].hex().upper()) in opened


def test_the_command_opens_what_was_saved_here(command, tmp_path):
    path = tmp_path / "seen.mayhap"
    b = Bloom(1000, 1e-6)
    b.update(["a", "é"])
    b.save(path)
    lines = "a\nb\né\n".encode()
    assert command("check", path, stdin=lines).decode().splitlines() == ["a", "é"]
    command("add", path, stdin=b"new\n")
    command("verify", path)
    assert "new" in mayhap_bloom.open(path)


def test_key_options_are_those_of_the_command():
    b = Bloom(10)
    with pytest.raises(ValueError):
        b.save("/nowhere/at/all", key_options="fold=yes\n")
    assert b.key_options == "" and b.cut(" A ") == b" A " and b.cut(5) == (5).to_bytes(8, "little")
