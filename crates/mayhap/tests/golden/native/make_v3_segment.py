"""Makes the golden segment files of version 3 from NATIVE-FORMAT.md, without the Rust crate.

    pip install xxhash
    python make_v3_segment.py            makes every file again in memory and compares
    python make_v3_segment.py --write    writes the files and answers_segment.txt (never to change)
"""

import struct
import sys
from pathlib import Path

import xxhash

from read_v3 import key_bytes, positions, siphash13

HERE = Path(__file__).parent
SECRET_KEY = bytes(range(16))
KEY_ID = siphash13(SECRET_KEY, b"mayhap key id")
HEADER = struct.Struct("<8s4HQQIHHQdQQ7Q")

# name, digest id and parameter, m, k, n, p, keys inserted into the whole filter, key options,
# first page, pages
FILES = [
    ("v3-segment-0", 1, 51, 99840, 8, 9000, 0.05, 9000, "", 0, 1),
    ("v3-segment-1", 1, 51, 99840, 8, 9000, 0.05, 9000, "", 1, 3),
    ("v3-segment-sip13", 2, KEY_ID, 131072, 16, 5000, 1e-5, 6000, "trim=true\n", 1, 2),
    ("v3-segment-empty", 1, 52, 512, 4, 20, 0.2, 0, "", 0, 1),
]


def digest_of(digest_id, parameter, text):
    key = key_bytes(text)
    return siphash13(SECRET_KEY, key) if digest_id == 2 else xxhash.xxh3_64_intdigest(key, parameter)


def bounds(num_bits, first, pages):
    """The first digest of the segment, and the one after its last."""
    blocks = num_bits // 512
    ends = [min(page * 64, blocks) for page in (first, first + pages)]
    return [-(-(block << 64) // blocks) for block in ends]


def make(digest_id, parameter, num_bits, k, items, fpp, keys, options, first, pages):
    """The bytes of the file, and those of its body."""
    body = bytearray(pages * 4096)
    low, end = bounds(num_bits, first, pages)
    for i in range(keys):
        digest = digest_of(digest_id, parameter, f"member-{i}")
        if low <= digest < end:
            for bit in positions(2, num_bits, k, digest):
                bit -= first * 32768
                body[bit // 8] |= 1 << bit % 8
    table = b"".join(
        struct.pack("<Q", xxhash.xxh3_64_intdigest(body[i : i + 4096]))
        for i in range(0, len(body), 4096)
    )
    ones, text = sum(byte.bit_count() for byte in body), options.encode()
    fields = (b"\x89mayhap\n", 3, 7, 2, digest_id, parameter, num_bits, k, len(text), 0, items, fpp)
    fields += (0, xxhash.xxh3_64_intdigest(table), first, pages, ones, 0, 0, 0, 0)
    header = (HEADER.pack(*fields) + text).ljust(4088, b"\0")
    header += struct.pack("<Q", xxhash.xxh3_64_intdigest(header))
    return header + bytes(body) + table, body


def main():
    lines = []
    for name, *numbers in FILES:
        data, body = make(*numbers)
        digest_id, parameter, num_bits, k, _, _, _, _, first, pages = numbers
        path = HERE / f"{name}.mayhap"
        if "--write" in sys.argv:
            path.write_bytes(data)
        assert path.read_bytes() == data, f"{name}: not the bytes that the specification gives"
        low, end = bounds(num_bits, first, pages)
        found = []
        for i in range(1000):
            digest = digest_of(digest_id, parameter, f"absent-{i}")
            bits = [bit - first * 32768 for bit in positions(2, num_bits, k, digest)]
            if low <= digest < end and all(body[bit // 8] >> bit % 8 & 1 for bit in bits):
                found.append(i)
        numbers = f"{low:016x} {end - 1:016x}"
        lines.append(f"{name} {numbers} {','.join(map(str, found)) or '-'}\n")
    if "--write" in sys.argv:
        (HERE / "answers_segment.txt").write_text("".join(lines))
    assert "".join(lines) == (HERE / "answers_segment.txt").read_text(), "answers_segment.txt differs"
    print(f"{len(lines)} files are what the specification says")


main()
