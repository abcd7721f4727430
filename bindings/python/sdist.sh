#!/bin/sh
# A source distribution.
#
#   bindings/python/sdist.sh FOLDER            writes FOLDER/mayhap_bloom-VERSION.tar.gz
#   bindings/python/sdist.sh --vendor FOLDER   the same with all crates inside, twenty times as large
#
# Needs maturin and cargo. Either is built by pip with Rust's compiler: the small one fetches the
# crates that Cargo.lock names, the other one needs no network: pip install --no-index
# --no-build-isolation FILE, with maturin installed.
set -eu
vendor=
if [ "$1" = --vendor ]; then
    vendor=1
    shift
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"
if [ -z "$vendor" ]; then
    maturin sdist --out "$out"
    ls "$out"/mayhap_bloom-*.tar.gz
    exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
maturin sdist --out "$work"
tar -xzf "$work"/mayhap_bloom-*.tar.gz -C "$work"
folder=$(basename "$work"/mayhap_bloom-*.tar.gz .tar.gz)
mkdir "$work/$folder/.cargo"
(cd "$work/$folder" && cargo vendor --locked --versioned-dirs \
    --manifest-path bindings/python/Cargo.toml vendor >.cargo/config.toml 2>"$work/log") || {
    cat "$work/log" >&2
    exit 1
}
tar -czf "$out/$folder.tar.gz" -C "$work" "$folder"
echo "$out/$folder.tar.gz"
