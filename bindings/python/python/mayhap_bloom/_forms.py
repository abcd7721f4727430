"""The key options of a filter: which of them say what its keys look like."""

from __future__ import annotations

from typing import Any

#: Those that say where keys stand in the input, or nothing of keys at all. All others give keys a
#: form, also those that are not known here.
_RECORDS = ("separator", "crlf", "csv", "delim", "field", "fields", "json-pointer", "clock")


def options(filter: Any) -> dict[str, str]:
    """The key options by their names."""
    lines = str(getattr(filter, "key_options", "")).splitlines()
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def forms(filter: Any) -> dict[str, str]:
    """The options that make keys something else than the values in the input."""
    return {name: value for name, value in options(filter).items() if name not in _RECORDS}


def refuse(filter: Any, names: dict[str, str], use: str) -> None:
    """Raises ValueError if there are such options, for what only takes keys as they are."""
    if names:
        listed = ", ".join(f"{name}={value}" for name, value in names.items())
        raise ValueError(f"{use}, and the keys of this filter are cut by {listed}")
