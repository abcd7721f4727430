"""Makes the golden files of kind 9 (ribbon) from NATIVE-FORMAT.md, without the Rust crate.

    pip install xxhash
    python make_v4_ribbon.py            makes every file again in memory and compares
    python make_v4_ribbon.py --write    writes the files and answers_ribbon.txt (never to change)
    python make_v4_ribbon.py --example  prints the worked example of the specification
"""

import struct
import sys
from pathlib import Path

import xxhash

from read_v3 import splitmix64

HERE = Path(__file__).parent
HEADER = struct.Struct("<8s4HQQIHHQdQQ7Q")
ALL = 2**64 - 1
THRESHOLDS = [0, 8, 16, 24, 36, 52, 80, 256]

# name, seed of the digest, w, keys in 2^32 with one bit more, keys
FILES = [
    ("v4-ribbon-4", 91, 4, 0, 2600),
    ("v4-ribbon-mixed", 92, 9, 0x6000_0000, 5000),
    ("v4-ribbon-mixed-31", 93, 31, 0xFFFF_FFFF, 30),
    ("v4-ribbon-wide-alone", 94, 7, 0xE000_0000, 2),
    ("v4-ribbon-empty", 95, 13, 1, 0),
]


def mix(digest):
    h = digest
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = ((h ^ h >> 33) * factor) & ALL
    return h ^ h >> 33


