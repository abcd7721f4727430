#!/bin/sh
# Attacks on the release binary, or on MAYHAP, while others use it: bench/hostile.sh [options of the
# program]. Needs 4,000 open files; a minute, or 10 s with --short. Ends with 1 where a bound is
# missed.
set -eu
cd "$(dirname "$0")/.."
ulimit -n "$(ulimit -Hn)"
if [ -z "${MAYHAP:-}" ]; then
	cargo build --release --locked -p mayhap-cli
	MAYHAP=${CARGO_TARGET_DIR:-target}/release/mayhap
fi
cargo run --quiet --locked --manifest-path bench/Cargo.toml --no-default-features --bin hostile -- \
	--mayhap "$MAYHAP" "$@"
