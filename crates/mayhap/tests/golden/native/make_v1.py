"""Makes the golden files of version 1 from NATIVE-FORMAT.md, without the Rust crate.

    pip install xxhash
    python make_v1.py            reads every file here with read_v1.py and checks its answers
    python make_v1.py --write    writes the files and answers.txt (the bytes must never change)
    python make_v1.py --example  prints the worked example of the specification
"""

import struct
import sys
from pathlib import Path

import xxhash

from read_v1 import HEADER, Filter, positions, siphash13

HERE = Path(__file__).parent
SECRET_KEY = bytes(range(16))
KEY_ID = siphash13(SECRET_KEY, b"mayhap key id")
OPTIONS = "lower=true\ntrim=true\ndelim=\u2192\n"

# name, layout, digest id and parameter, m, k, n, p, keys inserted, key options. Most are overfull,
# so that false positives show that the very bits are as specified.
FILES = [
    ("v1-standard", 1, 1, 0, 1000, 7, 100, 0.01, 150, ""),
    ("v1-standard-sip13", 1, 2, KEY_ID, 32769, 20, 1000, 1e-6, 2000, ""),
    ("v1-blocked-k4", 2, 1, 1234, 33280, 4, 8000, 0.1, 9000, ""),
    ("v1-blocked-k8", 2, 1, 42, 4096, 8, 300, 0.05, 450, ""),
    ("v1-blocked-k16", 2, 1, 0xDEADBEEFCAFEBABE, 33280, 16, 1000, 1e-5, 3000, ""),
    ("v1-blocked-key-options", 2, 1, 7, 512, 8, 20, 0.001, 50, OPTIONS),
    ("v1-standard-empty", 1, 1, 0, 64, 1, 1, 0.5, 0, ""),
]


def members(count):
    """Keys of every kind; the first `count` of: odd ones, then text, i64 and u64 in turn."""
    keys = ["", "\u00e9", b"\xff\x00\x80", b"\x00" * 300, 2**64 - 2, -(2**63)]
    for i in range(count):
        keys += [f"member-{i}", -1 - i, i * 1_000_003]
    return keys[:count]


def absent():
    return [f"absent-{i}" for i in range(1000)]


def make(layout, digest_id, parameter, num_bits, num_hashes, items, fpp, count, options):
    body = bytearray(-(-num_bits // 32768) * 4096)
    inserted = 0
    for key in members(count):
        data = key if isinstance(key, bytes) else None
        if data is None:
            data = key.encode() if isinstance(key, str) else struct.pack("<Q", key & (1 << 64) - 1)
        if digest_id == 2:
            digest = siphash13(SECRET_KEY, data)
        else:
            digest = xxhash.xxh3_64_intdigest(data, parameter)
        new = False
        for bit in positions(layout, num_bits, num_hashes, digest):
            new |= not body[bit // 8] >> bit % 8 & 1
            body[bit // 8] |= 1 << bit % 8
        inserted += new
    pages = [body[i : i + 4096] for i in range(0, len(body), 4096)]
    table = b"".join(struct.pack("<Q", xxhash.xxh3_64_intdigest(page)) for page in pages)
    text = options.encode()
    fields = (b"\x89mayhap\n", 1, 1, layout, digest_id, parameter, num_bits, num_hashes)
    fields += (len(text), 0, items, fpp, inserted, xxhash.xxh3_64_intdigest(table))
    header = (HEADER.pack(*fields).ljust(128, b"\0") + text).ljust(4088, b"\0")
    header += struct.pack("<Q", xxhash.xxh3_64_intdigest(header))
    return header + bytes(body) + table


def answers(name, data, count):
    """One line: name, keys inserted, those that were new, and the false positives of absent()."""
    found = Filter(data, SECRET_KEY)
    assert all(key in found for key in members(count)), f"{name}: a member is missing"
    false_positives = [str(i) for i, key in enumerate(absent()) if key in found]
    return f"{name} {count} {found.inserted_items} {','.join(false_positives) or '-'}\n"


def example():
    digest = xxhash.xxh3_64_intdigest(b"a")
    print(f"digest {digest:016x}")
    print("standard, m = 1000, k = 7:", positions(1, 1000, 7, digest))
    for num_hashes in (4, 8, 16):
        bits = positions(2, 4096, num_hashes, digest)
        lanes = [bit % (128 if num_hashes == 4 else 64) for bit in bits]
        print(f"blocked, m = 4096, k = {num_hashes}: block {bits[0] // 512}, lanes {lanes}, {bits}")


def main():
    if "--example" in sys.argv:
        return example()
    lines = []
    for name, *numbers in FILES:
        path = HERE / f"{name}.mayhap"
        if "--write" in sys.argv:
            path.write_bytes(make(*numbers))
        data = path.read_bytes()
        assert data == make(*numbers), f"{name}: not the bytes that the specification gives"
        lines.append(answers(name, data, numbers[7]))
    if "--write" in sys.argv:
        (HERE / "answers.txt").write_text("".join(lines))
    assert "".join(lines) == (HERE / "answers.txt").read_text(), "answers.txt differs"
    print(f"{len(lines)} files are what the specification says")


main()
