"""The rows that the checks work on, made from their numbers: the same ones everywhere.

Row i has `id`, an integer of its own, and `url`, a text of 41 bytes. Four fifths of the rows have a
text of their own, the others the text of an earlier row.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy
import pyarrow
import pyarrow.parquet

PREFIX = b"https://example.org/item/"
CHUNK = 1_000_000
DIGITS = numpy.frombuffer(b"0123456789abcdef", dtype=numpy.uint8)
WIDTH = len(PREFIX) + 16


def mixed(numbers: numpy.ndarray) -> numpy.ndarray:
    """splitmix64 of each number: distinct ones stay distinct."""
    z = numbers.astype(numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return z ^ (z >> numpy.uint64(31))


def distinct(rows: int) -> int:
    """How many texts differ among this many rows."""
    return rows - rows // 5


def text_numbers(rows: int, first: int, count: int) -> numpy.ndarray:
    """For the rows from `first` on, the number of the text that each has."""
    numbers = numpy.arange(first, first + count, dtype=numpy.uint64)
    own = numpy.uint64(distinct(rows))
    return numpy.where(numbers < own, numbers, mixed(numbers) % own)


def letters(numbers: numpy.ndarray, end: bytes = b"") -> numpy.ndarray:
    """A matrix of bytes, a text in each line."""
    matrix = numpy.empty((len(numbers), WIDTH + len(end)), dtype=numpy.uint8)
    matrix[:, : len(PREFIX)] = numpy.frombuffer(PREFIX, dtype=numpy.uint8)
    octets = mixed(numbers).astype(">u8").view(numpy.uint8).reshape(-1, 8)
    matrix[:, len(PREFIX) : WIDTH : 2] = DIGITS[octets >> 4]
    matrix[:, len(PREFIX) + 1 : WIDTH : 2] = DIGITS[octets & 15]
    matrix[:, WIDTH:] = numpy.frombuffer(end, dtype=numpy.uint8)
    return matrix


def texts(numbers: numpy.ndarray) -> pyarrow.StringArray:
    """The texts with these numbers as a column."""
    offsets = numpy.arange(len(numbers) + 1, dtype=numpy.int32) * WIDTH
    buffers = [pyarrow.py_buffer(offsets), pyarrow.py_buffer(letters(numbers))]
    return pyarrow.StringArray.from_buffers(len(numbers), *buffers)


def chunks(rows: int) -> Iterator[tuple[int, int]]:
    """The first row and the number of rows of each chunk."""
    for first in range(0, rows, CHUNK):
        yield first, min(CHUNK, rows - first)


def write(folder: Path, rows: int) -> None:
    """Writes `rows` and `probe`: half of its texts are in `rows`, the others in none."""
    for name in ("rows", "probe"):
        (folder / name).mkdir(parents=True)
    step = min(5 * CHUNK, max(rows // 8, 1))
    for part, first in enumerate(range(0, rows, step)):
        count = min(step, rows - first)
        _write(folder / "rows", part, first, text_numbers(rows, first, count))
    for part, first in enumerate(range(0, rows // 2, step)):
        numbers = numpy.arange(first, min(first + step, rows // 2), dtype=numpy.uint64)
        absent = numbers + numpy.uint64(1 << 40)
        _write(folder / "probe", part, first, numpy.where(numbers % 2 == 0, numbers, absent))


def _write(folder: Path, part: int, first: int, numbers: numpy.ndarray) -> None:
    ids = mixed(numpy.arange(first, first + len(numbers), dtype=numpy.uint64) + (1 << 50))
    # Spark has no unsigned integers; the bytes of the key are the same as of the signed one.
    columns = {"id": pyarrow.array(ids.view(numpy.int64)), "url": texts(numbers)}
    path = folder / f"part-{part:05}.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path, use_dictionary=False)


def lines(rows: int, column: str) -> Iterator[bytes]:
    """The keys of a column as `mayhap build` reads them: lines, integers as their bytes in hex."""
    for first, count in chunks(rows):
        if column == "url":
            yield letters(text_numbers(rows, first, count), b"\n").tobytes()
        else:
            ids = mixed(numpy.arange(first, first + count, dtype=numpy.uint64) + (1 << 50))
            octets = ids.astype("<u8").view(numpy.uint8).reshape(-1, 8)
            line = numpy.full((count, 17), ord("\n"), dtype=numpy.uint8)
            line[:, 0:16:2] = DIGITS[octets >> 4]
            line[:, 1:16:2] = DIGITS[octets & 15]
            yield line.tobytes()
