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

The file is mapped: all processes share its pages, and none reads it at the start.
"""

from __future__ import annotations

import hashlib
from os import PathLike
from typing import Any

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.utils.translation import gettext as _

from . import open as open_filter


class PasswordFilterValidator:
    """Refuses passwords that a filter file may hold.

    `hash` is how passwords stand in it: `None` for as they are, or the name of a hash function of
    `hashlib`, whose digest is the key.
    """

    def __init__(self, path: str | PathLike[str], hash: str | None = None) -> None:
        if hash is not None and hash not in hashlib.algorithms_available:
            raise ImproperlyConfigured(f"hashlib has no hash function {hash!r}")
        self.hash = hash
        try:
            self.filter: Any = open_filter(path, mmap=True)
        except Exception as error:
            raise ImproperlyConfigured(f"the password filter cannot be opened: {error}") from error

    def key(self, password: str) -> bytes:
        """The key of a password in the filter."""
        encoded = password.encode("utf-8", "surrogatepass")
        if self.hash is None:
            return encoded
        return hashlib.new(self.hash, encoded, usedforsecurity=False).digest()

    def validate(self, password: str, user: object = None) -> None:
        """Raises `ValidationError` for a password that is in the list."""
        if self.key(password) in self.filter:
            raise ValidationError(
                _("This password is in a list of leaked passwords."), code="password_leaked"
            )

    def get_help_text(self) -> str:
        """What Django shows beside the form."""
        return _("Your password can’t be one that was leaked before.")
