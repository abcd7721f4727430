"""Answers of a batch as objects of the library that the keys came from."""

from __future__ import annotations

from typing import Any


def _library(keys: Any) -> str:
    """The top-level package of the type of `keys`."""
    return type(keys).__module__.partition(".")[0]


def like_buffer(answers: bytearray) -> Any:
    """An array of bool over `answers`; a memoryview where there is no NumPy."""
    try:
        import numpy
    except ImportError:
        return memoryview(answers).cast("?")
    return numpy.frombuffer(answers, dtype=numpy.bool_)


def digests_like_buffer(digests: bytearray) -> Any:
    """An array of uint64 over `digests`; a memoryview where there is no NumPy."""
    try:
        import numpy
    except ImportError:
        return memoryview(digests).cast("Q")
    return numpy.frombuffer(digests, dtype=numpy.uint64)


def like_arrow(keys: Any, answers: Any) -> Any:
    """`answers`, an Arrow array, as a column of the library of `keys`."""
    library = _library(keys)
    if library == "polars":
        import polars

        name = keys.name if isinstance(keys, polars.Series) else ""
        return polars.Series(name, polars.Series(answers))
    if library == "pyarrow":
        import pyarrow

        return pyarrow.array(answers)
    if library == "pandas":
        import pandas
        import pyarrow

        array = pandas.arrays.ArrowExtensionArray(pyarrow.array(answers))
        if isinstance(keys, pandas.Series):
            return pandas.Series(array, index=keys.index, name=keys.name)
        return array
    return answers


def select(keys: Any, answers: Any, is_there: bool) -> Any:
    """The keys with the answer `is_there`; null is neither."""
    library = _library(keys)
    if library == "polars":
        return keys.filter(answers if is_there else ~answers)
    if library == "pyarrow":
        import pyarrow.compute

        return keys.filter(answers if is_there else pyarrow.compute.invert(answers))
    if library == "pandas":
        return keys[(answers if is_there else ~answers).fillna(False).to_numpy(dtype=bool)]
    if library == "numpy":
        return keys[answers if is_there else ~answers]
    if not isinstance(answers, memoryview) and not hasattr(answers, "dtype"):
        raise TypeError(
            f"cannot select from a {type(keys).__name__}; use contains_many(keys) and its answers"
        )
    return [key for key, found in zip(keys, answers) if bool(found) == is_there]
