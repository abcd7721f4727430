#!/usr/bin/env bash
# Runs all tests of the workspace except the named ones, three programs at a time: .ci/tests.sh
# [EXCEPT]... With ONLY, a pattern, the programs whose "folder program name" matches it; with
# FILTERS, of these the tests whose names have one of these words; with SKIP_TESTS, the tests whose
# names have none of these. With --build it builds them and ends; with BUILT=1 it runs the programs
# built before, and waits for no other Cargo. With QUICK=1 only those are built and run that need no
# server and take seconds.
#
# Cargo runs test programs one after another, and many of ours wait for servers most of the time.
# Prints a line for each with its seconds, the longest first; all that a failing one printed.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
# Tests expect the name of one program.
unset CARGO
target=${CARGO_TARGET_DIR:-$PWD/target}
# Of all crates, or other features would be built, and dependencies twice.
quick_targets='--lib --test it --test tidy'
work=$target/tests${ONLY:+-only}
built=$target/tests.built
if [ "${BUILT:-}" != 1 ]; then
  mkdir -p "$target"
  # shellcheck disable=SC2086 # lists of words
  $cargo test --workspace --locked ${POINTS:-} ${QUICK:+$quick_targets} --no-run \
    --message-format=json-render-diagnostics >"$built"
fi
[ "${1:-}" != --build ] || exit 0
rm -rf "$work"
mkdir -p "$work"

# The folder of each program's package, the program, and its readable name.
grep '"profile":{[^}]*"test":true' "$built" |
  sed -n 's/.*"manifest_path":"\([^"]*\)\/Cargo.toml".*"name":"\([^"]*\)","src_path".*"executable":"\([^"]*\)".*/\1 \3 \2/p' \
    | sort -u >"$work/programs"
for except in "$@"; do
  grep -v " $except\$" "$work/programs" >"$work/rest"
  mv "$work/rest" "$work/programs"
done
if [ "${QUICK:-}" = 1 ]; then
  grep -vE '/(mayhap-redis|mayhap-dashboard|test-servers) ' "$work/programs" >"$work/rest"
  mv "$work/rest" "$work/programs"
fi
least=11
if [ -n "${ONLY:-}" ]; then
  least=1
  grep -E -e "$ONLY" "$work/programs" >"$work/rest" || true
  mv "$work/rest" "$work/programs"
fi
[ "$(wc -l <"$work/programs")" -ge "$least" ] || { echo "too few tests were built" >&2; exit 1; }

# The arguments of a program under QUICK: which of its tests are run, or left to `make check`.
quick() {
  case $1 in
  mayhap-cli/it) echo bench:: changed:: check:: clear_at:: completions:: created:: dedup:: exact:: \
    explain:: filter:: identity:: inputs:: keys:: kinds:: manners:: matrix:: merge:: more_keys:: \
    no_refresh:: paper_cuts:: plan:: plot:: presets:: room:: segments:: state:: window:: wording:: ;;
  mayhap-engine/mayhap_engine) echo --skip crash:: --skip errors:: ;;
  mayhap-server/it) echo --skip imports:: --skip slow_readers:: --skip strangers:: --skip attack ;;
  mayhap-sets/it) echo --skip server:: ;;
  mayhap-store/mayhap_store) echo --skip model:: ;;
  esac
}

run_one() {
  folder=$1 program=$2
  name=$(basename "$folder")/$3
  log=$work/$(basename "$program").log
  start=$(date +%s)
  status=ok
  words=${FILTERS:-}
  [ "${QUICK:-}" != 1 ] || words=$(quick "$name")
  for word in ${SKIP_TESTS:-}; do words="$words --skip $word"; done
  # shellcheck disable=SC2086 # a list of words
  (cd "$folder" && CARGO_MANIFEST_DIR=$folder "$program" $words) >"$log" 2>&1 || status=FAILED
  passed=$(sed -n 's/^test result: [^.]*\. \([0-9]* passed\).*/\1/p' "$log" | tail -n 1)
  printf '%5d s  %-6s  %s: %s\n' "$(($(date +%s) - start))" "$status" "$name" "${passed:-no result}" \
    >>"$work/results"
  # A word that no test has would pass unseen.
  [ -z "${FILTERS:-}" ] || [ "${passed%% *}" != 0 ] || { echo "$name: no test has a name with: $FILTERS" >&2; return 1; }
  [ "$status" = ok ] || { cat "$log"; return 1; }
  ! grep SKIPPED "$log" || [ "${MAYHAP_REQUIRE_TOOLS:-1}" = 0 ]
}
# The longest begins first.
weigh() {
  awk '{ w = 5
    if ($0 ~ /mayhap-cli .* it$/) w = 1
    else if ($0 ~ /mayhap-redis .* it$/) w = 2
    else if ($0 ~ /mayhap-redis .* mayhap_redis$/ || $0 ~ / serve$/) w = 3
    else if ($0 ~ / mayhap_(engine|server|store)$/) w = 3
    else if ($0 ~ / it$/ || $0 ~ / rates/) w = 4
    print w, $0 }' "$1" | sort -s -k1,1n | cut -d' ' -f2-
}
weigh "$work/programs" >"$work/order"

status=0 running=0
while read -r folder program name; do
  if [ "$running" -ge "${AT_ONCE:-3}" ]; then
    wait -n || status=1
    running=$((running - 1))
  fi
  run_one "$folder" "$program" "$name" &
  running=$((running + 1))
done <"$work/order"
while [ "$running" -gt 0 ]; do
  wait -n || status=1
  running=$((running - 1))
done
sort -rn "$work/results"
exit $status
