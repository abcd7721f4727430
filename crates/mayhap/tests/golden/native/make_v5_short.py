"""Makes the golden files of version 5, short ones, from NATIVE-FORMAT.md, without the Rust crate.

    pip install xxhash
    python make_v5_short.py            makes every file again in memory and compares
    python make_v5_short.py --write    writes the files and answers_short.txt (never to change)
"""

import struct
import sys
from pathlib import Path

import xxhash

from read_v3 import key_bytes, positions, siphash13

HERE = Path(__file__).parent
SECRET_KEY = bytes(range(16))
KEY_ID = siphash13(SECRET_KEY, b"mayhap key id")
FIELDS = struct.Struct("<8s4HQQIHHQdQ")

# name, layout, digest id and parameter, m, k, n, p, keys inserted, key options.
FILES = [
    ("v5-short-standard", 1, 1, 0, 962, 7, 100, 0.01, 100, ""),
    ("v5-short-blocked", 2, 1, 42, 1024, 8, 100, 0.01, 100, "trim=true\n"),
    ("v5-short-sip13", 1, 2, KEY_ID, 32184, 9, 1500, 0.01, 1400, ""),
    ("v5-short-empty", 1, 1, 9, 64, 1, 1, 0.5, 0, ""),
]


def digest_of(digest_id, parameter, text):
    key = key_bytes(text)
    return siphash13(SECRET_KEY, key) if digest_id == 2 else xxhash.xxh3_64_intdigest(key, parameter)


def make(layout, digest_id, parameter, num_bits, num_hashes, items, fpp, count, options):
    """The file, and the numbers i of `absent-i` that are answered "maybe"."""
    bits, inserted = bytearray(-(-num_bits // 8)), 0

    def places(text):
        return positions(layout, num_bits, num_hashes, digest_of(digest_id, parameter, text))

    def holds(text):
        return all(bits[bit // 8] >> bit % 8 & 1 for bit in places(text))

    for i in range(count):
        inserted += not holds(f"member-{i}")
        for bit in places(f"member-{i}"):
            bits[bit // 8] |= 1 << bit % 8
    text = options.encode()
    fields = (b"\x89mayhap\n", 5, 1, layout, digest_id, parameter, num_bits, num_hashes)
    short = FIELDS.pack(*fields, len(text), 0, items, fpp, inserted) + text + bytes(bits)
    short += struct.pack("<Q", xxhash.xxh3_64_intdigest(short))
    assert len(short) < 4096
    maybe = [str(i) for i in range(1000) if holds(f"absent-{i}")]
    return short, f"{count} {inserted} {','.join(maybe) or '-'}"


def main():
    lines = []
    for name, *numbers in FILES:
        path, (short, answers) = HERE / f"{name}.mayhap", make(*numbers)
        if "--write" in sys.argv:
            path.write_bytes(short)
        assert path.read_bytes() == short, f"{name}: not the bytes that the specification gives"
        lines.append(f"{name} {answers}\n")
    if "--write" in sys.argv:
        (HERE / "answers_short.txt").write_text("".join(lines))
    assert "".join(lines) == (HERE / "answers_short.txt").read_text(), "answers_short.txt differs"
    print(f"{len(lines)} files are what the specification says")


main()
