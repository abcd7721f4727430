"""The key options of a filter that determine the form of its keys."""

from __future__ import annotations

from typing import Any

#: Options about the place of keys in the input, or not about keys at all. All others give keys a
#: form, including options that are unknown here.
_RECORDS = ("separator", "crlf", "csv", "delim", "field", "fields", "json-pointer", "clock")


def options(filter: Any) -> dict[str, str]:
    """The key options by their names."""
    lines = str(getattr(filter, "key_options", "")).splitlines()
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def forms(filter: Any) -> dict[str, str]:
    """The options by which keys differ from the values in the input."""
    return {name: value for name, value in options(filter).items() if name not in _RECORDS}


def refuse(filter: Any, names: dict[str, str], use: str) -> None:
    """Raises ValueError if there are such options, for callers that only take keys as they are."""
    if names:
        listed = ", ".join(f"{name}={value}" for name, value in names.items())
        raise ValueError(f"{use}, and the keys of this filter are cut by {listed}")
