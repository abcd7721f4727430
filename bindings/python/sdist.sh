#!/bin/sh
# A source distribution that builds without the network: with the crates it needs inside.
#
#   bindings/python/sdist.sh FOLDER      writes FOLDER/mayhap_bloom-VERSION.tar.gz
#
# Needs maturin and cargo. To install it: pip install --no-index --no-build-isolation FILE, with
# maturin installed and Rust's compiler at hand.
set -eu
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"
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
