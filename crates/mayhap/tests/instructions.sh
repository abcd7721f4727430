#!/bin/sh
# Counts the instructions per key of the library's hot paths, and compares them with the recorded
# ones: more than 2 % above is an error, more than 2 % below has to be recorded, so that the next
# rise is seen. On x86 Valgrind counts, which has AVX2 and no AVX-512; on ARM, with NEON, an
# emulator that logs each instruction.
#
#   crates/mayhap/tests/instructions.sh                 compare with instructions.tsv
#   crates/mayhap/tests/instructions.sh neon            compare with instructions-neon.tsv
#   crates/mayhap/tests/instructions.sh [neon] --record write it
#
# Another compiler may legitimately give other counts: then 10 % are allowed.
set -eu
cd "$(dirname "$0")/../../.."
few=2 many=10 keys=4096
cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}
compiler=$(rustc --version)

need() {
	command -v "$1" >/dev/null || { echo "$1 is missing: apt-get install $2" >&2; exit 1; }
}

# count PATH ROUNDS: the instructions of a path with this number of rounds.
if [ "${1-}" = neon ]; then
	shift
	few=1 many=2
	need qemu-aarch64 qemu-user
	need aarch64-linux-gnu-gcc 'gcc-aarch64-linux-gnu libc6-dev-arm64-cross'
	record=crates/mayhap/tests/instructions-neon.tsv
	program=$target/aarch64-unknown-linux-gnu/release/examples/hot_paths
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc $cargo build --release \
		--locked --quiet -p mayhap --example hot_paths --target aarch64-unknown-linux-gnu
	run() { qemu-aarch64 -L /usr/aarch64-linux-gnu "$@"; }
	count() {
		run -singlestep -d exec,nochain -D /dev/fd/3 "$program" "$1" "$2" 3>&1 >/dev/null |
			grep -c '^Trace'
	}
else
	need valgrind valgrind
	record=crates/mayhap/tests/instructions.tsv
	program=$target/release/examples/hot_paths
	$cargo build --release --locked --quiet -p mayhap --example hot_paths
	run() { "$@"; }
	count() {
		valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 |
			sed -n 's/.*Collected : //p'
	}
fi

counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
for path in $(run "$program"); do
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
