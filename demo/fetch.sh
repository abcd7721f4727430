#!/bin/sh
# Writes urls.txt, passwords.txt, domains.txt and words.txt, the demo's real input, to a
# directory.
#
#   sh demo/fetch.sh [DIR]                 (default: target/demo)
#   DEMO_SAMPLE=1 sh demo/fetch.sh [DIR]   (always the shipped URL sample)
#
# Needs no root and no network: the URLs come from the package indices apt has
# already fetched, or else from the shipped sample. See demo/README.md.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
out=${1:-target/demo}
min=50000 # lines in the shipped sample; take apt's list only if it has as many

mkdir -p -- "$out"
out=$(CDPATH='' cd -- "$out" && pwd) # so that a name like "-x" is safe below
tmp=$out/.fetch.$$
trap 'rm -f "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

lines() { wc -l < "$1" | tr -d ' '; }
say() { printf 'fetch.sh: %s\n' "$*" >&2; }

: > "$tmp"
why=
if [ -n "${DEMO_SAMPLE:-}" ]; then
    why='DEMO_SAMPLE is set'
elif ! command -v apt-cache > /dev/null 2>&1; then
    why='there is no apt-cache here'
else
    apt-cache dumpavail 2> /dev/null | sed -n 's/^Homepage: *//p' > "$tmp"
    n=$(lines "$tmp")
    if [ "$n" -lt "$min" ]; then
        why="apt's indices hold only $n URLs (an 'apt-get update' may help)"
    fi
fi
if [ -n "$why" ]; then
    gzip -dc < "$here/urls-sample.txt.gz" > "$tmp"
    src='shipped sample'
    say "$why: using the shipped URL sample"
else
    src="apt's package indices"
fi
mv -f "$tmp" "$out/urls.txt"
say "$out/urls.txt: $(lines "$out/urls.txt") lines ($src)"

for list in passwords domains words; do
    gzip -dc < "$here/$list.txt.gz" > "$tmp"
    mv -f "$tmp" "$out/$list.txt"
    say "$out/$list.txt: $(lines "$out/$list.txt") lines (shipped list, complete)"
done
