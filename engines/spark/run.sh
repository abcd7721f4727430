#!/bin/sh
# Spark builds and queries filters on a standalone cluster on loopback, beside Spark's own means:
# engines/spark/run.sh [--short] [--record]. Ends with 1 where a check fails; times are reported.
#
#   ROWS     100000000 unless given, 1000000 with --short
#   KILLS    rounds in which a worker is killed in each stage: 10, or 1
#   ROUNDS   of each measurement: 3, or none, since a million rows are too few
#   PYTHON   an interpreter that has the packages of engines/requirements.txt and mayhap_bloom;
#            unless given, one is installed in a new environment, with the wheel built here
#   MAYHAP   the command to compare with; built if it is not given
#   PROFILE  of the builds, "release" unless given; "dev" builds faster
#   TESTS    1: tests of the package's Spark part and of the recipes first
#   WORK     a folder for the rows and Spark's shuffles, 15 GB for 100 million; a new one that is
#            removed, unless given
set -eu
cd "$(dirname "$0")/../.."
project=$PWD
export CARGO_INCREMENTAL=0
profile=${PROFILE:-release}
target=${CARGO_TARGET_DIR:-$project/target}
rubbish=$(mktemp -d)
trap 'rm -rf "$rubbish"' EXIT INT TERM
if [ -z "${MAYHAP:-}" ]; then
    cargo build --profile "$profile" -p mayhap-cli --locked
    MAYHAP=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")/mayhap
fi
if [ -z "${PYTHON:-}" ]; then
    python3 -m venv "$rubbish/venv"
    PYTHON=$rubbish/venv/bin/python
    "$PYTHON" -m pip install --quiet --disable-pip-version-check 'maturin>=1.9,<2' \
        --requirement engines/requirements.txt
    (cd bindings/python && PYO3_PYTHON=$PYTHON "$rubbish/venv/bin/maturin" build \
        --profile "$profile" --locked --out "$rubbish/wheels" --interpreter "$PYTHON")
    "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps "$rubbish"/wheels/*.whl
fi
export MAYHAP
WORK=${WORK:-$rubbish/work}
export WORK
if [ "${TESTS:-}" = 1 ]; then
    # From elsewhere, so that the installed package is tested and not the folder.
    (cd "$rubbish" && "$PYTHON" -m pytest -q -p no:cacheprovider --rootdir "$project" \
        "$project/bindings/python/tests/test_spark.py" "$project/engines/test_recipes.py")
fi
"$PYTHON" engines/spark/run.py "$@"
