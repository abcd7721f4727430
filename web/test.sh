#!/bin/sh
# Builds the modules and the pages and tests them: the modules in Node, the pages in Chromium, the
# extension in Firefox too. SCREENS=FOLDER takes the screenshots there; MAYHAP is the command, if it
# is not built into target/debug; SHORT=1 builds no modules with vector instructions. Prints the
# compressed sizes.
set -eu
cd "$(dirname "$0")/.."
command -v "${CHROMIUM:-/usr/bin/chromium}" >/dev/null || {
	echo 'web/test.sh needs Chromium: apt-get install chromium, or CHROMIUM=/path' >&2
	exit 1
}
command -v "${FIREFOX:-/usr/bin/firefox-esr}" >/dev/null || {
	echo 'web/test.sh needs Firefox: apt-get install firefox-esr, or FIREFOX=/path' >&2
	exit 1
}
sh web/build.sh
out=target/web
# Whole compressed pages, each with its limit. page LIMIT NAME FILE...
page() {
	limit=$1 name=$2
	shift 2
	bytes=$(for file in "$@"; do gzip -9nc "$file"; done | wc -c)
	printf '%7d of %7d bytes gzipped  %s\n' "$bytes" "$limit" "$name"
	[ "$bytes" -le "$limit" ] || {
		echo "$name is above its limit" >&2
		exit 1
	}
}
page 160000 'explorer, all files' "$out"/explorer/*
page 160000 'explorer, in one file' "$out"/explorer.html
page 60000 'dashboard, all files' crates/mayhap-dashboard/src/page/*.html \
	crates/mayhap-dashboard/src/page/*.css crates/mayhap-dashboard/src/page/*.js \
	crates/mayhap-dashboard/src/page/*.svg
# The command, which serves the dashboard, and the explorer of this build: in a place of its own,
# since others build it without. Of all crates and with the examples, as `make debug` builds it: its
# dependencies are there then.
MAYHAP_EXPLORER=$PWD/$out/explorer.html ${CARGO:-cargo} build --workspace --locked --bin mayhap \
	--examples --features mayhap-cli/explorer,mayhap-cli/fail-points
cp "${CARGO_TARGET_DIR:-target}/debug/mayhap" "$out/mayhap"
export MAYHAP="$PWD/$out/mayhap"
# A test that waits for ever would take the whole run with it.
(cd bindings/wasm && CARGO_TARGET_DIR=$PWD/../../target/web/cargo ${CARGO:-cargo} test --locked \
	-p mayhap-wasm --features plain,kinds,plan,foreign,lists)
node --test --test-timeout=900000 bindings/wasm/test/*.test.mjs
node --test --test-timeout=900000 web/test/*.test.mjs
