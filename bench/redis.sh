#!/bin/sh
# Filters in Redis: ours against k SETBITs or GETBITs and against a Lua loop of them, on one server in
# one run: bench/redis.sh [options of the program]. Needs redis-server and two CPUs; 10 minutes.
# Writes bench/results/redis.md.
set -eu
cd "$(dirname "$0")/.."
cargo run --release --quiet --manifest-path bench/Cargo.toml --bin redis -- --out bench/results "$@"
