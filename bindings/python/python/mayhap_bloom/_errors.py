"""The exceptions of the package."""


class MayhapError(Exception):
    """The base of all refusals by the filters of this package; subclasses give the kind."""


class FilterFullError(MayhapError):
    """A new key for a filter that is full and was opened or created with on_full="raise"."""


class IncompatibleError(MayhapError, ValueError):
    """Two filters that differ in a parameter cannot be united."""


class FormatError(MayhapError, ValueError):
    """The bytes or the file are no filter, are damaged, or need a key."""


class ReadOnlyError(MayhapError):
    """The filter cannot be changed: its file is mapped, or its set never changes."""


class ServerError(MayhapError):
    """A filter on a server could not be used."""


class NumberError(ValueError, OverflowError):
    """A number that no filter has, such as -1 keys: a ValueError, and Python's OverflowError."""


class FilterFullWarning(UserWarning):
    """More keys were added than the filter was created for: its rate is above target_fpp."""


# The module in which they are public, and in which pickle looks for them.
for _class in (
    MayhapError,
    FilterFullError,
    IncompatibleError,
    FormatError,
    ReadOnlyError,
    ServerError,
    FilterFullWarning,
):
    _class.__module__ = "mayhap_bloom"
