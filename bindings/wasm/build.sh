#!/bin/sh
# Builds the npm package into target/web/package: two modules, each with and without vector
# instructions, and the JavaScript in front of them. Prints the sizes as they are sent.
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
cp tools.json "$tools/package.json"
cp tools-lock.json "$tools/package-lock.json"
[ -x "$tools/node_modules/.bin/wasm-opt" ] || npm ci --prefix "$tools" --no-audit --no-fund
$cargo build --locked -p bindgen -p oracle

# What every browser since 2023 has; more, and the optimiser writes what older ones refuse.
features='--enable-bulk-memory --enable-bulk-memory-opt --enable-multivalue --enable-mutable-globals
	--enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext --enable-simd'

# module NAME FEATURES SUFFIX RUSTFLAGS
module() {
	RUSTFLAGS=$4 $cargo build --locked --release --target wasm32-unknown-unknown -p mayhap-wasm \
		--features "$2"
	raw=$out/raw/$1$3
	mkdir -p "$raw"
	"$CARGO_TARGET_DIR/debug/bindgen" \
		"$CARGO_TARGET_DIR/wasm32-unknown-unknown/release/mayhap_wasm.wasm" "$1" "$raw"
	"$tools/node_modules/.bin/wasm-opt" -O3 $features --strip-debug --strip-producers \
		--strip-target-features "$raw/$1_bg.wasm" -o "$out/package/wasm/$1$3.wasm"
	cp "$raw/$1.js" "$raw/$1.d.ts" "$out/package/wasm/"
}
module reader '' '' ''
module reader '' -simd '-C target-feature=+simd128'
module full full '' ''
module full full -simd '-C target-feature=+simd128'
cp package/*.json package/*.js package/*.d.ts "$out/package/"

# For pages that are opened from a folder, where no module can be fetched: one classic script.
"$tools/node_modules/.bin/esbuild" "$out/package/full.js" --bundle --format=iife --minify \
	--global-name=mayhap --external:node:fs/promises --define:import.meta.url='""' \
	--log-level=warning --outfile="$out/raw/full.iife.js"
node page-module.mjs "$out" >"$out/mayhap.js"

for file in "$out"/package/wasm/*.wasm "$out"/package/wasm/*.js "$out/mayhap.js"; do
	printf '%7d bytes gzipped  %s\n' "$(gzip -9nc "$file" | wc -c)" "$(basename "$file")"
done
