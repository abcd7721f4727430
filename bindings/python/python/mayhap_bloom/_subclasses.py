"""The attributes of objects of subclasses, in copies."""

from __future__ import annotations

import copy
from typing import Any


def set_state(new: Any, state: Any, memo: dict[int, Any] | None = None) -> None:
    """Gives `new` the `__getstate__` of its original, copied if there is a `memo`."""
    if memo is not None:
        state = copy.deepcopy(state, memo)
    if hasattr(new, "__setstate__"):
        new.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    if attributes:
        new.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(new, name, value)
