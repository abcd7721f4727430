"""The exceptions of the package."""


class MayhapError(Exception):
    """What the filters of this package refuse; its subclasses say which kind of refusal it is."""


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
    """A number that no filter has, such as -1 keys: a ValueError, and what Python says of it."""


class FilterFullWarning(UserWarning):
    """More keys came than the filter was created for: its rate is above target_fpp."""


# Where they are found, and where pickle looks for them.
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
