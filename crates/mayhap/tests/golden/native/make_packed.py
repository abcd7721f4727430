"""Packs golden files as NATIVE-FORMAT.md specifies ("Packed form"), without the Rust crate.

    pip install xxhash
    python make_packed.py            makes every file again in memory and compares
    python make_packed.py --write    writes the files (never to change)
"""

import re
import struct
import sys
from pathlib import Path

import xxhash

HERE = Path(__file__).parent
FILES = ["v1-standard-empty", "v1-standard-sip13", "v2-counting4", "v3-blocked-k8", "v3-matrix-names"]


def number(value: int) -> bytes:
    """LEB128."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def pack(file: bytes) -> bytes:
    """The packed form of a file."""
    out = b"\x89mayhapP" + struct.pack("<HHI", 1, 0, len(file))
    # Zeros, then bytes up to four zeros or the end.
    for zeros, others in re.findall(rb"(\0*)((?:(?!\0{4}).)*)", file, re.DOTALL):
        if zeros or others:
            out += number(len(zeros)) + number(len(others)) + others
    return out + struct.pack("<Q", xxhash.xxh3_64_intdigest(out))


for name in FILES:
    packed = pack((HERE / f"{name}.mayhap").read_bytes())
    path = HERE / f"{name}.packed"
    if "--write" in sys.argv:
        path.write_bytes(packed)
    print(name, len(packed), "written" if "--write" in sys.argv else path.read_bytes() == packed)
