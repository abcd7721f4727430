#!/bin/sh
# Wheels for other machines than this one: for Linux on x86-64 and ARM, with glibc and with musl.
#
#   bindings/python/wheels.sh FOLDER [TARGET]...      writes them into FOLDER
#
#   PROFILE   of the build, "release" unless given
#
# Needs python3 and rustup; maturin, and zig as the compiler and linker for C, are from PyPI. Only
# wheels of this machine's kind can be tested on it; wheels for free-threaded CPython are built and
# not tested.
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu \
    x86_64-unknown-linux-musl aarch64-unknown-linux-musl
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)
target_dir=${CARGO_TARGET_DIR:-$PWD/target}
. "$root/packaging/paths.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check 'maturin[zig]>=1.9,<2'
PATH=$work/venv/bin:$PATH
rustup target add "$@"
for target; do
    case $target in
        # glibc 2.17, of 2012.
        *-gnu) compatible=manylinux2014 ;;
        *-musl) compatible=musllinux_1_2 ;;
        *) echo "wheels.sh: no name for wheels of $target" >&2 && exit 2 ;;
    esac
    export "CFLAGS_$(echo "$target" | tr - _)=$c"
    # For all CPythons from 3.11 on, and for the free-threaded one, which has no stable interface.
    for python in python3.11 python3.14t; do
        maturin build --profile "${PROFILE:-release}" --locked --zig --target "$target" \
            --compatibility "$compatible" --interpreter "$python" --out "$work"
    done
done
for wheel in "$work"/*.whl; do
    python3 portable.py "$wheel" "$root"
    mv "$wheel" "$out/"
done
ls -l "$out"
