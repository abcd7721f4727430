"""Files: saved whole, opened whatever they are, refused when they are damaged."""

import json
import os
import shutil

import numpy
import pyarrow
import pytest
from conftest import PROJECT

import mayhap_bloom
from mayhap_bloom import Bloom, Compact, Counting, Fuse, Matrix, Ribbon, Scalable, Window

NATIVE = PROJECT / "crates/mayhap/tests/golden/native"
FOREIGN = PROJECT / "crates/mayhap-formats/tests/golden"
SECRET = bytes(range(16))


def examples():
    """A filter of each kind, with the key "a"."""
    for b in (Bloom(100), Bloom(100, layout="standard"), Bloom(100, secret_key=SECRET),
              Bloom(10, on_full="grow"), Scalable(10), Counting(100, counter_bits=8),
              Compact(100), Compact(100, on_full="grow"), Window(items=10), Window(items=10, seconds=60)):  # fmt: skip
        b.add("a")
        yield b
    yield Fuse(["a"])
    yield Ribbon(["a"])
    m = Matrix(2, 100)
    m.add(1, "a")
    yield m


def test_what_is_saved_is_opened(tmp_path):
    for b in examples():
        path = tmp_path / f"{b.kind}.mayhap"
        b.save(path)
        key = SECRET if getattr(b, "digest", None) == "sip13" else None
        assert path.read_bytes() == bytes(b)
        for other in (
            mayhap_bloom.open(path, secret_key=key),
            mayhap_bloom.open(str(path), secret_key=key),
            mayhap_bloom.from_bytes(bytes(b), secret_key=key),
            mayhap_bloom.from_bytes(bytearray(bytes(b)), secret_key=key),
        ):
            assert "a" in other and other.kind == b.kind and bytes(other) == bytes(b)
            assert type(other).__name__ == {"bloom": "Bloom"}.get(b.kind, b.kind.capitalize())
        with pytest.raises(FileExistsError):
            b.save(path, replace=False)
        b.save(path)


def test_what_is_opened_is_full_as_it_is_told(tmp_path):
    path = tmp_path / "seen.mayhap"
    Bloom(10, 1e-6).save(path)
    for opened in (mayhap_bloom.open, lambda p, **o: mayhap_bloom.from_bytes(p.read_bytes(), **o)):
        with pytest.raises(mayhap_bloom.FilterFullError):
            opened(path, on_full="raise").update(range(100))
        with pytest.warns(mayhap_bloom.FilterFullWarning):
            opened(path).update(range(100))
        with pytest.raises(ValueError, match="does not grow"):
            opened(path, on_full="grow")
    Scalable(10).save(path)
    assert mayhap_bloom.open(path).on_full == "grow"
    mayhap_bloom.open(path).update(range(100))


def test_a_mapped_filter_is_read_only_and_shared(tmp_path):
    path = tmp_path / "seen.mayhap"
    b = Bloom(10_000, 1e-6)
    b.update(range(5000))
    b.save(path)
    mapped = mayhap_bloom.open(path, mmap=True)
    assert mapped == b and b == mapped and len(mapped) == len(b) and mapped.fpp == b.fpp
    assert all(i in mapped for i in range(5000)) and mapped.count_many(range(10_000)) == 5000
    for change in (lambda: mapped.add("x"), lambda: mapped.update([1]), mapped.clear,
                   lambda: mapped.__ior__(b)):  # fmt: skip
        with pytest.raises(mayhap_bloom.ReadOnlyError, match="without mmap"):
            change()
    copy = mapped.copy()
    assert copy.add("x") and "x" not in mapped
    empty = b.copy()
    empty.clear()
    assert (empty | mapped) == b
    with pytest.raises(BufferError, match="mapped"):
        memoryview(mapped)
    with pytest.raises(mayhap_bloom.FormatError):
        Scalable(10).save(path)
        mayhap_bloom.open(path, mmap=True)


def test_a_mapped_file_that_was_cut_is_an_error_and_no_crash(tmp_path):
    path = tmp_path / "seen.mayhap"
    b = Bloom(1_000_000)
    b.update(range(1000))
    b.save(path)
    mapped = mayhap_bloom.open(path, mmap=True)
    os.truncate(path, 4096)
    with pytest.raises(OSError, match="seen.mayhap"):
        mapped.count_many(range(1000))
    with pytest.raises(OSError):
        [i in mapped for i in range(1000)]
    with pytest.raises(OSError):
        mapped.copy()


