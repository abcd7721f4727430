"""Makes the golden files of kind 8 (compact) from NATIVE-FORMAT.md, without the Rust crate.

    pip install xxhash
    python make_v3_compact.py            makes every file again in memory and compares
    python make_v3_compact.py --write    writes the files and answers_compact.txt (never to change)
    python make_v3_compact.py --example  prints the worked example of the specification
"""

import struct
import sys
from collections import Counter
from pathlib import Path

import xxhash

HERE = Path(__file__).parent
HEADER = struct.Struct("<8s4HQQIHHQdQQ7Q")
FRONTS = [1, 10, 40, 160, 640]
MOST_COPIES = 15

# name, seed, F, B, r, n, p, whether it grows, keys inserted, keys removed. In the first one
# fingerprints are on every level and in the attic; the second one is sized as mayhap does for its n
# and p; the third one has no remainders in its front buckets.
FILES = [
    ("v3-compact", 61, 12, 60, 6, 2600, 0.05, 0, 1702, 12),
    ("v3-compact-sized", 62, 16, 81, 13, 1000, 1e-4, 1, 700, 300),
    ("v3-compact-no-remainders", 63, 4, 400, 0, 300, 0.2, 0, 200, 20),
]


def slots_of(runs, bits):
    return min((1024 - runs) // (bits + 1), 512 - runs)


def shapes(F, B, r):
    """Runs, bits of a remainder and slots of each level."""
    found = [(B, r, slots_of(B, r))]
    for fronts in FRONTS[1:]:
        values = B * 2**r * min(fronts, F)
        runs_of = [(-(-values // 2**bits), bits) for bits in range(57)]
        fit = [(slots_of(R, q), q, R) for R, q in runs_of if R <= 511 and slots_of(R, q) >= 1]
        slots, bits, runs = max(fit)
        found.append((runs, bits, slots))
    return found


def bucket(shape, numbers):
    """The 128 bytes of a bucket with these numbers, which ascend."""
    runs, bits, slots = shape
    assert len(numbers) <= slots and numbers == sorted(numbers)
    value, bit, slot = 0, 0, 0
    for run in range(runs):
        for number in numbers:
            if number >> bits == run:
                value |= 1 << bit
                value |= (number & (1 << bits) - 1) << runs + slots + slot * bits
                bit, slot = bit + 1, slot + 1
        bit += 1
    return value.to_bytes(128, "little")


def body_of(F, B, r, n, copies):
    """The body, and how many fingerprints each level and the attic have."""
    of_front = B * 2**r
    left = [[] for _ in range(F)]
    for x in sorted(copies.elements()):
        left[x // of_front].append(x)
    body, held = b"", []
    for shape, fronts, above in zip(shapes(F, B, r), FRONTS, FRONTS[1:] + [None]):
        over = [[] for _ in range(-(-F // above))] if above else [[]]
        held.append(0)
        for b, mine in enumerate(left):
            mine.sort()
            kept = mine[: shape[2]]
            held[-1] += len(kept)
            body += bucket(shape, [x - b * fronts * of_front for x in kept])
            over[b * fronts // above if above else 0] += mine[shape[2] :]
        left = over
    attic, room = sorted(left[0]), -(-(n // 3000 + 32) // 8) * 8 - 1
    assert len(attic) <= room
    body += struct.pack(f"<{room + 1}Q", len(attic), *attic, *[0] * (room - len(attic)))
    return body, held + [len(attic)]


def fingerprint(F, B, r, seed, text):
    return xxhash.xxh3_64_intdigest(text.encode(), seed) * (F * B * 2**r) >> 64


def fill(F, B, r, seed, count, removed):
    """The copies of each fingerprint: of the keys `member-i`, every eighth of them three times, and
    `member-0` twenty times; then the first ones are removed, once each."""
    copies = Counter()
    for i in range(count):
        x = fingerprint(F, B, r, seed, f"member-{i}")
        for _ in range(20 if i == 0 else 3 if i % 8 == 0 else 1):
            copies[x] = min(copies[x] + 1, MOST_COPIES)
    for i in range(removed):
        x = fingerprint(F, B, r, seed, f"member-{i}")
        copies[x] -= 0 < copies[x] < MOST_COPIES
    return copies


def make(seed, F, B, r, n, p, grows, count, removed):
    copies = fill(F, B, r, seed, count, removed)
    body, _ = body_of(F, B, r, n, copies)
    num_bits, inserted = len(body) * 8, sum(copies.values())
    assert grows or inserted <= n
    body = body.ljust(-(-len(body) // 4096) * 4096, b"\0")
    pages = [body[i : i + 4096] for i in range(0, len(body), 4096)]
    table = b"".join(struct.pack("<Q", xxhash.xxh3_64_intdigest(page)) for page in pages)
    fields = (b"\x89mayhap\n", 3, 8, 0, 1, seed, num_bits, 0, 0, 0, n, p, inserted)
    extra = (F, B, r, grows, 0, 0, 0)
    header = HEADER.pack(*fields, xxhash.xxh3_64_intdigest(table), *extra).ljust(4088, b"\0")
    header += struct.pack("<Q", xxhash.xxh3_64_intdigest(header))
    return header + body + table


def answers(name, seed, F, B, r, n, p, grows, count, removed):
    """Name, keys inserted, keys removed, and the copies of absent-0 … absent-999 where there are
    some, as i:copies."""
    copies = fill(F, B, r, seed, count, removed)
    found = [(i, copies[fingerprint(F, B, r, seed, f"absent-{i}")]) for i in range(1000)]
    found = [f"{i}:{of_it}" for i, of_it in found if of_it]
    return f"{name} {count} {removed} {','.join(found) or '-'}\n"


def main():
    if "--example" in sys.argv:
        F, B, r = 2, 3, 4
        found = sorted(fingerprint(F, B, r, 0, text) for text in "abc")
        print(shapes(F, B, r), found, body_of(F, B, r, 100, Counter(found))[0][:256].hex(" "))
        return
    lines = "".join(answers(*numbers) for numbers in FILES)
    for name, *numbers in FILES:
        seed, F, B, r, n, p, grows, count, removed = numbers
        # Before the removals too there is room in the attic.
        body_of(F, B, r, n, fill(F, B, r, seed, count, 0))
        held = body_of(F, B, r, n, fill(F, B, r, seed, count, removed))[1]
        print(f"{name}: on the levels and in the attic {held}, {shapes(F, B, r)}")
        if "--write" in sys.argv:
            (HERE / f"{name}.mayhap").write_bytes(make(*numbers))
        assert (HERE / f"{name}.mayhap").read_bytes() == make(*numbers), name
    if "--write" in sys.argv:
        (HERE / "answers_compact.txt").write_text(lines)
    assert lines == (HERE / "answers_compact.txt").read_text(), "answers_compact.txt differs"
    print(f"{len(FILES)} files are what the specification says")


main()
