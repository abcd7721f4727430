"""A password validator for Django: passwords that are in a filter file are refused.

Build the file once, from a list of leaked passwords or of their SHA-1 hashes:

    mayhap build -o pwned.mayhap -p 1e-6 passwords.txt.gz
    mayhap build -o pwned.mayhap -p 1e-6 --delim : --field 1 --hex pwned-passwords-sha1.txt

    AUTH_PASSWORD_VALIDATORS = [
        {
            "NAME": "mayhap_bloom.django.PasswordFilterValidator",
            "OPTIONS": {"path": "/srv/pwned.mayhap", "hash": "sha1"},
        },
    ]

The file is mapped: all processes share its pages, and none reads it at the start. The key options
that it records (`--lower`, `--trim`, `--fold`, `--sha1`) are applied to passwords, too; for a file
of hashes, `hash` has to name its hash function.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from os import PathLike
from typing import Any

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.utils.translation import gettext as _

from . import _forms
from . import open as open_filter

#: Passwords of every long list: found in a filter in one form and not in another, they reveal the
#: form of its keys.
COMMON = (
    "123456", "password", "123456789", "12345678", "qwerty", "12345", "111111", "abc123",
    "password1", "1234567",
)  # fmt: skip

#: The hash functions of public lists.
HASHES = ("sha1", "md5", "sha256", "sha512")

#: The forms that make a password another text, or its hash.
OF_PASSWORDS = ("trim", "lower", "fold", "sha1", "hex")


class PasswordFilterValidator:
    """Refuses passwords that a filter file may hold.

    `hash` is the form of the passwords in it: `None` for plain ones, or the name of a hash function
    of `hashlib`, whose digest is the key. `ImproperlyConfigured` is raised if the file, or a test
    with common passwords, shows that its keys have another form: it would let every password pass.
    """

    def __init__(self, path: str | PathLike[str], hash: str | None = None) -> None:
        if hash is not None and hash not in hashlib.algorithms_available:
            raise ImproperlyConfigured(f"hashlib has no hash function {hash!r}")
        self.hash = hash
        try:
            self.filter: Any = open_filter(path, mmap=True)
        except Exception as error:
            raise ImproperlyConfigured(f"the password filter cannot be opened: {error}") from error
        wrong = self._wrong_form() or self._wrong_keys()
        if wrong:
            missed = f"{path} with hash={hash!r} would let leaked passwords pass"
            raise ImproperlyConfigured(f"{missed}: {wrong}")

    def key(self, password: str) -> str | bytes:
        """The key of a password in the filter."""
        if self._takes_texts():
            # Half characters are in no list.
            return password.encode("utf-8", "replace").decode()
        return _digest(self.hash, password)

    def validate(self, password: str, user: object = None) -> None:
        """Raises `ValidationError` for a password that is in the list."""
        if self.key(password) in self.filter:
            raise ValidationError(
                _("This password is in a list of leaked passwords."), code="password_leaked"
            )

    def get_help_text(self) -> str:
        """The help text that Django shows beside the form."""
        text: str = _("Your password can’t be one that was leaked before.")
        return text

    def _takes_texts(self) -> bool:
        """Whether the filter makes keys of passwords itself."""
        return self.hash is None or "sha1" in _forms.forms(self.filter)

    def _wrong_form(self) -> str | None:
        """The reason why passwords cannot have the form that the file records for its keys."""
        options, forms = _forms.options(self.filter), _forms.forms(self.filter)
        try:
            self.filter.cut("")
        except ValueError as error:
            return str(error)
        others = [f"{name}={value}" for name, value in forms.items() if name not in OF_PASSWORDS]
        if others:
            return f"its keys are cut by {', '.join(others)}, and are no passwords"
        if "hex" in forms:
            return None if self.hash else "its keys are hashes (hex=decode); name the hash function"
        if "sha1" in forms:
            ours = self.hash in (None, "sha1")
            return None if ours else "its keys are SHA-1 hashes (sha1=digest)"
        if self.hash and options:
            return "its keys are texts and no hashes: it was built without --hex"
        return None

    def _wrong_keys(self) -> str | None:
        """The form of the keys, if common passwords are found in another form than this one."""
        if any(self.key(password) in self.filter for password in COMMON):
            return None
        readings = _readings()
        enough = _enough(self.filter.expected_fpp, len(readings))
        for name, reading in readings.items():
            if sum(reading(password) in self.filter for password in COMMON) >= enough:
                return f"common passwords are in it {name}"
        return None


def _digest(hash: str | None, password: str) -> bytes:
    encoded = password.encode("utf-8", "surrogatepass")
    if hash is None:
        return encoded
    return hashlib.new(hash, encoded, usedforsecurity=False).digest()


def _readings() -> dict[str, Callable[[str], bytes]]:
    """The forms of passwords in filters."""
    ways: dict[str, Callable[[str], bytes]] = {"as they are": str.encode}
    for hash in HASHES:

        def digest(password: str, hash: str = hash) -> bytes:
            return _digest(hash, password)

        ways[f'as {hash} hashes; set hash="{hash}"'] = digest
        for case in ("lower", "upper"):

            def digits(password: str, digest: Any = digest, case: str = case) -> bytes:
                text: str = getattr(digest(password).hex(), case)()
                return text.encode()

            ways[f"as {case}-case digits of {hash} hashes; build it with --hex"] = digits
    return ways


def _enough(fpp: float, readings: int) -> int:
    """The number of common passwords that is not found by chance."""
    for found in range(1, len(COMMON)):
        if readings * math.comb(len(COMMON), found) * fpp**found < 1e-3:
            return found
    return len(COMMON)
