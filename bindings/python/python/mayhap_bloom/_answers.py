"""Answers of a batch as objects of the library of the keys."""

from __future__ import annotations

import sys
from typing import Any, Literal


def _library(keys: Any) -> str:
    """The top-level package of the type of `keys`."""
    return type(keys).__module__.partition(".")[0]


def like_buffer(keys: Any, answers: bytearray) -> Any:
    """An array of bool over `answers`; a memoryview where there is no NumPy."""
    return _numbers(keys, answers, "?")


def digests_like_buffer(keys: Any, digests: bytearray) -> Any:
    """An array of uint64 over `digests`; a memoryview where there is no NumPy."""
    return _numbers(keys, digests, "Q")


def _numbers(keys: Any, numbers: bytearray, kind: Literal["?", "Q"]) -> Any:
    try:
        import numpy
    except ImportError:
        return memoryview(numbers).cast(kind)
    found = numpy.frombuffer(numbers, dtype=kind)
    if not _is_masked(keys):
        return found
    # Masked where the keys are.
    spread = numpy.ma.zeros(keys.shape, dtype=kind)
    spread[~numpy.ma.getmaskarray(keys)] = found
    spread.mask = numpy.ma.getmaskarray(keys)
    return spread


def _is_masked(keys: Any) -> bool:
    numpy: Any = sys.modules.get("numpy")
    return numpy is not None and isinstance(keys, numpy.ma.MaskedArray)


def unmasked(keys: Any) -> Any:
    """The elements of a masked array that are not masked; None for everything else."""
    # Masked arrays of more dimensions are refused like other arrays.
    return keys.compressed() if _is_masked(keys) and keys.ndim == 1 else None


def refuse_addresses(keys: Any) -> None:
    """Refuses columns of Polars whose values are objects: Arrow sees the addresses of these."""
    polars: Any = sys.modules.get("polars")
    if polars is None:
        return
    # Narwhals has Polars inside.
    native = keys.to_native() if hasattr(keys, "to_native") else keys
    is_frame = isinstance(native, polars.DataFrame)
    dtypes = native.dtypes if is_frame else [getattr(native, "dtype", None)]
    if polars.Object in dtypes:
        raise TypeError(
            "keys in Polars columns are texts, bytes or integers, not Object; convert the column, "
            "as polars.Series([str(key) for key in column])"
        )


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
        wanted = answers if is_there else ~answers
        return keys[wanted.filled(False) if _is_masked(wanted) else wanted]
    if not isinstance(answers, memoryview) and not hasattr(answers, "dtype"):
        raise TypeError(
            f"cannot select from a {type(keys).__name__}; use contains_many(keys) and its answers"
        )
    return [key for key, found in zip(keys, answers) if bool(found) == is_there]
