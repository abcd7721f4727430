#!/bin/sh
# What the libraries promised in an earlier version and no longer have, and whether
# crates/mayhap/API.txt is the public interface of the core.
#
#   BASELINE   the commit of the earlier version; 0.1.0 unless given
#   CRATES     the libraries to compare; those that 0.1.0 had unless given
#   RECORD=1   writes API.txt anew
#
# Each line that it prints is gone or reads differently now, and belongs in CHANGELOG.md. Ends with 1
# if API.txt is old, or if cargo-semver-checks, where it is installed, finds that the version is too
# low for the changes.
set -eu
cd "$(dirname "$0")/.."
baseline=${BASELINE:-efc1b7f}
crates=${CRATES:-mayhap mayhap-formats mayhap-store mayhap-redis mayhap-server mayhap-units}
api=$PWD/packaging/api.py
target=${CARGO_TARGET_DIR:-$PWD/target}/semver
old=$target/$baseline
mkdir -p "$old"
git archive "$baseline" | tar -xC "$old"

# The interface of a crate in a folder: interface FOLDER CRATE OPTION...
# rustdoc writes JSON only as an unstable option, which a stable compiler has to be told to accept.
interface() {
	folder=$1 package=$2
	shift 2
	built=$target/built-$(basename "$folder")
	(cd "$folder" && RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$built ${CARGO:-cargo} rustdoc --quiet \
		--locked --lib -p "$package" $features -- -Z unstable-options --output-format json) >&2
	python3 "$api" "$@" "$built/doc/$(echo "$package" | tr - _).json"
}
failed=0
for crate in $crates; do
	# Not the feature that needs a page built before.
	case $crate in mayhap-server) features= ;; *) features=--all-features ;; esac
	interface "$old" "$crate" --flat >"$target/before"
	interface "$PWD" "$crate" --flat >"$target/now"
	for list in before now; do LC_ALL=C sort -u -o "$target/$list" "$target/$list"; done
	LC_ALL=C comm -23 "$target/before" "$target/now" >"$target/lost"
	echo "$crate: $(wc -l <"$target/lost") of $(wc -l <"$target/before") lines are gone or changed"
	sed 's/^/- /' "$target/lost"
	if cargo semver-checks --version >/dev/null 2>&1; then
		cargo semver-checks --baseline-root "$old" -p "$crate" || failed=1
	fi
done
features=--all-features
list=crates/mayhap/API.txt
interface "$PWD" mayhap >"$target/API.txt"
if [ "${RECORD:-0}" = 1 ]; then cp "$target/API.txt" $list; fi
if ! diff -u $list "$target/API.txt"; then
	echo "$list is old: RECORD=1 make semver writes it" >&2
	failed=1
fi
exit $failed
