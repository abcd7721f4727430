#!/bin/sh
# Runs every fuzz target for some seconds from its kept corpus: fuzz/run.sh [seconds] [target...]
# Needs only a stable toolchain. After a crash it ends with the input's path and exit status 1;
# replay with FUZZ_TARGET=<target>, the program and that path. New inputs go to
# fuzz/target/found/<target>, which is kept between runs.
set -eu
cd "$(dirname "$0")"
seconds=${1:-20}
[ $# -gt 0 ] && shift
targets=${*:-$(ls src/targets | sed -n 's/\.rs$//p' | grep -vx mod)}

# A short run takes less time than a good build.
[ "$seconds" -gt 60 ] || export CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_DEBUG=false
target_dir=${CARGO_TARGET_DIR:-target}
host=$(rustc -vV | sed -n 's/^host: //p')
# `--target` keeps the flags away from build scripts and procedural macros.
flags='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Ccodegen-units=1'
RUSTFLAGS="${RUSTFLAGS:-} $(echo $flags)" CARGO_TARGET_DIR="$target_dir" \
    cargo build --release --locked --target "$host"

run() {
    target=$1
    found=target/found/$target
    crashes=target/crashes/$target
    log=target/$target.log
    mkdir -p "$found" "$crashes" "corpus/$target"
    max_len=20000
    [ "$target" = number ] && max_len=64
    echo "fuzz $target: $seconds s from $(ls "corpus/$target" | wc -l) kept inputs"
    if FUZZ_TARGET=$target "$target_dir/$host/release/fuzz" -max_total_time="$seconds" -max_len=$max_len -timeout=10 \
        -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$crashes/" \
        "$found" "corpus/$target" >"$log" 2>&1; then
        # The coverage at the end; no coverage at all means that nothing was instrumented.
        line=$(grep 'DONE' "$log" | tail -n 1)
        echo "fuzz $target: $line"
        covered=$(echo "$line" | sed -n 's/.*cov: \([0-9]*\).*/\1/p')
        if [ "${covered:-0}" -lt 50 ]; then
            echo "fuzz $target: FAILED: coverage is ${covered:-0}, the build is not instrumented"
            return 1
        fi
    else
        tail -n 40 "$log"
        echo "fuzz $target: FAILED, the input is in fuzz/$crashes/"
        return 1
    fi
}

# One per processor at a time: each takes the same time.
status=0
set -- $targets
while [ $# -gt 0 ]; do
    pids=
    for _ in $(seq "$(nproc)"); do
        [ $# -gt 0 ] || break
        run "$1" &
        pids="$pids $!"
        shift
    done
    for pid in $pids; do
        wait "$pid" || status=1
    done
done
exit $status
