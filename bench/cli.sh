#!/bin/sh
# Line filters against each other, on 10 M URL-like lines of which 5 M are distinct.
#
#   bench/cli.sh [ROUNDS]        5 rounds if not said; writes bench/results/cli.md
#
# Peers that are missing are installed to target/peers, mawk excepted (apt-get install mawk).
# The lines (620 MB) stay in bench/target for the next run.
set -eu
cd "$(dirname "$0")/.."
rounds=${1:-5}
lines=${LINES_TOTAL:-10M}
distinct=${LINES_DISTINCT:-5M}
root_target=${CARGO_TARGET_DIR:-$PWD/target}
bench_target=${CARGO_TARGET_DIR:-$PWD/bench/target}

cargo build --release -p mayhap-cli
cargo build --release --manifest-path bench/Cargo.toml --bin lines --bin cli

PATH=$PATH:$root_target/peers/bin
export PATH
for peer in huniq xuniq runiq anewer; do
    command -v "$peer" > /dev/null || cargo install --root "$root_target/peers" "$peer"
done
command -v mawk > /dev/null || echo "mawk is missing and left out: apt-get install mawk" >&2

input=$bench_target/lines-$lines-$distinct.txt
if [ ! -f "$input" ]; then
    "$bench_target/release/lines" "$lines" "$distinct" > "$input.tmp"
    mv "$input.tmp" "$input"
fi
mkdir -p bench/results
"$bench_target/release/cli" --lines "$input" --mayhap "$root_target/release/mayhap" \
    --distinct "$distinct" --rounds "$rounds" --out bench/results
