"""Makes the golden files of version 3 from NATIVE-FORMAT.md, without the Rust crate.

    pip install xxhash
    python make_v3.py            reads every file here with read_v3.py and checks its answers
    python make_v3.py --write    writes the files and answers_v3.txt (the bytes must never change)
"""

import struct
import sys
from pathlib import Path

import xxhash

from read_v3 import HEADER, LOG, RECORD, Filter, key_bytes, positions, siphash13

HERE = Path(__file__).parent
SECRET_KEY = bytes(range(16))
KEY_ID = siphash13(SECRET_KEY, b"mayhap key id")
ID = 0x0F1E2D3C4B5A69788796A5B4C3D2E1F0

# name, layout, digest id and parameter, m, k, n, p, keys inserted, key options, epoch (0: no state),
# records of the log: keys each (None: no log was begun), and how many bytes of the last are there.
FILES = [
    ("v3-standard", 1, 1, 0, 1000, 7, 100, 0.01, 150, "", 0, None, None),
    ("v3-blocked-k8", 2, 1, 42, 33280, 8, 3000, 0.05, 4500, "trim=true\n", 0, None, None),
    ("v3-state", 2, 1, 7, 4096, 8, 300, 0.05, 200, "", 5, None, None),
    ("v3-state-log", 1, 2, KEY_ID, 32769, 9, 1500, 0.01, 900, "lower=true\n", 2**63 - 1,
     [1, 400, 99], None),
    ("v3-state-torn-log", 2, 1, 1, 4096, 4, 300, 0.05, 100, "", 1, [50, 20, 30], 100),
    ("v3-state-empty-log", 2, 1, 1, 512, 8, 20, 0.001, 20, "", 2, [], None),
]


def digest_of(digest_id, parameter, i):
    key = key_bytes(f"member-{i}")
    return siphash13(SECRET_KEY, key) if digest_id == 2 else xxhash.xxh3_64_intdigest(key, parameter)


def make(layout, digest_id, parameter, num_bits, num_hashes, items, fpp, count, options, epoch, log, _):
    body = bytearray(-(-num_bits // 32768) * 4096)
    inserted = 0
    for i in range(count):
        new = False
        for bit in positions(layout, num_bits, num_hashes, digest_of(digest_id, parameter, i)):
            new |= not body[bit // 8] >> bit % 8 & 1
            body[bit // 8] |= 1 << bit % 8
        inserted += new
    pages = [body[i : i + 4096] for i in range(0, len(body), 4096)]
    table = b"".join(struct.pack("<Q", xxhash.xxh3_64_intdigest(page)) for page in pages)
    text = options.encode()
    fields = (b"\x89mayhap\n", 3, 1, layout, digest_id, parameter, num_bits, num_hashes)
    fields += (len(text), 0, items, fpp, inserted, xxhash.xxh3_64_intdigest(table))
    header = (HEADER.pack(*fields).ljust(128, b"\0") + text).ljust(4088, b"\0")
    header += struct.pack("<Q", xxhash.xxh3_64_intdigest(header))
    if epoch:
        identity = ID.to_bytes(16, "little") + struct.pack("<Q", epoch | (log is not None) << 63)
        identity += struct.pack("<Q", xxhash.xxh3_64_intdigest(identity))
        header = header[:4032] + identity + header[4064:]
    return header + bytes(body) + table


def make_log(_layout, digest_id, parameter, _m, _k, _n, _p, count, options, epoch, records, kept):
    low, high = struct.unpack("<QQ", ID.to_bytes(16, "little"))
    options_hash = xxhash.xxh3_64_intdigest(options.encode())
    log = LOG.pack(b"\x89mhplog\n", 2, digest_id, 0, parameter, options_hash, low, high, epoch, 0)[:56]
    previous = xxhash.xxh3_64_intdigest(log)
    log += struct.pack("<Q", previous)
    for sequence, keys in enumerate(records):
        record = RECORD.pack(previous, sequence, keys, b"\x89mhr", 1, 0, 0, 0, sequence // 2)
        for i in range(count, count + keys):
            record += struct.pack("<Q", digest_of(digest_id, parameter, i))
        count, previous = count + keys, xxhash.xxh3_64_intdigest(record)
        record += struct.pack("<Q", previous)
        log += record if kept is None or sequence + 1 < len(records) else record[:kept]
    return log


def answers(name, data, log, count):
    """One line: name, keys inside, insertions counted in the file, and the false positives of
    `absent-0` to `absent-999`."""
    found = Filter(data, SECRET_KEY, log)
    assert all(f"member-{i}" in found for i in range(count)), f"{name}: a member is missing"
    false_positives = [str(i) for i in range(1000) if f"absent-{i}" in found]
    return f"{name} {count} {found.inserted_items} {','.join(false_positives) or '-'}\n"


def main():
    lines = []
    for name, *numbers in FILES:
        *_, count, _, _, records, kept = numbers
        path, log_path, log = HERE / f"{name}.mayhap", HERE / f"{name}.mayhap.log", None
        if records is not None:
            log = make_log(*numbers)
            count += sum(records if kept is None else records[:-1])
        if "--write" in sys.argv:
            path.write_bytes(make(*numbers))
            if log is not None:
                log_path.write_bytes(log)
        assert path.read_bytes() == make(*numbers), f"{name}: not the bytes that the specification gives"
        assert log is None or log_path.read_bytes() == log, f"{name}.log: not these bytes"
        lines.append(answers(name, path.read_bytes(), log, count))
    if "--write" in sys.argv:
        (HERE / "answers_v3.txt").write_text("".join(lines))
    assert "".join(lines) == (HERE / "answers_v3.txt").read_text(), "answers_v3.txt differs"
    print(f"{len(lines)} files are what the specification says")


main()
