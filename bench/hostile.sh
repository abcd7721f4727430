#!/bin/sh
# Attacks on the release binary while others use it: bench/hostile.sh [options of the program].
# Needs 4,000 open files; a minute, or 10 s with --short. Ends with 1 where a bound is missed.
set -eu
cd "$(dirname "$0")/.."
ulimit -n "$(ulimit -Hn)"
target=${CARGO_TARGET_DIR:-target}
cargo build --release --locked -p mayhap-cli
cargo run --quiet --locked --manifest-path bench/Cargo.toml --no-default-features --bin hostile -- \
	--mayhap "$target/release/mayhap" "$@"
