"""The command and the package: the same bytes from the same keys, and each opens the other's."""

import json
import warnings

import pytest

import mayhap_bloom
from mayhap_bloom import (
    Bloom,
    Compact,
    Counting,
    FilterFullWarning,
    Fuse,
    Matrix,
    Ribbon,
    Scalable,
    Window,
    digests,
)

#: The place of the insertion count in a file, and of the parts that its header's checksum leaves
#: out.
COUNT, IDENTITY, CHECKSUM = slice(56, 64), slice(4032, 4064), slice(4088, 4096)

TEXTS = [f"https://example.org/{i}/é" for i in range(2000)]
LIST = "\n".join(TEXTS).encode()


@pytest.mark.parametrize(
    ("arguments", "create"),
    [
        (["-p", "1e-3"], lambda: Bloom(2000, 1e-3)),
        (["-p", "1e-3", "--layout", "standard"], lambda: Bloom(2000, 1e-3, layout="standard")),
        (["-p", "1e-6"], lambda: Bloom(2000, 1e-6)),
        (["-p", "1e-3", "--layout", "compact"], lambda: Compact(2000, 1e-3)),
        (["-p", "1e-3", "--layout", "counting"], lambda: Counting(2000, 1e-3)),
        (["-p", "1e-3", "--layout", "scalable"], lambda: Scalable(2000, 1e-3)),
        (["-p", "1e-3", "--layout", "window:500"], lambda: Window(items=500, target_fpp=1e-3)),
    ],
    ids=["blocked", "standard", "low rate", "compact", "counting", "scalable", "window"],
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


@pytest.mark.parametrize("fpp", [0.2, 0.01, 1e-4, 1e-6, 2.0**-31])
def test_static_sets_are_equal_byte_for_byte(fpp, command, tmp_path):
    theirs = tmp_path / "theirs.mayhap"
    command("build", "-o", theirs, "--layout", "fuse", "-p", fpp, stdin=LIST)
    assert bytes(Fuse(TEXTS, target_fpp=fpp)) == theirs.read_bytes()
    assert mayhap_bloom.open(theirs).expected_fpp <= fpp
    frozen = tmp_path / "frozen.mayhap"
    command("build", "-o", frozen, "--frozen", "-p", fpp, stdin=LIST)
    assert bytes(Ribbon(TEXTS, target_fpp=fpp)) == frozen.read_bytes()
    assert mayhap_bloom.open(frozen) == Ribbon(TEXTS, target_fpp=fpp)


@pytest.mark.parametrize("layout", ["blocked", "standard"])
@pytest.mark.parametrize("how", [{}, {"target_fpp": 0.1}, {"expected_items": 9_000}, {"factor": 2}])
def test_shrunk_filters_are_equal_byte_for_byte(layout, how, command, tmp_path):
    large, theirs = tmp_path / "large.mayhap", tmp_path / "theirs.mayhap"
    command("build", "-o", large, "--mem", "240KiB", "-p", "1%", "--layout", layout, stdin=LIST)
    names = {"target_fpp": "-p", "expected_items": "-n", "factor": "--factor"}
    words = [word for name, value in how.items() for word in (names[name], value)]
    command("shrink", large, "-o", theirs, *words)
    small = mayhap_bloom.open(large).shrink(**how)
    assert bytes(small) == theirs.read_bytes() and small.count_many(TEXTS) == len(TEXTS)
    # A mapped file shrinks in memory.
    with_map = mayhap_bloom.open(large, mmap=True)
    assert bytes(with_map.shrink(**how)) == theirs.read_bytes()


def test_windows_of_time_are_equal_byte_for_byte(command, tmp_path):
    theirs, ours = tmp_path / "theirs.mayhap", tmp_path / "ours.mayhap"
    # Empty filters: with keys they would differ in the times of insertion.
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


@pytest.mark.parametrize("keys", [78_000, 78_500, 79_500, 80_500, 97_000, 100_000, 101_500])
def test_26_the_health_is_that_of_the_command(keys, command, tmp_path):
    path = tmp_path / "f.mayhap"
    b = Bloom(100_000, 0.1, layout="standard", on_full="warn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b.update(range(keys))
    b.save(path)
    said = json.loads(command("info", "--json", path))["health"].replace("_", " ")
    assert b.health == mayhap_bloom.open(path, mmap=True).health == said


def test_26_bits_that_nobody_counted_are_seen(tmp_path):
    b = Bloom(1000, 0.01)
    with pytest.warns(FilterFullWarning):
        b.update(range(3000))
    data = bytearray(bytes(b))
    data[COUNT] = bytes(8)
    assert data[IDENTITY] == bytes(32)
    data[CHECKSUM] = int(digests([bytes(data[: CHECKSUM.start])])[0]).to_bytes(8, "little")
    uncounted = mayhap_bloom.from_bytes(data)
    assert uncounted.count == 0 and uncounted.health == "over capacity"


@pytest.mark.parametrize("options", ["", "lower=ascii\n", "delim=,\nfield=2\n"])
def test_03_the_key_of_a_line_is_the_one_that_may_be_there(options, command, tmp_path):
    path = tmp_path / "f.mayhap"
    b = Bloom(10, 1e-9)
    if options:
        b.save(path, key_options=options)
        b = mayhap_bloom.open(path)
    line = "x,a\r"
    short = b.cut("x,a")
    # The treatment of carriage returns is unknown: the command queries both keys.
    assert b.cut(line) == short
    b.add(short + b"\r")
    assert b.cut(line) == short + b"\r" and b.cut(line) in b and b.cut("x,a") not in b
    b.save(path)
    assert command("check", "-q", path, stdin=line.encode() + b"\n") == b""
    mapped = mayhap_bloom.open(path, mmap=True)
    assert mapped.cut(line) == short + b"\r"
    for value, key in (("strip", short), ("keep", short + b"\r")):
        b.save(path, key_options=f"crlf={value}\n{options}")
        assert mayhap_bloom.open(path).cut(line) == key


def test_03_a_value_has_no_line_end(tmp_path):
    path = tmp_path / "f.mayhap"
    b = Bloom(10, 1e-9)
    for text in ("Word\r", "word"):
        assert b.add(text)
    number = 13 << 56
    assert b.cut(number) == number.to_bytes(8, "little")
    b.save(path, key_options="lower=ascii\n")
    lower = mayhap_bloom.open(path)
    assert "WORD" in lower and "WORD\r" not in lower
    assert lower.add("WORD\r") and b"word\r" in lower
    assert lower.contains_many(["wORD\r"]) == [True]
    b.save(path, key_options="crlf=strip\nlower=ascii\n")
    assert "WORD\r" in mayhap_bloom.open(path)
