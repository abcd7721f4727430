"""`python -m mayhap_bloom`: filters of lines, without the command.

    python -m mayhap_bloom build seen.mayhap -n 1000000 -p 0.001 < urls
    python -m mayhap_bloom check seen.mayhap < urls      # lines that may be in it
    python -m mayhap_bloom info seen.mayhap

Keys are lines without a carriage return at their end, or what the key options of the file cut out
of them. The command `mayhap` does the same faster, and more: https://docs.rs/mayhap.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from . import Bloom, Filter, Foreign, Matrix, MayhapError, Remote, __version__, _forms
from . import open as open_filter

#: Lines that are looked up together.
AT_ONCE = 10_000


def _lines() -> Iterator[bytes]:
    """The lines of the standard input, without their line feeds."""
    for line in sys.stdin.buffer:
        yield line.removesuffix(b"\n")


def _build(options: argparse.Namespace) -> int:
    seen = Bloom(options.items, options.fpp)
    cut = False

    def keys() -> Iterator[bytes]:
        nonlocal cut
        for line in _lines():
            cut |= line.endswith(b"\r")
            yield line.removesuffix(b"\r")

    seen.update(keys())
    # As the command records it.
    key_options = "crlf=strip\n" if cut else None
    seen.save(options.filter, replace=options.force, key_options=key_options)
    print(seen, file=sys.stderr)
    return 0


def _may_hold(seen: Filter | Matrix | Foreign | Remote, line: bytes) -> bool:
    """Whether the key of a line may be in a filter."""
    if isinstance(seen, (Filter, Matrix)):
        key = seen.cut(line)
        return key is not None and key in seen
    if line.removesuffix(b"\r") in seen:
        return True
    # Nothing is known of carriage returns; no text with one is a number.
    with suppress(ValueError):
        return line.endswith(b"\r") and line in seen
    return False


def _check(options: argparse.Namespace) -> int:
    seen, lines, found = open_filter(options.filter), _lines(), False
    if isinstance(seen, Remote):
        _forms.refuse(seen, _forms.forms(seen), "lines are looked up as they are")
    while batch := list(islice(lines, AT_ONCE)):
        present = [_may_hold(seen, line) for line in batch]
        for line, is_there in zip(batch, present, strict=True):
            if is_there != options.invert:
                sys.stdout.buffer.write(line + b"\n")
                found = True
    return 0 if found else 1


def _info(options: argparse.Namespace) -> int:
    print(open_filter(options.filter))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mayhap_bloom",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mayhap_bloom {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    build = verbs.add_parser("build", help="make a filter file of the lines of stdin")
    build.add_argument("filter")
    build.add_argument("-n", "--items", type=int, required=True, help="distinct keys")
    build.add_argument("-p", "--fpp", type=float, default=1e-4, help="rate at -n keys")
    build.add_argument("--force", action="store_true", help="replace the file if it exists")
    build.set_defaults(run=_build)
    check = verbs.add_parser("check", help="print the lines of stdin that may be in a filter")
    check.add_argument("filter")
    check.add_argument("-v", "--invert", action="store_true", help="those that surely are not")
    check.set_defaults(run=_check)
    info = verbs.add_parser("info", help="print the numbers of a filter")
    info.add_argument("filter")
    info.set_defaults(run=_info)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs a verb; 0 if something was found or done, 1 if nothing was found, 2 on errors."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except (MayhapError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
