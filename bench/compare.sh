#!/bin/sh
# Features of command-line tools, found out by running each of them: prints
# bench/results/compare.md.
#
#   bench/compare.sh > bench/results/compare.md.new && mv bench/results/compare.md.new bench/results/compare.md
#
# The section "Mission" of the page, which a test runs, is copied unchanged.
# Missing peers are installed as by cli.sh; a peer that is still missing has the cells "not run". A
# cell is a result of this run, not a quote from a manual: a feature that a tool does not have is
# tried under the names that others give it. Takes about two minutes.
# shellcheck disable=SC2015  # `a && yes || no` is intended
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
[ -n "${MAYHAP:-}" ] || cargo build -q --release --manifest-path "$root/Cargo.toml" -p mayhap-cli
mayhap=${MAYHAP:-$target/release/mayhap}
mission=$(sed -n '/^## Mission$/,$p' "$root/bench/results/compare.md")
[ -n "$mission" ] || { echo 'bench/results/compare.md has no section "Mission"' >&2; exit 1; }
PATH=$(dirname "$mayhap"):$PATH:$target/peers/bin
export PATH LC_ALL=C RUST_BACKTRACE=0
for peer in huniq xuniq runiq anewer poppy-filters; do
    command -v "${peer%-filters}" > /dev/null ||
        cargo install -q --root "$target/peers" "$peer" >&2
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
# runiq has a Bloom filter of its own.
mkdir "$work/bin"
printf '#!/bin/sh\n[ $# = 0 ] && set -- -\nexec runiq --filter compact "$@"\n' > "$work/bin/runiq-compact"
chmod +x "$work/bin/runiq-compact"
PATH=$PATH:$work/bin
# The shell's own notices of children that a signal ended.
exec 2> "$work/notices"

yes() { echo yes; }
no() { echo "${1:-no}"; }
lines() { wc -l | tr -d ' '; }
# The first line of a failing command's error, in quotes.
quoted() {
    grep -v '^ *$' | head -1 | tr '|`' '/ ' | cut -c1-130 |
        sed 's/ ([0-9]*) panicked at.*/ panicked/; s/^/“/; s/ *$/”/'
}
ms() { echo $(($(date +%s%N) / 1000000)); }
# Under | head -1: fine if the tool prints no error and ends successfully, or by the signal.
under_head() {
    { { "$@" 2> said; echo $? > code; } | head -1 > /dev/null; } 3>&1
    code=$(cat code)
    if [ -s said ] || { [ "$code" != 0 ] && [ "$code" != 141 ]; }; then
        no "no: exit $code, $(quoted < said)"
    else yes; fi
}

. "$root/bench/compare/filters.sh"
. "$root/bench/compare/lines.sh"

row() { # prefix name title
    printf '| %s |' "$3"
    for one in $tools; do
        rm -rf "$work/cell" && mkdir "$work/cell" && cd "$work/cell" || exit 1
        if command -v "$one" > /dev/null; then
            cell=$("$1_$2" "$one" 2> /dev/null < /dev/null) || cell=${cell:-no}
        else cell='not run'; fi
        printf ' %s |' "$(echo "$cell" | head -1)"
    done
    echo
}
table() { # prefix tools
    tools=$2
    # shellcheck disable=SC2086
    printf '| |%s\n|---|%s\n' "$(printf ' %s |' $tools)" "$(printf -- '---|%.0s' $tools)"
    row "$1" version 'version'
    while IFS='|' read -r name title; do row "$1" "$name" "$title"; done
}

cat << 'END'
# Compared with other tools

The results of running each tool with `bench/compare.sh`; `bench/cli.sh` measures their speed
([bench/README.md](../README.md)). If a tool seems to lack a feature, the options that other
tools have for it are tried; if none works, the cell is "no". Quotes are the first line of a tool's
output.

## Filter files

`bloom` is DCSO's (Debian's golang-github-dcso-bloom-cli), `poppy` is from the crate poppy-filters.

END
table f 'mayhap bloom poppy' << 'END'
exit|exit codes of a hit and a miss differ
overfill|5000 keys into a filter for 100
truth|rate of a filter with 50 times its keys
bytes|keys can be any bytes (not UTF-8)
head|`check` survives `\| head -1`
nul|keys that end with NUL
cr|a trailing carriage return is not part of the key
kept|the file stores how keys are extracted
fields|a field of the line is the key
gz|`.gz` input as it is
zst|`.zst` input as it is
wrong|a text file instead of a filter
cut|a truncated filter file is rejected
flip|a flipped bit in a filter file is found (`info`, `show`)
rate3|measured rate, target 1e-3, URLs
rate6|measured rate, target 1e-6, URLs
numbers|measured rate, target 1e-6, numbers
size|bits per key of the file at 1e-3
open|one query of a filter for 60 M keys
several|several filters in one run
invert|prints the lines that are not in it
count|prints how many lines are in it
merge|merges filter files
verify|verifies a filter against its keys
remove|removes keys
forget|forgets old keys
grow|keeps the rate at 200 times the keys
stop|SIGTERM while adding 100 keys to 500
secret|secret key against chosen keys
five|a rate of 5
json|JSON
dcso|reads files of DCSO bloom
gzfile|compressed filter files
data|custom text in the file
jobs|several threads
END
cat << 'END'

## First of equal lines

`mayhap` is `mayhap dedup`, `runiq-compact` is `runiq --filter compact`, `sort` is `sort -u`, `mawk`
is `mawk '!seen[$0]++'`.

END
table l 'mayhap huniq runiq runiq-compact xuniq anewer sort mawk' << 'END'
order|keeps the order
lost|lines lost of 1 M distinct ones
said|reports how many may be lost
memory|5 M distinct lines in 100 MB of address space
head|survives `\| head -1`
bytes|lines can be any bytes
nul|lines that end with NUL
crlf|CRLF and LF lines are equal, on request
last|a last line without a terminator
gz|`.gz` input as it is
zst|`.zst` input as it is
files|several input files
first|first line out while the input pauses
writes|writes for 50,000 lines
state|remembers from run to run
kill|after kill -9, the second run
repeats|prints the repeats instead
counts|counts equal lines
field|a field of the line is the key
jsonkey|a JSON value is the key
trim|surrounding white space is ignored
json|JSON summary
END

cat << 'END'

## Speed and memory

10 M lines of 62 bytes, one run of `bench/cli.sh`; the whole of it, with the machine and the
targets: [bench/results/tools.md](tools.md).
END
# Its tables, one level lower.
sed -n '/^## First of equal lines/,/^## Targets/p' "$root/bench/results/tools.md" |
    sed '/^## Targets/d; s/^## /### /; s/^### First of equal lines/\n&, timed/' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
printf '\n%s\n' "$mission"
