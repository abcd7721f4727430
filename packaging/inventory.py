"""The crates inside the binary: their licences, and a bill of materials.

    packaging/inventory.py TARGET FOLDER

Writes FOLDER/LICENSES-THIRD-PARTY.txt and FOLDER/mayhap.cdx.json (CycloneDX 1.5). Fails if a crate
comes without the text of its licence. The same sources give the same bytes.
"""

import hashlib
import json
import re
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXTS = re.compile(r"^(licen[cs]e|copying|notice|copyright|unlicense)([-._].*)?$", re.IGNORECASE)
# What is linked besides crates.
OTHERS = {
    "the standard library of Rust (MIT OR Apache-2.0)": "the Rust project contributors",
    "musl 1.2 (MIT)": "2005-2020 Rich Felker, et al.",
}


def metadata(target: str) -> dict:
    """What Cargo knows of the workspace as built for this target."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", target]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def features(target: str) -> set[tuple[str, str]]:
    """Names and versions of the crates that `mayhap` is linked from, itself included."""
    command = ["cargo", "tree", "-p", "mayhap-cli", "-e", "normal,no-proc-macro", "--locked"]
    command += ["--target", target, "--prefix", "none", "--format", "{p}"]
    lines = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    words = (line.split() for line in lines.splitlines() if line)
    return {(name, version.removeprefix("v")) for name, version, *_ in words}


def linked(target: str) -> list[dict]:
    """These crates as Cargo describes them, in order."""
    wanted = features(target)
    found = [p for p in metadata(target)["packages"] if (p["name"], p["version"]) in wanted]
    missing = wanted - {(p["name"], p["version"]) for p in found}
    if missing or len(found) < 50:
        sys.exit(f"inventory: {len(found)} crates, without {sorted(missing)}")
    return sorted(found, key=lambda p: (p["name"], p["version"]))


def texts(package: dict) -> list[str]:
    """The texts of a crate's licences."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(f for f in folder.rglob("*") if f.is_file() and TEXTS.match(f.name))
    found = [f.read_text(errors="replace").strip() for f in files if f.suffix not in (".rs", ".py")]
    if not found and package["license"] == "MIT":
        found = [mit(", ".join(author.split(" <")[0] for author in package["authors"]))]
    if not found:
        sys.exit(f"inventory: {package['name']} {package['version']} has no text of its licence")
    return found


def mit(holders: str) -> str:
    """The MIT licence of these holders."""
    body = (ROOT / "LICENSE-MIT").read_text().strip().split("\n\n")
    return "\n\n".join([f"Copyright (c) {holders}", *(p for p in body if "Copyright (c)" not in p)])


def licences(packages: list[dict]) -> str:
    """Each text once, below the crates that it is the licence of."""
    users: dict[str, list[str]] = {}
    for package in packages:
        for text in texts(package):
            name = f"{package['name']} {package['version']} ({package['license']})"
            users.setdefault(text, []).append(name)
    for name, holders in OTHERS.items():
        users[mit(holders)] = [name]
    head = "The command mayhap is linked from the following."
    parts = ("\n".join([*dict.fromkeys(names), "", text]) for text, names in users.items())
    return f"\n\n{'-' * 78}\n\n".join([head, *parts]) + "\n"


def component(package: dict) -> dict:
    """A crate in CycloneDX."""
    purl = f"pkg:cargo/{package['name']}@{package['version']}"
    expression = package["license"].replace("/", " OR ")
    row = {"type": "library", "bom-ref": purl, "name": package["name"]}
    row |= {"version": package["version"], "purl": purl}
    return row | {"licenses": [{"expression": expression}]}


def bill(packages: list[dict], target: str) -> dict:
    """The bill of materials; its number follows from its contents."""
    own = next(p for p in packages if p["name"] == "mayhap-cli")
    components = [component(p) for p in packages if p is not own]
    digest = hashlib.sha256(json.dumps([target, components]).encode()).hexdigest()
    main = component(own) | {"type": "application", "name": "mayhap"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.UUID(digest[:32])}",
        "version": 1,
        "metadata": {
            "component": main,
            "properties": [{"name": "cargo:target", "value": target}],
        },
        "components": components,
    }


def main() -> None:
    """See above."""
    target, folder = sys.argv[1], Path(sys.argv[2])
    packages = linked(target)
    others = [p for p in packages if p["source"]]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "LICENSES-THIRD-PARTY.txt").write_text(licences(others))
    text = json.dumps(bill(packages, target), indent=1) + "\n"
    (folder / "mayhap.cdx.json").write_text(text)


if __name__ == "__main__":
    main()
