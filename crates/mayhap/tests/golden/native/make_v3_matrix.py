"""Makes the golden matrix files of version 3 from NATIVE-FORMAT.md, without the Rust crate.

    pip install xxhash
    python make_v3_matrix.py            makes every file again in memory and compares
    python make_v3_matrix.py --write    writes the files and answers_matrix.txt (never to change)
"""

import struct
import sys
from pathlib import Path

import xxhash

HERE = Path(__file__).parent
MASK = (1 << 64) - 1
MULTIPLIERS = [0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93]
HEADER = struct.Struct("<8s4HQQIHHQdQQ7Q")

# name, seed, groups, k, n, p, names of the sets (None: they have none), number of sets, keys
FILES = [
    ("v3-matrix", 31, 2, 8, 40, 0.05, None, 3, 600),
    ("v3-matrix-names", 32, 1, 5, 20, 0.05, ["east", "w\u00e9st\n", ""], 3, 100),
    ("v3-matrix-names-520", 33, 1, 1, 5, 0.2, [f"shard-{i}" for i in range(520)], 520, 2000),
]


def rows(groups, num_hashes, seed, text):
    digest = xxhash.xxh3_64_intdigest(text.encode(), seed)
    lanes = min(num_hashes, 8)
    group = digest * groups >> 64
    products = [digest * a & MASK for a in MULTIPLIERS[: 2 if num_hashes == 16 else 1]]
    return [
        (group * lanes + lane) * 64 + (product >> 58 - 6 * lane & 63)
        for product in products
        for lane in range(lanes)
    ]


def pages(data):
    data = data.ljust(-(-len(data) // 4096) * 4096, b"\0")
    return [data[i : i + 4096] for i in range(0, len(data), 4096)]


def make(seed, groups, num_hashes, items, fpp, names, num_sets, keys):
    """The bytes of the file, and the rows of its panels."""
    num_bits = groups * 64 * min(num_hashes, 8)
    panels = [[0] * num_bits for _ in range(-(-num_sets // 512))]
    counts = [0] * num_sets
    for i in range(keys):
        number = i % num_sets
        panel, bit = panels[number // 512], 1 << number % 512
        places = rows(groups, num_hashes, seed, f"member-{i}")
        counts[number] += any(not panel[row] & bit for row in places)
        for row in places:
            panel[row] |= bit
    segments = [b"".join(row.to_bytes(64, "little") for row in panel) for panel in panels]
    segments.append(struct.pack(f"<{num_sets}Q", *counts))
    name_bytes = b"".join(name.encode() + b"\0" for name in names or [])
    if name_bytes:
        segments.append(name_bytes)
    body = [page for segment in segments for page in pages(segment)]
    table = b"".join(struct.pack("<Q", xxhash.xxh3_64_intdigest(page)) for page in body)
    fields = (b"\x89mayhap\n", 3, 5, 0, 1, seed, num_bits, num_hashes, 0, 0, items, fpp)
    fields += (sum(counts), xxhash.xxh3_64_intdigest(table))
    fields += (num_sets, len(name_bytes), 0, 0, 0, 0, 0)
    header = HEADER.pack(*fields).ljust(4088, b"\0")
    header += struct.pack("<Q", xxhash.xxh3_64_intdigest(header))
    return header + b"".join(body) + table, panels


def which(panels, num_sets, places):
    found = []
    for i, panel in enumerate(panels):
        both = (1 << 512) - 1
        for row in places:
            both &= panel[row]
        found += [i * 512 + bit for bit in range(512) if both >> bit & 1]
    assert all(number < num_sets for number in found)
    return found


def main():
    lines = []
    for name, seed, groups, num_hashes, *numbers in FILES:
        data, panels = make(seed, groups, num_hashes, *numbers)
        num_sets, keys = numbers[-2:]
        path = HERE / f"{name}.mayhap"
        if "--write" in sys.argv:
            path.write_bytes(data)
        assert path.read_bytes() == data, f"{name}: not the bytes that the specification gives"
        for i in range(keys):
            places = rows(groups, num_hashes, seed, f"member-{i}")
            assert i % num_sets in which(panels, num_sets, places)
        wrong = []
        for i in range(100):
            found = which(panels, num_sets, rows(groups, num_hashes, seed, f"absent-{i}"))
            wrong += [f"{i}:{','.join(map(str, found))}"] if found else []
        lines.append(f"{name} {keys} {' '.join(wrong) or '-'}\n")
    if "--write" in sys.argv:
        (HERE / "answers_matrix.txt").write_text("".join(lines))
    assert "".join(lines) == (HERE / "answers_matrix.txt").read_text(), "answers_matrix.txt differs"
    print(f"{len(lines)} files are what the specification says")


main()
