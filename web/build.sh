#!/bin/sh
# Builds the modules and the pages of target/web: the explorer as a folder and as one file, the
# extension. SHORT=1 builds no modules with vector instructions.
set -eu
cd "$(dirname "$0")/.."
sh bindings/wasm/build.sh
out=target/web
mkdir -p "$out/explorer" "$out/extension/mayhap/wasm"
cp web/explorer/* "$out/mayhap.js" "$out/explorer/"
node web/single.mjs "$out/explorer" >"$out/explorer.html"
cp web/extension/* web/phishing/* "$out/extension/"
for file in bind fault filter info reader room; do
	cp "$out/package/$file.js" "$out/extension/mayhap/"
done
cp "$out"/package/wasm/reader* "$out"/package/wasm/foreign* "$out/extension/mayhap/wasm/"
