#!/bin/sh
# Command-line tools against each other: line filters on 10 M URL-like lines of which 5 M are
# distinct; filter files of 10 M lines, built, queried with 10 M lines of which half are members,
# and merged.
#
#   bench/cli.sh [ROUNDS]        5 rounds by default; writes bench/results/tools.md and tools.json
#
# Peers that are missing are installed to target/peers; mawk and DCSO's bloom are from the system
# (apt-get install mawk golang-github-dcso-bloom-cli) and are left out, with a message, if missing.
# The lines (2.5 GB) stay in bench/target for the next run.
set -eu
cd "$(dirname "$0")/.."
rounds=${1:-5}
lines=${LINES_TOTAL:-10M}
distinct=${LINES_DISTINCT:-5M}
root_target=${CARGO_TARGET_DIR:-$PWD/target}
bench_target=${CARGO_TARGET_DIR:-$PWD/bench/target}
out=${OUT:-bench/results}

cargo build --release -p mayhap-cli
cargo build --release --manifest-path bench/Cargo.toml --bin lines --bin cli

PATH=$PATH:$root_target/peers/bin
export PATH
for peer in huniq xuniq runiq anewer poppy-filters; do
    command -v "${peer%-filters}" > /dev/null || cargo install --root "$root_target/peers" "$peer"
done

# Writes a file once, whole: file command...
once() {
    file=$1
    shift
    [ -f "$file" ] || { "$@" > "$file.tmp" && mv "$file.tmp" "$file"; }
}
generate() { "$bench_target/release/lines" "$@"; }
# Line i is the same for any number of distinct lines: lines after the members are absent.
absent() { generate "$1" "$1" | tail -n "+$(($(wc -l < "$members") + 1))"; }
shuffled() {
    { tail -n "$(wc -l < "$absent")" "$members"; cat "$absent"; } |
        shuf --random-source="$members"
}

input=$bench_target/lines-$lines-$distinct.txt
members=$bench_target/members-$lines.txt
absent=$bench_target/absent-$lines.txt
queries=$bench_target/queries-$lines.txt
once "$input" generate "$lines" "$distinct"
once "$members" generate "$lines" "$lines"
items=$(wc -l < "$members")
once "$absent" absent "$((items * 3 / 2))"
once "$queries" shuffled
mkdir -p "$out"
"$bench_target/release/cli" --lines "$input" --members "$members" --queries "$queries" \
    --absent "$absent" --items "$items" --work "$bench_target/cli-work" \
    --mayhap "$root_target/release/mayhap" --distinct "$distinct" --rounds "$rounds" --out "$out"
