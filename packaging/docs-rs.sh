#!/bin/sh
# The documentation of every published crate as docs.rs builds it: with a nightly toolchain,
# `--cfg docsrs` and the features that its manifest names. Ends with 1 at the first warning.
#
#   CRATES   the crates; all that are published unless given
set -eu
cd "$(dirname "$0")/.."
for crate in ${CRATES:-$(cd crates && echo mayhap*)}; do
	settings=$(sed -n '/^\[package.metadata.docs.rs\]$/,/^$/p' "crates/$crate/Cargo.toml")
	case $settings in
	*all-features*) features=--all-features ;;
	*features*) features="--features=$(echo "$settings" | sed -n 's/^features = \["\(.*\)"\]$/\1/p')" ;;
	*) features= ;;
	esac
	echo "$crate $features"
	# shellcheck disable=SC2086 # no features are no word
	RUSTDOCFLAGS='--cfg docsrs -D warnings' ${CARGO:-cargo} +nightly doc --quiet --locked --lib \
		--no-deps -p "$crate" $features
done
