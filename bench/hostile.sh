#!/bin/sh
# Attacks on the release binary while others use it: bench/hostile.sh [options of the program].
# Needs 4,000 open files; 40 s. Ends with 1 where a bound is missed.
set -eu
cd "$(dirname "$0")/.."
ulimit -n "$(ulimit -Hn)"
target=${CARGO_TARGET_DIR:-target}
cargo build --release --locked -p mayhap-cli
cargo run --release --quiet --manifest-path bench/Cargo.toml --bin hostile -- \
	--mayhap "$target/release/mayhap" "$@"
