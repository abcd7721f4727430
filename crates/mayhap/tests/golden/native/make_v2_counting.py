"""Makes the golden files of layouts 3 and 4 and of kind 2 (counting) from NATIVE-FORMAT.md.

    pip install xxhash
    python make_v2_counting.py            makes them in memory and compares
    python make_v2_counting.py --write    writes them and answers_counting.txt (they must never change)
    python make_v2_counting.py --example  prints the worked example of the specification
"""

import struct
import sys
from pathlib import Path

import xxhash

from read_v1 import HEADER, LANE_MULTIPLIERS, MASK, key_bytes

HERE = Path(__file__).parent

# name, kind, layout, seed, m, n, p, keys inserted, keys removed. Overfull, so that false positives
# show that the very bits are as specified. 35,200 is past one page of bits.
FILES = [
    ("v2-blocked128", 1, 3, 11, 35_200, 3000, 0.05, 4000, 0),
    ("v2-blocked64", 1, 4, 12, 4160, 400, 0.05, 500, 0),
    ("v2-counting4", 2, 3, 13, 2432, 300, 0.05, 500, 150),
    ("v2-counting8", 2, 4, 14, 8256, 1000, 0.05, 1200, 300),
]


def slots(layout, m, digest):
    """The bits, or counters, of a digest."""
    lane_slots, slot_bits = (16, 4) if layout == 3 else (8, 3)
    block = digest * (m // (8 * lane_slots)) >> 64
    q = digest * LANE_MULTIPLIERS[0] & MASK
    return [
        block * 8 * lane_slots + lane * lane_slots + (q >> 64 - slot_bits * (lane + 1)) % lane_slots
        for lane in range(8)
    ]


def fill(layout, seed, m, count, removed):
    """Counters, and for a plain filter the insertions that were new: the keys `member-i`, and every
    tenth of them twenty times."""
    digest = lambda key: xxhash.xxh3_64_intdigest(key_bytes(key), seed)
    counters, new, largest = [0] * m, 0, 15 if layout == 3 else 255
    for i in range(count):
        for repeat in range(20 if i % 10 == 0 else 1):
            mine = slots(layout, m, digest(f"member-{i}"))
            new += repeat == 0 and not all(counters[slot] for slot in mine)
            for slot in mine:
                counters[slot] = min(counters[slot] + 1, largest)
    for i in range(removed):
        for slot in slots(layout, m, digest(f"member-{i}")):
            counters[slot] -= counters[slot] != largest
    return counters, new


def body_of(kind, layout, counters):
    body = bytearray()
    if kind == 1:
        for i in range(0, len(counters), 8):
            body.append(sum((counter > 0) << j for j, counter in enumerate(counters[i : i + 8])))
    elif layout == 3:
        for i in range(0, len(counters), 2):
            body.append(counters[i] | counters[i + 1] << 4)
    else:
        body += bytes(counters)
    return bytes(body).ljust(-(-len(body) // 4096) * 4096, b"\0")


def make(kind, layout, seed, m, n, p, count, removed):
    counters, new = fill(layout, seed, m, count, removed)
    body = body_of(kind, layout, counters)
    inserted = new if kind == 1 else count + 19 * -(-count // 10) - removed
    pages = [body[i : i + 4096] for i in range(0, len(body), 4096)]
    table = b"".join(struct.pack("<Q", xxhash.xxh3_64_intdigest(page)) for page in pages)
    fields = (b"\x89mayhap\n", 2, kind, layout, 1, seed, m, 8, 0, 0, n, p, inserted)
    header = HEADER.pack(*fields, xxhash.xxh3_64_intdigest(table)).ljust(4088, b"\0")
    header += struct.pack("<Q", xxhash.xxh3_64_intdigest(header))
    return header + body + table


def answers(name, kind, layout, seed, m, n, p, count, removed):
    """Name, keys inserted, keys removed, and the smallest counter of absent-0 … absent-999 where it
    is not 0 (for plain filters 1), as i:counter."""
    counters, _ = fill(layout, seed, m, count, removed)
    found = []
    for i in range(1000):
        digest = xxhash.xxh3_64_intdigest(key_bytes(f"absent-{i}"), seed)
        count_of = min(counters[slot] for slot in slots(layout, m, digest))
        if count_of:
            found.append(f"{i}:{count_of if kind == 2 else 1}")
    return f"{name} {count} {removed} {','.join(found) or '-'}\n"


def main():
    if "--example" in sys.argv:
        digest = xxhash.xxh3_64_intdigest(b"a")
        return print(slots(3, 4096, digest), slots(4, 4096, digest))
    lines = "".join(answers(*numbers) for numbers in FILES)
    for name, *numbers in FILES:
        if "--write" in sys.argv:
            (HERE / f"{name}.mayhap").write_bytes(make(*numbers))
        assert (HERE / f"{name}.mayhap").read_bytes() == make(*numbers), name
    if "--write" in sys.argv:
        (HERE / "answers_counting.txt").write_text(lines)
    assert lines == (HERE / "answers_counting.txt").read_text(), "answers_counting.txt differs"
    print(f"{len(FILES)} files are what the specification says")


main()