@pytest.mark.parametrize("layout", ["standard", "blocked"])
def test_a_damaged_page_of_a_mapped_file_is_an_error_and_no_answer(tmp_path, layout):
    path = tmp_path / "seen.mayhap"
    b = Bloom(20_000, 1e-6, layout=layout)
    b.update(range(20_000))
    data = bytearray(bytes(b))
    for page in (0, 3, len(data) // 4104 - 2):
        path.write_bytes(data)
        lost = data.copy()
        lost[4096 * (page + 1) : 4096 * (page + 2)] = bytes(4096)
        path.write_bytes(lost)
        mapped = mayhap_bloom.open(path, mmap=True)
        with pytest.raises(mayhap_bloom.FormatError, match=f"page {page} of "):
            mapped.count_many(range(20_000))
        mapped, answers = mayhap_bloom.open(path, mmap=True), []
        with pytest.raises(mayhap_bloom.FormatError, match=f"page {page} of "):
            answers.extend(i in mapped for i in range(20_000))
        assert all(answers)
        with pytest.raises(mayhap_bloom.FormatError):
            mapped.copy()
        trusted = mayhap_bloom.open(path, mmap=True, trust=True)
        assert trusted.count_many(range(20_000)) < 20_000


def test_damage_is_found(tmp_path):
    b = Bloom(1000)
    b.update(range(500))
    data = bytearray(bytes(b))
    path = tmp_path / "x.mayhap"
    for at in (3, 9, 30, 4095, 4096, 4500, len(data) - 1):
        data[at] ^= 1
        with pytest.raises(mayhap_bloom.FormatError):
            mayhap_bloom.from_bytes(bytes(data))
        path.write_bytes(data)
        with pytest.raises(mayhap_bloom.FormatError):
            mayhap_bloom.open(path)
        data[at] ^= 1
    for cut in (b"", data[:7], data[:4096], data[:-1], data + b"\0", b"keep\nthese\nwords\n"):
        with pytest.raises(mayhap_bloom.FormatError):
            mayhap_bloom.from_bytes(bytes(cut))
        path.write_bytes(cut)
        with pytest.raises(mayhap_bloom.FormatError):
            mayhap_bloom.open(path)
    for bad in ("text", None, 5, [1]):
        with pytest.raises((TypeError, BufferError)):
            mayhap_bloom.from_bytes(bad)


def test_errors_of_the_system_are_its_exceptions(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere") as caught:
        mayhap_bloom.open(tmp_path / "nowhere")
    assert caught.value.errno == 2
    with pytest.raises(OSError):
        mayhap_bloom.open(tmp_path)
    with pytest.raises(FileNotFoundError):
        Bloom(10).save(tmp_path / "no" / "folder")
    assert list(tmp_path.iterdir()) == []


def test_every_golden_file_of_the_native_format_opens():
    opened = 0
    for path in sorted(NATIVE.glob("*.mayhap")):
        secret_key = SECRET if "sip13" in path.name or "state-log" in path.name else None
        log = path.with_name(path.name + ".log")
        if log.exists() and "empty" not in path.name:
            # Its log has more: a part is not opened as if it were all.
            with pytest.raises(OSError, match="log"):
                mayhap_bloom.open(path, secret_key=secret_key)
        elif "segment" in path.name:
            with pytest.raises(TypeError, match=r"Segment.open\(path\) opens it"):
                mayhap_bloom.open(path, secret_key=secret_key)
            assert mayhap_bloom.Segment.open(path, secret_key=secret_key).num_bytes > 0
        else:
            b = mayhap_bloom.open(path, secret_key=secret_key)
            assert b.kind in path.name or b.kind == "bloom"
        opened += 1
    assert opened >= 22


#: Files that are not filters by themselves, or whose m and k are in another file.
NOT_ALONE = ("magnuss", "redisson")


def test_every_foreign_file_opens_and_is_written_back(tmp_path):
    opened = {}
    for path in sorted(FOREIGN.glob("*/*")):
        if path.suffix in (".json", ".md") and "bits-and-blooms" not in str(path):
            continue
        for name in mayhap_bloom.formats():
            try:
                foreign = mayhap_bloom.open(path, format=name)
            except (mayhap_bloom.MayhapError, ValueError):
                continue
            if bytes(foreign) == path.read_bytes():
                assert foreign.format == name and foreign.num_bits > 0 and foreign.num_hashes > 0
                foreign.save(tmp_path / "copy")
                assert (tmp_path / "copy").read_bytes() == path.read_bytes()
                opened.setdefault(path.parent.name, set()).add(path.name)
    systems = {path.name for path in FOREIGN.iterdir() if path.is_dir()}
    assert set(opened) >= systems - {*NOT_ALONE}, systems - set(opened)
    assert sum(map(len, opened.values())) >= 60


#: The key types of Guava's funnels.
KEY_TYPES = {
    "byteArray": None, "string:UTF-8": None, "unencodedChars": "utf16",
    "string:ISO-8859-1": "latin1", "string:US-ASCII": "ascii", "string:UTF-16LE": "utf16",
    "integer": "int", "long": "long",
}  # fmt: skip


def test_keys_of_another_system_are_found_by_their_type():
    queried = 0
    for path in sorted((FOREIGN / "guava").glob("*.json")):
        described = json.loads(path.read_text())
        if not {"members_explicit", "file", "funnel"} <= described.keys():
            continue
        if described["funnel"] not in KEY_TYPES:
            # Encodings that no key type has: big-endian UTF-16, with a mark.
            assert described["funnel"].startswith("string:UTF-16"), path
            continue
        key_type = KEY_TYPES[described["funnel"]]
        foreign = mayhap_bloom.open(path.with_name(described["file"]), key_type=key_type)
        keys = [key_of(member["key"]) for member in described["members_explicit"]]
        # Half characters are no text of Python.
        keys = [key for key in keys if key is not None]
        assert all(key in foreign for key in keys), path
        assert foreign.contains_many(keys) == [True] * len(keys)
        queried += len(keys)
    assert queried > 150


def key_of(described):
    """A key of a golden file: bytes, text or a number."""
    if not isinstance(described, dict):
        return described
    if "text" in described:
        return described["text"]
    return bytes.fromhex(described["hex"]) if "hex" in described else int(described["dec"])


def test_a_foreign_file_is_recognised_and_extended(tmp_path):
    file = tmp_path / "words"
    shutil.copy(FOREIGN / "guava/bytes_mitz32.bin", file)
    foreign = mayhap_bloom.open(file)
    assert (foreign.format, foreign.key_type) == ("guava", None)
    assert b"\x02\x09" in foreign and "surely absent, long" not in foreign
    assert foreign.add("surely absent, long") and "surely absent, long" in foreign
    foreign.update(["another"])
    keys = ["another", "one more", b"and one", "one more"]
    assert foreign.add_many(keys) == [False, True, True, False]
    assert foreign.add_many(numpy.array(["one more", "and another"])).tolist() == [False, True]
    column = pyarrow.array(["and another", None, "the last"])
    assert foreign.add_many(column).to_pylist() == [False, None, True]
    assert foreign.contains_many([*keys, "and another", "the last"]) == [True] * 6
    with pytest.raises(TypeError, match="not float"):
        foreign.add_many(["before", 1.5, "after"])
    assert "before" not in foreign and "after" not in foreign
    assert foreign.contains_many(["another", "a third one, absent"]) == [True, False]
    assert bytes(foreign) != file.read_bytes()
    assert "guava" in mayhap_bloom.formats() and "long" in mayhap_bloom.key_types()
    for bad in (None, 1.5, (1,)):
        with pytest.raises(TypeError, match="keys are"):
            mayhap_bloom.open(file, key_type="latin1").add(bad)
    with pytest.raises(ValueError, match="formats\\(\\)"):
        mayhap_bloom.open(file, format="java")
    with pytest.raises(ValueError, match="key_types\\(\\)"):
        mayhap_bloom.open(file, key_type="java")
    with pytest.raises(mayhap_bloom.FormatError):
        mayhap_bloom.open(file, format="spark")
    file.write_bytes(os.urandom(1000))
    with pytest.raises(mayhap_bloom.FormatError):
        mayhap_bloom.open(file, key_type="bytes")
