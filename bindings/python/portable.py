"""Names the sources in the bill of materials of a wheel by their place in the clone.

    bindings/python/portable.py WHEEL ROOT

maturin names the folder of the build (`file:///home/me/mayhap/crates/mayhap`), so the bytes of a
wheel would depend on it. Here they become `file:///mayhap/crates/mayhap`, and the record of the
wheel has the new digests. Fails if the folder is named anywhere else.
"""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path


def record_line(name: str, data: bytes) -> str:
    """The line of a file in RECORD, as the specification of wheels has it."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(data)}"


def main(wheel: Path, root: Path) -> None:
    """Writes the wheel anew, in its own order and with its own times."""
    folder = root.resolve().as_uri().encode()
    with zipfile.ZipFile(wheel) as old:
        files = [(info, old.read(info)) for info in old.infolist()]
    changed = {}
    for i, (info, data) in enumerate(files):
        if "/sboms/" in info.filename:
            changed[info.filename] = data = data.replace(folder, b"file:///mayhap")
            files[i] = (info, data)
        if bytes(root.resolve()) in data:
            sys.exit(f"{wheel.name}: {info.filename} names {root}")
    if not changed:
        sys.exit(f"{wheel.name}: there is no bill of materials")
    temporary = wheel.with_suffix(".new")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for info, data in files:
            if info.filename.endswith(".dist-info/RECORD"):
                lines = (line.split(",")[0] for line in data.decode().splitlines())
                known = dict(zip(lines, data.decode().splitlines(), strict=True))
                known |= {name: record_line(name, data) for name, data in changed.items()}
                data = "".join(f"{line}\n" for line in known.values()).encode()
            new.writestr(info, data, zipfile.ZIP_DEFLATED, 9)
    temporary.replace(wheel)


main(Path(sys.argv[1]), Path(sys.argv[2]))
