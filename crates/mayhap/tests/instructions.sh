#!/bin/sh
# Counts the instructions per key of the library's hot paths under Valgrind (which has AVX2 and no
# AVX-512), and compares them with those recorded in instructions.tsv: more than 2 % above is an
# error, more than 2 % below has to be recorded, so that the next rise is seen.
#
#   crates/mayhap/tests/instructions.sh            compare
#   crates/mayhap/tests/instructions.sh --record   write instructions.tsv
#
# Another compiler may count otherwise without anybody's fault: then 10 % are allowed.
set -eu
cd "$(dirname "$0")/../../.."
record=crates/mayhap/tests/instructions.tsv
few=2 many=10 keys=4096
cargo=${CARGO:-cargo}
program=${CARGO_TARGET_DIR:-target}/release/examples/hot_paths

command -v valgrind >/dev/null || { echo 'valgrind is missing: apt-get install valgrind' >&2; exit 1; }
$cargo build --release --locked --quiet -p mayhap --example hot_paths
compiler=$(rustc --version)

# Instructions of a path with so many rounds.
count() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 |
		sed -n 's/.*Collected : //p'
}

counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
for path in $("$program"); do
	less=$(count "$path" "$few")
	more=$(count "$path" "$many")
	awk -v path="$path" -v less="$less" -v more="$more" -v keys="$((keys * (many - few)))" \
		'BEGIN { printf "%s\t%.1f\n", path, (more - less) / keys }' >>"$counts"
done
if [ "${1-}" = --record ]; then
	{ printf '# %s\n# path\tinstructions per key\n' "$compiler"; cat "$counts"; } >"$record"
	cat "$record"
	exit
fi
[ "$(wc -l <"$counts")" -ge 10 ]
recorded=$(sed -n '1s/# //p' "$record")
tolerance=0.02
[ "$recorded" = "$compiler" ] || { tolerance=0.10; echo "recorded with $recorded, this is $compiler"; }
awk -F '\t' -v tolerance="$tolerance" '
	/^#/ { next }
	NR == FNR { old[$1] = $2; next }
	!($1 in old) { printf "%s is not recorded\n", $1; bad = 1; next }
	{
		ratio = $2 / old[$1]
		verdict = ratio > 1 + tolerance ? "SLOWER" : ratio < 1 - tolerance ? "FASTER: record it" : "same"
		if (verdict != "same") bad = 1
		printf "%-24s %8.1f  recorded %8.1f  %6.3f  %s\n", $1, $2, old[$1], ratio, verdict
		delete old[$1]
	}
	END {
		for (path in old) { printf "%s is recorded, and there is no such path\n", path; bad = 1 }
		exit bad
	}' "$record" "$counts"
