"""Bloom filters that are fast, keep their promised false-positive rate and prove it.

>>> from mayhap_bloom import Bloom
>>> seen = Bloom(1_000_000, 0.001)
>>> seen.add("https://example.org/")
True
>>> "https://example.org/" in seen, "https://example.org/other" in seen
(True, False)

Keys are ``str`` (hashed as UTF-8), bytes-like, or ``int`` of 64 bits; everything else is refused
with ``TypeError``. The same key sets the same bits in Rust, in the command and in Python.

Classes: ``Bloom`` for a known number of keys, ``Scalable`` for an unknown one, ``Compact`` and
``Counting`` to remove keys, ``Window`` to forget old ones, ``Ribbon`` and ``Fuse`` for sets that
never change, ``Matrix`` for many sets at once; ``open`` for files of these and of other systems,
``State`` for a file that is changed in turns with other processes; ``create`` for filters on
servers, which ``open`` opens by their URL, and ``mayhap_bloom.aio`` for asyncio. ``Segment`` is a
part of a filter that many machines fill together, and ``assemble`` writes the whole.
"""

from ._errors import (
    FilterFullError,
    FilterFullWarning,
    FormatError,
    IncompatibleError,
    MayhapError,
    ReadOnlyError,
    ServerError,
)
from ._mayhap import (
    Bloom,
    Compact,
    Counting,
    Filter,
    Foreign,
    Fuse,
    Matrix,
    Remote,
    Ribbon,
    Scalable,
    Segment,
    State,
    Window,
    __version__,
    assemble,
    create,
    digests,
    formats,
    from_bytes,
    key_types,
    new_secret_key,
    open,
    segment_bounds,
)

__all__ = [
    "Bloom",
    "Compact",
    "Counting",
    "Filter",
    "FilterFullError",
    "FilterFullWarning",
    "Foreign",
    "FormatError",
    "Fuse",
    "IncompatibleError",
    "Matrix",
    "MayhapError",
    "ReadOnlyError",
    "Remote",
    "Ribbon",
    "Scalable",
    "Segment",
    "ServerError",
    "State",
    "Window",
    "__version__",
    "assemble",
    "create",
    "digests",
    "formats",
    "from_bytes",
    "key_types",
    "new_secret_key",
    "open",
    "segment_bounds",
]
