#!/bin/sh
# Builds the npm package into target/web/package: two modules and their companions, each with and
# without vector instructions, and the JavaScript in front of them. Prints the compressed sizes.
# With SHORT=1 the builds with vector instructions are those without, which halves the time.
set -eu
cd "$(dirname "$0")"
cargo=${CARGO:-cargo}
root=$(cd ../.. && pwd)
out=$root/target/web
tools=$out/tools
export CARGO_TARGET_DIR="$out/cargo"
mkdir -p "$tools" "$out/package/wasm"

rustup target list --installed | grep -q '^wasm32-unknown-unknown$' \
	|| rustup target add wasm32-unknown-unknown
rustup component list --installed | grep -q '^rust-src' || rustup component add rust-src
cmp -s tools-lock.json "$tools/installed.json" || {
	cp tools.json "$tools/package.json"
	cp tools-lock.json "$tools/package-lock.json"
	npm ci --prefix "$tools" --no-audit --no-fund
	cp tools-lock.json "$tools/installed.json"
}
$cargo build --locked -p bindgen -p oracle

# Features of every browser since 2023; with more, the optimiser emits code that older ones refuse.
features='--enable-bulk-memory --enable-bulk-memory-opt --enable-multivalue --enable-mutable-globals
	--enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext --enable-simd'

# The standard library is built with the module, so that a panic is just a trap: its messages, with
# the code that formats numbers, are two fifths of a small module. Both are unstable options of the
# compiler, hence RUSTC_BOOTSTRAP; so is the feature `instructions`.
trap='-Zunstable-options -Cpanic=immediate-abort -Zlocation-detail=none -Zfmt-debug=none'

# Where the compiler may spend bytes on speed: in the loops over keys of the reader. A low threshold
# inlines functions that are called once, and little else.
fast='profile.release.package.mayhap.opt-level=2'
small='profile.release.package.mayhap.opt-level="s"'
inline='-Cllvm-args=-inline-threshold=30'

# module NAME FEATURES PROFILE FOLDER [SUFFIX RUSTFLAGS]
module() {
	RUSTC_WRAPPER=$root/packaging/crate-ids.sh RUSTC_BOOTSTRAP=1 \
		RUSTFLAGS="$trap $inline ${6:-}" $cargo build --locked --release --config "$3" \
		--target wasm32-unknown-unknown -p mayhap-wasm --features "$2,instructions" \
		-Zbuild-std=std,panic_abort -Zbuild-std-features=optimize_for_size
	raw=$out/raw/$1${5:-}
	mkdir -p "$raw"
	"$CARGO_TARGET_DIR/debug/bindgen" \
		"$CARGO_TARGET_DIR/wasm32-unknown-unknown/release/mayhap_wasm.wasm" "$1" "$raw"
	# A second round finds what the first one left; with the most called functions first, calls are
	# shorter and compress better.
	"$tools/node_modules/.bin/wasm-opt" -Oz -Oz --reorder-functions $features --strip-debug \
		--strip-producers --strip-target-features "$raw/$1_bg.wasm" -o "$4/$1${5:-}.wasm"
	"$tools/node_modules/.bin/esbuild" "$raw/$1.js" --minify --format=esm --log-level=warning \
		--outfile="$4/$1.js" --allow-overwrite
}
# both NAME FEATURES PROFILE
both() {
	module "$1" "$2" "$3" "$out/package/wasm"
	if [ -n "${SHORT:-}" ]; then
		cp "$out/package/wasm/$1.wasm" "$out/package/wasm/$1-simd.wasm"
	else
		module "$1" "$2" "$3" "$out/package/wasm" -simd '-C target-feature=+simd128'
	fi
}
both reader plain "$fast"
both full plain,write,plan "$small"
# Their companions: loaded where a file needs them.
both foreign foreign "$small"
both kinds kinds "$small"
module page plain,kinds,plan,foreign,lists "$small" "$out/raw/page"
# The modules as scripts, which bundlers take along: gzipped and in base64.
for name in reader full foreign kinds; do
	wasm=$out/package/wasm/$name-simd.wasm
	printf 'export default "%s";\n' "$(gzip -9nc "$wasm" | base64 -w0)" >"$out/package/wasm/$name-bytes.js"
done
cp package/*.json package/*.js package/*.d.ts package/README.md "$root"/LICENSE-* "$out/package/"

# For pages that are opened from a folder, where no module can be fetched: one classic script.
"$tools/node_modules/.bin/esbuild" page.js --bundle --format=iife --minify \
	--global-name=mayhap --define:import.meta.url='""' \
	--log-level=warning --outfile="$out/raw/page.iife.js"
"$tools/node_modules/.bin/esbuild" page-worker.js --bundle --format=iife --minify \
	--define:import.meta.url='""' --log-level=warning --outfile="$out/raw/page-worker.iife.js"
node page-module.mjs "$out" >"$out/mayhap.js"

# Compressed sizes, each with its limit. size LIMIT FILE
size() {
	bytes=$(gzip -9nc "$2" | wc -c)
	printf '%7d of %7d bytes gzipped  %s\n' "$bytes" "$1" "$(basename "$2")"
	[ "$bytes" -le "$1" ] || {
		echo "$2 is above its limit" >&2
		exit 1
	}
}
for simd in '' -simd; do
	size 20000 "$out/package/wasm/reader$simd.wasm"
	size 50000 "$out/package/wasm/full$simd.wasm"
	size 17000 "$out/package/wasm/foreign$simd.wasm"
	size 62000 "$out/package/wasm/kinds$simd.wasm"
done
for name in reader full foreign kinds; do
	size 6000 "$out/package/wasm/$name.js"
done
