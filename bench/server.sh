#!/bin/sh
# The server under load, beside Redis on the same machine in one run: bench/server.sh [options of
# the program]; `--small` measures only a million small filters, `--store` only a server in front of
# Redis. Needs redis-server and 10,100 open files; 3 minutes. Writes bench/results/server.md,
# server-small.md or store.md.
set -eu
cd "$(dirname "$0")/.."
ulimit -n "$(ulimit -Hn)"
cargo build --release --locked -p mayhap-cli
target=${CARGO_TARGET_DIR:-target}
cargo run --release --quiet --manifest-path bench/Cargo.toml --bin server -- \
	--mayhap "$target/release/mayhap" --out bench/results "$@"
