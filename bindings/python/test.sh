#!/bin/sh
# Builds the package, installs it in fresh virtual environments, and tests it there.
#
#   PYTHONS   the interpreters, "python3" unless given; all of 3.11 to 3.13 in the gate
#   MAYHAP    the command to compare with; built if it is not given
#   WHEELS    a folder of wheels to install from instead of PyPI
#   MAYHAP_EXAMPLES  hostile inputs for each test of them, 300 unless given
set -eu
cd "$(dirname "$0")"
here=$PWD
project=$(cd ../.. && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
: "${PYTHONS:=python3}"
from=${WHEELS:+--no-index --find-links=$WHEELS}

if [ -z "${MAYHAP:-}" ]; then
    (cd "$project" && cargo build -p mayhap-cli --locked)
    MAYHAP=${CARGO_TARGET_DIR:-$project/target}/debug/mayhap
fi
export MAYHAP

first=${PYTHONS%% *}
"$first" -m venv "$work/build"
# shellcheck disable=SC2086 # `from` is two words or none
"$work/build/bin/pip" install --quiet --disable-pip-version-check $from 'maturin>=1.9,<2'
PYO3_PYTHON=$work/build/bin/python "$work/build/bin/maturin" build --release --locked \
    --out "$work/wheels" --interpreter "$work/build/bin/python"

for python in $PYTHONS; do
    echo "== $("$python" --version)"
    "$python" -m venv "$work/venv"
    # shellcheck disable=SC2086
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check $from \
        --requirement tests/requirements.txt "$work"/wheels/mayhap_bloom-*.whl
    # From elsewhere, so that the installed package is tested and not the folder.
    (cd "$work" && "$work/venv/bin/python" -m pytest -q --rootdir "$here" \
        -c "$here/pyproject.toml" -p no:cacheprovider "$here/tests")
    (cd "$work" && "$work/venv/bin/python" -m mypy.stubtest \
        --mypy-config-file "$here/pyproject.toml" mayhap_bloom)
    rm -rf "$work/venv"
done
