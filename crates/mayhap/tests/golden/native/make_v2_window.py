"""Makes the golden files of kind 4 (windows) from NATIVE-FORMAT.md.

    pip install xxhash
    python make_v2_window.py            makes them in memory and compares
    python make_v2_window.py --write    writes them and answers_window.txt (they must never change)
"""

import struct
import sys
from pathlib import Path

import xxhash

from read_v1 import HEADER, MASK, PROBE_MULTIPLIERS, key_bytes

HERE = Path(__file__).parent


def ceil(a, b):
    return -(-a // b)


class Even:
    """Layout 1: generations of one length. Those of keys end as they did in 0.1, when a fixed
    number of keys had changed them; `Arrivals` is what replaced it."""

    layout, row_bits = 1, 16

    def __init__(self, seed, rows, k, w, n, p, span):
        self.seed, self.rows, self.k = seed, rows, k
        self.w, self.n, self.p, self.span = w, n, p, span
        self.table, self.counts = [0] * rows, [0] * 16
        self.g = self.now = 0
        self.s = ceil(w, 14)
        self.live = ceil(w, self.s) + 1
        self.blocks = ceil(rows, 32)

    def rows_of(self, key):
        digest = xxhash.xxh3_64_intdigest(key_bytes(key), self.seed)
        return [(digest * a & MASK) * self.rows >> 64 for a in PROBE_MULTIPLIERS[: self.k]]

    def columns(self, key):
        columns = (1 << self.row_bits) - 1
        for row in self.rows_of(key):
            columns &= self.table[row]
        return columns

    def contains(self, key):
        return any(self.columns(key) >> (self.g - age) % 16 & 1 for age in range(self.live))

    def clear(self, column, blocks, in_block):
        for row in range(min(blocks * in_block, self.rows)):
            self.table[row] &= ~(1 << column)

    def clear_spare(self):
        spare = (self.g + 1) % 16
        if self.counts[spare]:
            if self.span:
                c = self.blocks * (self.now % self.s + 1) // self.s
            else:
                c = self.blocks * self.counts[self.g % 16] // self.s
            self.clear(spare, c, 32)
            if c == self.blocks:
                self.counts[spare] = 0

    def begin(self, generation):
        for i in range(self.g + 1, min(generation, self.g + 16) + 1):
            self.clear(i % 16, self.blocks, 32)
            self.counts[i % 16] = 0
        self.g = generation

    def insert(self, key, now):
        if self.span and now > self.now:
            if now // self.s != self.g:
                self.begin(now // self.s)
            self.now = now
            self.clear_spare()
        present = self.g % 16
        if self.columns(key) >> present & 1:
            return
        if not self.span and self.counts[present] == self.s:
            self.begin(self.g + 1)
            present = self.g % 16
        for row in self.rows_of(key):
            self.table[row] |= 1 << present
        self.counts[present] += 1
        if not self.span:
            self.clear_spare()

    def inserted(self):
        return sum(self.counts[(self.g - age) % 16] for age in range(self.live))

    def extra(self):
        return [self.span, self.g, self.now]

    def segments(self):
        return [
            struct.pack(f"<{self.rows}H", *self.table).ljust(self.blocks * 64, b"\0"),
            struct.pack("<16Q", *self.counts),
        ]


class Arrivals(Even):
    """Layout 1, keys: a generation ends after a number of keys, whether it had them or not."""

    def __init__(self, *numbers):
        super().__init__(*numbers)
        self.arrived = 0

    def insert(self, key, _now):
        if self.arrived == self.s:
            self.begin(self.g + 1)
            self.arrived = 0
        present = self.g % 16
        if not self.columns(key) >> present & 1:
            for row in self.rows_of(key):
                self.table[row] |= 1 << present
            self.counts[present] += 1
        self.arrived += 1
        spare, c = (self.g + 1) % 16, self.blocks * self.arrived // self.s
        if self.counts[spare]:
            self.clear(spare, c, 32)
            if c == self.blocks:
                self.counts[spare] = 0

    def extra(self):
        return [self.span, self.g, self.now, self.arrived - self.counts[self.g % 16]]


class Spans(Even):
    """Layout 5: generations that end when they are full or old."""

    layout, row_bits = 5, 64

    def __init__(self, seed, rows, k, w, n, p, span):
        super().__init__(seed, rows, k, w, n, p, span)
        self.blocks = ceil(rows, 8)
        self.s, self.t = ceil(n, 54), ceil(w, 8)
        self.most = self.s * (ceil(n, self.s) + 1)
        self.count, self.begins, self.last, self.came = ([0] * 64 for _ in range(4))
        self.next = self.oldest = self.forgotten = self.forgotten_until = 0

    def generations(self):
        return range(self.oldest, self.next)

    def contains(self, key):
        return any(self.columns(key) >> i % 64 & 1 for i in self.generations())

    def total(self, numbers):
        return sum(numbers[i % 64] for i in self.generations())

    def clear_due(self):
        spare, present = self.next % 64, (self.next - 1) % 64
        if self.next == 0 or not self.count[spare]:
            return
        count = self.count[present]
        x = self.blocks if count == self.s else self.blocks * (count - count % 8) // self.s
        y = self.blocks * min(self.now - self.begins[present], self.t) // self.t
        self.clear(spare, max(x, y), 8)
        if max(x, y) == self.blocks:
            self.count[spare] = 0

    def forget(self):
        column = self.oldest % 64
        self.forgotten += self.count[column]
        self.forgotten_until = max(self.forgotten_until, self.last[column])
        self.oldest += 1
        if self.oldest < self.next:
            self.came[self.oldest % 64] += self.came[column]

    def insert(self, key, now):
        self.now = max(self.now, now)
        while self.oldest < self.next and self.last[self.oldest % 64] + self.w < self.now:
            self.oldest += 1
        self.clear_due()
        is_open = lambda i: self.now - self.begins[i % 64] < self.t
        opened = [i for i in self.generations() if is_open(i)]
        having = [i for i in opened if self.columns(key) >> i % 64 & 1]
        present = (self.next - 1) % 64
        if having and having[-1] == self.next - 1:
            self.last[present] = self.now
            return
        if having and self.total(self.came) > self.most:
            self.last[having[-1] % 64] = self.now
            self.came[present] += 1
            return
        if not opened or self.count[present] == self.s:
            if self.next - self.oldest == 63:
                self.forget()
            present = self.next % 64
            self.clear(present, self.blocks, 8)
            self.count[present] = self.came[present] = 0
            self.begins[present] = self.now
            self.next += 1
        for row in self.rows_of(key):
            self.table[row] |= 1 << present
        self.count[present] += 1
        self.came[present] += 1
        self.last[present] = self.now
        if self.total(self.count) > self.most:
            self.forget()
        self.clear_due()

    def inserted(self):
        return self.total(self.count)

    def extra(self):
        return [self.span, self.next, self.now, self.oldest, self.forgotten, self.forgotten_until]

    def segments(self):
        return [
            struct.pack(f"<{self.rows}Q", *self.table).ljust(self.blocks * 64, b"\0"),
            struct.pack("<256Q", *self.count, *self.begins, *self.last, *self.came),
        ]


def encode(window):
    body = b""
    for segment in window.segments():
        body += segment.ljust(ceil(len(segment), 4096) * 4096, b"\0")
    pages = [body[i : i + 4096] for i in range(0, len(body), 4096)]
    table = b"".join(struct.pack("<Q", xxhash.xxh3_64_intdigest(page)) for page in pages)
    fields = (b"\x89mayhap\n", 2, 4, window.layout, 1, window.seed, window.rows * window.row_bits)
    table_checksum = xxhash.xxh3_64_intdigest(table)
    fields += (window.k, 0, 0, window.n, window.p, window.inserted(), table_checksum)
    header = HEADER.pack(*fields)
    header += struct.pack("<7Q", *(window.extra() + [0] * 7)[:7])
    header = header.ljust(4088, b"\0")
    header += struct.pack("<Q", xxhash.xxh3_64_intdigest(header))
    return header + body + table


def arrivals(count):
    """The texts that come, and when: trickles, a burst every 500 keys, pauses of more than a span;
    every third one came before, soon or long ago."""
    now = 1000
    for i in range(count):
        now += 3000 if i % 2500 == 2499 else 0 if i % 500 < 300 else 1
        yield f"member-{i if i % 3 else i - i % 7 * 40}", now


# name, form, seed, rows, k, w, n, p, span, keys before and after the first of two files.
FILES = [
    ("v2-window-keys", Even, 21, 1003, 7, 700, 700, 0.05, 0, 3300, 3700),
    ("v2-window-time-even", Even, 22, 997, 7, 1001, 700, 0.05, 1001, 3300, 3700),
    ("v2-window-time", Spans, 23, 187, 6, 1001, 700, 0.05, 1001, 3300, 3700),
    ("v2-window-time-large", Spans, 24, 1111, 9, 10_000, 5000, 0.01, 10_000, 9000, 12_000),
    ("v2-window-arrivals", Arrivals, 25, 1003, 7, 700, 700, 0.05, 0, 3295, 3695),
]


def make(name, form, seed, rows, k, w, n, p, span, first, second):
    """Two files, and the line of answers: name, keys until each, and those of absent-0 … absent-999
    that are found in the second."""
    window, files = form(seed, rows, k, w, n, p, span), []
    for i, (key, now) in enumerate(arrivals(second)):
        if i == first:
            files.append(encode(window))
        window.insert(key, now)
    files.append(encode(window))
    found = ",".join(str(i) for i in range(1000) if window.contains(f"absent-{i}")) or "-"
    forgotten = getattr(window, "forgotten", 0)
    return files, f"{name} {first} {second} {forgotten} {found}\n"


def main():
    lines = ""
    for name, *numbers in FILES:
        files, line = make(name, *numbers)
        lines += line
        for part, content in zip("12", files):
            path = HERE / f"{name}-{part}.mayhap"
            if "--write" in sys.argv:
                path.write_bytes(content)
            assert path.read_bytes() == content, path.name
    if "--write" in sys.argv:
        (HERE / "answers_window.txt").write_text(lines)
    assert lines == (HERE / "answers_window.txt").read_text(), "answers_window.txt differs"
    print(f"{2 * len(FILES)} files are what the specification says")


main()
