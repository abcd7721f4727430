#!/bin/sh
# Builds the package, installs it in fresh virtual environments, and tests it there.
#
#   PYTHONS   the interpreters; by default python3 and python3.11 to python3.13 as far as they
#             exist, each once
#   PROFILE   of the build, "release" unless given; "dev" builds faster
#   MAYHAP    the command to compare with; built if it is not given
#   WHEELS    a folder of wheels to install from instead of PyPI
#   MAYHAP_EXAMPLES  hostile inputs for each test of them, 300 unless given
#   SDIST     1: installs the source distribution first, without the network (5 minutes)
set -eu
cd "$(dirname "$0")"
here=$PWD
project=$(cd ../.. && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
if [ -z "${PYTHONS:-}" ]; then
    for name in python3 python3.11 python3.12 python3.13; do
        # Version managers have programs even for versions that are not installed.
        found=$("$name" -c 'import sys; print(sys.executable)' 2>/dev/null) || continue
        found=$(realpath "$found")
        case " ${PYTHONS:-} " in *" $found "*) ;; *) PYTHONS="${PYTHONS:+$PYTHONS }$found" ;; esac
    done
fi
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
PYO3_PYTHON=$work/build/bin/python "$work/build/bin/maturin" build --profile "${PROFILE:-release}" --locked \
    --out "$work/wheels" --interpreter "$work/build/bin/python"

if [ "${SDIST:-0}" = 1 ]; then
    (PATH=$work/build/bin:$PATH && export PATH && sh sdist.sh --vendor "$work/sdist" &&
        CARGO_NET_OFFLINE=true pip install --quiet --disable-pip-version-check --no-index \
            --no-build-isolation "$work"/sdist/mayhap_bloom-*.tar.gz)
    (cd "$work" && build/bin/python -c 'from mayhap_bloom import Bloom; b = Bloom(100, 0.01); \
        assert b.add("a") and "a" in b and "b" not in b')
    echo "== installed from the source distribution"
fi

for python in $PYTHONS; do
    echo "== $("$python" --version)"
    "$python" -m venv "$work/venv"
    # shellcheck disable=SC2086
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check $from \
        --requirement tests/requirements.txt "$work"/wheels/mayhap_bloom-*.whl
    # From elsewhere, so that the installed package is tested and not the folder. Tests that need
    # Spark are run by `make engines-short`. All damaged files take 10 seconds.
    (cd "$work" && BORDERS=1 "$work/venv/bin/python" -m pytest -q --rootdir "$here" \
        -c "$here/pyproject.toml" -p no:cacheprovider --ignore "$here/tests/test_spark.py" \
        "$here/tests")
    (cd "$work" && "$work/venv/bin/python" -m mypy.stubtest \
        --mypy-config-file "$here/pyproject.toml" --allowlist "$here/tests/stubtest.txt" \
        mayhap_bloom)
    rm -rf "$work/venv"
done
