#!/bin/sh
# Puts bugs into a copy of the source, one at a time, and checks whether the tests find them.
#
# Each *.patch here names the bug, the test that has to fail because of it and, if it needs any, the
# compiler flags to build it with. A test that fails without the bug, a patch that no longer applies
# and a copy that does not compile are errors. `ONLY='lock_*'` plants only the patches that match;
# `FIT=1` plants none, and checks that each patch applies and that there is a test of its name.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
# One test of each copy runs, and most of the time is spent on building it, so it is built with few
# optimisations. Little changes between two bugs. (Unoptimised, the coroutines of loom overflow
# their stacks.)
CARGO_INCREMENTAL=1
export CARGO_INCREMENTAL CARGO_TARGET_DIR
in_a_hurry=profile.dev.package.mayhap.opt-level=1
server=profile.dev.package.mayhap-server.opt-level
engine=profile.dev.package.mayhap-engine.opt-level
copy=$CARGO_TARGET_DIR/planted
log=$copy/log
cargo=${CARGO:-cargo}

fail() {
	echo "$1" >&2
	[ ! -f "$log" ] || tail -n 30 "$log" >&2
	exit 1
}

# `Bug`, `Test` or `Flags` of a patch.
field() {
	sed -n "s/^$1: //p" "$2" | head -n 1
}

# Cargo for a patch. Other flags get a folder of their own, or everything would be rebuilt each
# time: with `--cfg loom` the folder of `make loom`, for the dependencies built there.
build() (
	flags=$(field Flags "$1") level=0
	shift
	if [ -n "$flags" ]; then
		RUSTFLAGS="${RUSTFLAGS:+$RUSTFLAGS }$flags"
		CARGO_TARGET_DIR=$CARGO_TARGET_DIR/${flags##* }
		export RUSTFLAGS CARGO_TARGET_DIR
		level=1
	fi
	$cargo test --config "$in_a_hurry" --config "$server=$level" --config "$engine=$level" --locked "$@"
)

# Runs only the test of a patch. Fails if the test does, and ends the script if it does not compile.
run() {
	test=$(field Test "$1")
	name=${test##* }
	# shellcheck disable=SC2086 # words of a command
	build "$1" --quiet ${test% *} --no-run >"$log" 2>&1 || fail "$1: does not compile"
	# shellcheck disable=SC2086
	build "$1" ${test% *} -- --exact "$name" >"$log" 2>&1 || return 1
	grep -q "^test $name \.\.\. ok" "$log" || fail "$1: there is no test $name"
}

# The patches, in the order of their builds: a bug and its removal rebuild everything that needs the
# file, and so would the next test of another crate.
ordered() {
	for patch in "$here"/${ONLY:-*}.patch; do
		file=$(sed -n 's|^--- a/||p' "$patch" | head -n 1)
		printf '%s|%s|%s|%s\n' "$(field Flags "$patch")" "$(echo "$file" | cut -d / -f 2)" \
			"$(field Test "$patch")" "${patch#"$here"/}"
	done | sort | cut -d '|' -f 4
}

command -v patch >/dev/null || fail 'patch is missing'
if [ "${FIT:-}" = 1 ]; then
	cd "$root"
	for patch in $(ordered); do
		patch=$here/$patch
		patch -s -p1 --dry-run <"$patch" || fail "$patch: does not fit any more"
		test=$(field Test "$patch")
		grep -rqw --include='*.rs' "${test##*[ :]}" crates || fail "$patch: there is no test $test"
	done
	echo "planted: all $(ordered | wc -l) fit"
	exit
fi
rm -rf "$copy"
mkdir -p "$copy"
cp -R "$root/Cargo.toml" "$root/Cargo.lock" "$root/README.md" "$root/crates" "$root/docs" "$copy"
mkdir "$copy/bench"
cp -R "$root/bench/results" "$copy/bench"
cd "$copy"
# Another version, or Cargo would take the build of the copy, bug and all, for the original's.
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
sed "s/version = \"$version\"/version = \"$version-planted\"/" Cargo.toml >changed
mv changed Cargo.toml
awk -v from="\"$version\"" -v to="\"$version-planted\"" '
	/^name = / { ours = $3 ~ /^"(mayhap.*|test-data|test-servers|tidy)"$/ }
	ours && /^version = / { sub(from, to) } { print }' Cargo.lock >changed
mv changed Cargo.lock

# Each test once without a bug.
for patch in $(ordered); do
	patch=$here/$patch
	same="$(field Flags "$patch") $(field Test "$patch")"
	if ! grep -qxF "$same" sound 2>/dev/null; then
		run "$patch" || fail "$patch: its test fails without the bug"
		echo "$same" >>sound
	fi
done
found=0
for patch in $(ordered); do
	patch=$here/$patch
	patch -s -p1 <"$patch" || fail "$patch: does not fit any more"
	if run "$patch"; then
		fail "not found: $(field Bug "$patch")"
	fi
	echo "found: $(field Bug "$patch")"
	echo "   by: $(field Test "$patch")"
	patch -s -R -p1 <"$patch"
	found=$((found + 1))
done
rm -rf "$copy"
echo "planted: $found of $found found"
[ -n "${ONLY:-}" ] || [ "$found" -ge 37 ]