def place_of(digest, number, segments, first, reach):
    """The first slot of a key in a layer."""
    starts = 64 * segments - 63
    if number == 0:
        return (digest - first) * ((starts << 64) // reach) >> 64
    return (mix(digest) * (splitmix64(number) | 1) & ALL) * starts >> 64


def equation_of(digest, w):
    """The coefficients, and the fingerprint."""
    h = mix(digest)
    return h | 1, (h * 0xD6E8FEB86659FD93 & ALL) >> 32 & 2**w - 1


class Equations:
    """Linear equations over GF(2) in echelon form: by their first slot, all slots at once."""

    def __init__(self):
        self.by_first = {}

    def added(self, equations):
        """These and more, or None if they contradict each other."""
        result = Equations()
        result.by_first = dict(self.by_first)
        for slots, value in equations:
            while slots:
                first = (slots & -slots).bit_length() - 1
                if first not in result.by_first:
                    result.by_first[first] = slots, value
                    break
                other_slots, other_value = result.by_first[first]
                slots, value = slots ^ other_slots, value ^ other_value
            else:
                if value:
                    return None
        return result

    def solved(self, num_slots):
        """The slots; those that are free are 0."""
        slots = [0] * num_slots
        for first in sorted(self.by_first, reverse=True):
            row, value = self.by_first[first]
            for other in range(first + 1, min(first + 64, num_slots)):
                if row >> other & 1:
                    value ^= slots[other]
            slots[first] = value
        return slots


def segments_for(keys):
    if keys <= 2000:
        return -(-(keys + 16) // 64)
    return (keys // 200 * 191 + keys % 200 * 191 // 200 + 32) // 64


def make_part(digests, w, first, reach):
    """The layers: the segments, the slots and the codes of each."""
    layers = []
    while digests:
        segments, equations, codes, left = segments_for(len(digests)), Equations(), [], []
        place = {d: place_of(d, len(layers), segments, first, reach) for d in digests}
        for bucket in range(-(-segments // 4)):
            own = [d for d in digests if place[d] // 256 == bucket]
            code = 7
            while code:
                low, high = THRESHOLDS[code - 1], THRESHOLDS[code]
                group = [equation_of(d, w) + (place[d],) for d in own if low <= place[d] % 256 < high]
                more = equations.added([(a << p, value) for a, value, p in group])
                if more is None:
                    break
                equations, code = more, code - 1
            codes.append(code)
            left += [d for d in own if place[d] % 256 < THRESHOLDS[code]]
        layers.append((segments, equations.solved(64 * segments), codes))
        digests = left
    return layers


def parts_of(w, wider):
    """First digest, number of digests and bits of both parts."""
    limit = wider << 32
    return [(0, limit, w + 1), (limit, 2**64 - limit, w)]


def words_of_slots(slots, w):
    """Planes of bits, eight at a time."""
    words = []
    for first in range(0, w, 8):
        for segment in range(len(slots) // 64):
            for plane in range(first, min(first + 8, w)):
                bits = (slots[64 * segment + i] >> plane & 1 for i in range(64))
                words.append(sum(bit << i for i, bit in enumerate(bits)))
    return words


def words_of_codes(codes):
    words = []
    for start in range(0, len(codes), 21):
        words.append(sum(code << 3 * i for i, code in enumerate(codes[start : start + 21])))
    return words


def make(digests, digest_seed, w, wider):
    """The bytes of the file, and the layers of both parts."""
    parts = [
        make_part([d for d in digests if first <= d < first + reach], bits, first, reach)
        for first, reach, bits in parts_of(w, wider)
    ]
    words = []
    for layers, (_, _, bits) in zip(parts, parts_of(w, wider)):
        words += [0] * (-len(words) % 8)
        for _, slots, _ in layers:
            words += words_of_slots(slots, bits)
    for layers in parts:
        for _, _, codes in layers:
            words += words_of_codes(codes)
    num_bits = 64 * max(len(words), 1)
    blocks = -(-num_bits // 512)
    body = b"".join(struct.pack("<Q", word) for word in words)
    body = body.ljust(-(-blocks // 64) * 4096, b"\0")
    table = b"".join(
        struct.pack("<Q", xxhash.xxh3_64_intdigest(body[i : i + 4096]))
        for i in range(0, len(body), 4096)
    )
    fpp = 2.0**-w * (1 - wider / 2**33)
    fields = (b"\x89mayhap\n", 4, 9, 0, 1, digest_seed, num_bits, 1, 0, 0, len(digests), fpp)
    fields += (len(digests), xxhash.xxh3_64_intdigest(table), w, wider, len(parts[0]), 0, 0, 0, 0)
    header = HEADER.pack(*fields).ljust(2176, b"\0")
    layers = parts[0] + parts[1]
    header += b"".join(struct.pack("<4Q", segments, 0, 0, 0) for segments, _, _ in layers)
    header = header.ljust(4064, b"\0") + struct.pack("<H", len(layers))
    header = header.ljust(4088, b"\0")
    header += struct.pack("<Q", xxhash.xxh3_64_intdigest(header))
    return header + body + table, parts


def is_in(digest, parts, w, wider):
    for layers, (first, reach, bits) in zip(parts, parts_of(w, wider)):
        if not first <= digest < first + reach:
            continue
        for number, (segments, slots, codes) in enumerate(layers):
            place = place_of(digest, number, segments, first, reach)
            if place % 256 < THRESHOLDS[codes[place // 256]]:
                continue
            coefficients, fingerprint = equation_of(digest, bits)
            for i in range(64):
                if coefficients >> i & 1:
                    fingerprint ^= slots[place + i]
            return fingerprint == 0
    return False


def digest_of(seed, text):
    return xxhash.xxh3_64_intdigest(text.encode(), seed)


def main():
    if "--example" in sys.argv:
        digests = [digest_of(0, text) for text in "abc"]
        data, parts = make(digests, 0, 9, 2**31)
        print([len(layers) for layers in parts], data[24:32].hex(" "))
        for digest in digests:
            first, reach, bits = parts_of(9, 2**31)[digest >= 2**63]
            segments = parts[digest >= 2**63][0][0]
            coefficients, fingerprint = equation_of(digest, bits)
            place = place_of(digest, 0, segments, first, reach)
            print(f"{digest:016X} {place} {coefficients:016X} {fingerprint:X}")
        words = struct.unpack("<512Q", data[4096:8192])
        print([(i, f"{word:016X}") for i, word in enumerate(words) if word])
        return
    lines = []
    for name, digest_seed, w, wider, count in FILES:
        digests = [digest_of(digest_seed, f"member-{i}") for i in range(count)]
        data, parts = make(digests, digest_seed, w, wider)
        absent = (i for i in range(1000) if is_in(digest_of(digest_seed, f"absent-{i}"), parts, w, wider))
        lines.append(f"{name} {count} " + (",".join(map(str, absent)) or "-"))
        print(name, [[segments for segments, _, _ in layers] for layers in parts], len(data))
        assert all(is_in(digest, parts, w, wider) for digest in digests)
        path = HERE / f"{name}.mayhap"
        if "--write" in sys.argv:
            path.write_bytes(data)
        assert path.read_bytes() == data, name
    text = "".join(line + "\n" for line in lines)
    path = HERE / "answers_ribbon.txt"
    if "--write" in sys.argv:
        path.write_text(text)
    assert path.read_text() == text


main()
