"""The command and the package: the same bytes from the same keys, and each opens the other's."""

import pytest

import mayhap_bloom
from mayhap_bloom import Bloom, Counting, Fuse, Matrix, Scalable, Window

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
        (["-p", "1e-3", "--layout", "window:500"], lambda: Window(items=500, target_fpp=1e-3)),
    ],
    ids=["blocked", "standard", "low rate", "counting", "scalable", "window"],
)
def test_files_are_equal_byte_for_byte(arguments, create, command, tmp_path):
    theirs, ours = tmp_path / "theirs.mayhap", tmp_path / "ours.mayhap"
    room = [] if "window:500" in arguments else ["-n", 2000]
    command("build", "-o", theirs, *room, *arguments, stdin=LIST)
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


def test_windows_of_time_are_equal_byte_for_byte(command, tmp_path):
    theirs, ours = tmp_path / "theirs.mayhap", tmp_path / "ours.mayhap"
    # With keys in them they differ in when these came.
    command("create", theirs, "--layout", "window:7d", "-n", 2000, "-p", "1e-3")
    Window(items=2000, target_fpp=1e-3, seconds=7 * 86_400).save(ours)
    assert ours.read_bytes() == theirs.read_bytes()
    command("add", ours, stdin=LIST)
    opened = mayhap_bloom.open(ours)
    assert opened.count_many(TEXTS) == 2000 and opened.age(TEXTS[0]) is not None
    opened.save(ours, key_options="lower=ascii\n")
    assert mayhap_bloom.open(ours).key_options == "lower=ascii\nclock=unix-ms\n"


def test_matrices_are_equal_byte_for_byte(command, tmp_path):
    lists, theirs = [tmp_path / f"{name}.txt" for name in ("east", "west", "é")], tmp_path / "all"
    parts = [TEXTS[:900], TEXTS[600:1500], TEXTS[1500:]]
    for path, texts in zip(lists, parts, strict=True):
        path.write_text("\n".join(texts))
    numbers = ["-n", 1000, "-p", "1e-3"]
    command("build", "-o", theirs, "--layout", "matrix", *numbers, *lists)
    names = [str(path) for path in lists]
    for keys in (parts, [[text.encode() for text in texts] for texts in parts]):
        m = Matrix(3, 1000, 1e-3, names=names)
        for number, texts in enumerate(keys):
            m.update(number, texts)
        assert bytes(m) == theirs.read_bytes()
    opened = mayhap_bloom.open(theirs)
    assert opened.names == names and opened.which(TEXTS[700]) == [0, 1]
    assert Matrix(3, 1000).names == []
    with pytest.raises(ValueError, match="names"):
        Matrix(3, 1000, names=["east"])


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
