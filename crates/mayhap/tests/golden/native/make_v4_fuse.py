"""Makes the golden files of kind 6 (fuse) from NATIVE-FORMAT.md, without the Rust crate.

    pip install xxhash
    python make_v4_fuse.py            makes every file again in memory and compares
    python make_v4_fuse.py --write    writes the files and answers_fuse.txt (never to change)
    python make_v4_fuse.py --example  prints the slots of the worked examples of the specification
"""

import struct
import sys
from pathlib import Path

import xxhash

from read_v3 import splitmix64

HERE = Path(__file__).parent
HEADER = struct.Struct("<8s4HQQIHHQdQQ7Q")
ALL = 2**64 - 1

# name, seed of the digest, w, keys in 2^32 with one bit more, s, c, keys
FILES = [
    ("v3-fuse-8", 71, 8, 0, 6, 4, 200),
    ("v3-fuse-16", 72, 16, 0, 5, 9, 250),
    ("v4-fuse-4", 73, 4, 0, 8, 7, 1500),
    ("v4-fuse-mixed", 74, 6, 0x6000_0000, 7, 12, 1200),
    ("v4-fuse-mixed-31", 75, 31, 0xFFFF_FFFF, 4, 3, 30),
    ("v4-fuse-empty", 76, 13, 1, 2, 1, 0),
]


def key_of(digest, seed, w, wider, s, c):
    """The slots, the fingerprint and its bits."""
    h = (digest + seed) & ALL
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = ((h ^ h >> 33) * factor) & ALL
    h ^= h >> 33
    q, length = (h * 0x9E3779B97F4A7C15) & ALL, 2**s
    a = h * c * length >> 64
    slots = [a, (a + length) ^ (q >> 44) % length, (a + 2 * length) ^ (q >> 24) % length]
    if w in (8, 16) and wider == 0:
        return slots, (q >> 8) % 2**w, w
    bits = w + (a < -(-wider * c // 2**32) * length)
    return slots, ((h * 0xD6E8FEB86659FD93) & ALL) >> 32 & 2**bits - 1, bits


def solve(keys, num_slots):
    """Values of the slots that give all keys their fingerprints, or None: slots of one key first."""
    of_slot = [set() for _ in range(num_slots)]
    for number, (slots, _, _) in enumerate(keys):
        for slot in slots:
            of_slot[slot].add(number)
    single = [slot for slot in range(num_slots) if len(of_slot[slot]) == 1]
    order = []
    while single:
        slot = single.pop()
        if len(of_slot[slot]) != 1:
            continue
        number = min(of_slot[slot])
        order.append((slot, number))
        for other in keys[number][0]:
            of_slot[other].discard(number)
            if len(of_slot[other]) == 1:
                single.append(other)
    if len(order) < len(keys):
        return None
    values = [0] * num_slots
    for slot, number in reversed(order):
        slots, fingerprint, bits = keys[number]
        a, b, c = (values[other] for other in slots)
        values[slot] = (a ^ b ^ c ^ fingerprint) & 2**bits - 1
    return values


def layout_of(w, wider, s, c):
    """The slots with one bit more, and num_bits."""
    v = -(-wider * c // 2**32)
    x = (v + 2) * 2**s if v else 0
    spare = 0 if w in (8, 16) and wider == 0 else 64
    return x, w * (c + 2) * 2**s + x + spare


def make(digests, digest_seed, w, wider, s, c):
    """The bytes of the file, and the slots."""
    x, num_bits = layout_of(w, wider, s, c)
    for attempt in range(64):
        seed = splitmix64(attempt)
        keys = [key_of(digest, seed, w, wider, s, c) for digest in digests]
        values = solve(keys, (c + 2) * 2**s)
        if values:
            break
    number = 0
    for slot, value in enumerate(values):
        assert value < 2 ** (w + (slot < x))
        number |= value << slot * w + min(slot, x)
    blocks = -(-num_bits // 512)
    body = number.to_bytes(64 * blocks, "little").ljust(-(-blocks // 64) * 4096, b"\0")
    table = b"".join(
        struct.pack("<Q", xxhash.xxh3_64_intdigest(body[i : i + 4096]))
        for i in range(0, len(body), 4096)
    )
    version = 3 if w in (8, 16) and wider == 0 else 4
    fpp = 2.0**-w * (1 - wider / 2**33)
    fields = (b"\x89mayhap\n", version, 6, 0, 1, digest_seed, num_bits, 3, 0, 0, len(digests), fpp)
    fields += (len(digests), xxhash.xxh3_64_intdigest(table), w, s, c, seed, wider, 0, 0)
    header = HEADER.pack(*fields).ljust(4088, b"\0")
    header += struct.pack("<Q", xxhash.xxh3_64_intdigest(header))
    return header + body + table, seed, values


def digest_of(seed, text):
    return xxhash.xxh3_64_intdigest(text.encode(), seed)


def answers(seed, values, digest_seed, w, wider, s, c, count):
    found = []
    for i in range(1000):
        slots, fingerprint, bits = key_of(digest_of(digest_seed, f"absent-{i}"), seed, w, wider, s, c)
        sum_of = values[slots[0]] ^ values[slots[1]] ^ values[slots[2]]
        if count and sum_of & 2**bits - 1 == fingerprint:
            found.append(str(i))
    return ",".join(found) or "-"


def main():
    if "--example" in sys.argv:
        for w, wider in ((8, 0), (9, 2**31)):
            digests = [digest_of(0, text) for text in "abc"]
            data, seed, values = make(digests, 0, w, wider, 3, 1)
            print(w, wider, f"{seed:016X}", data[4096:4136].hex(" "))
            print([key_of(digest, seed, w, wider, 3, 1) for digest in digests])
        return
    lines = []
    for name, digest_seed, w, wider, s, c, count in FILES:
        digests = [digest_of(digest_seed, f"member-{i}") for i in range(count)]
        data, seed, values = make(digests, digest_seed, w, wider, s, c)
        lines.append(f"{name} {count} " + answers(seed, values, digest_seed, w, wider, s, c, count))
        path = HERE / f"{name}.mayhap"
        if "--write" in sys.argv:
            path.write_bytes(data)
        assert path.read_bytes() == data, name
    text = "".join(line + "\n" for line in lines)
    path = HERE / "answers_fuse.txt"
    if "--write" in sys.argv:
        path.write_text(text)
    assert path.read_text() == text


main()
