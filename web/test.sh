#!/bin/sh
# Builds the modules and the pages and tests them: the modules in Node, the pages in Chromium.
# SCREENS=FOLDER takes the screenshots there. Prints the sizes as they are sent.
set -eu
cd "$(dirname "$0")/.."
command -v "${CHROMIUM:-/usr/bin/chromium}" >/dev/null || {
	echo 'web/test.sh needs Chromium: apt-get install chromium, or CHROMIUM=/path' >&2
	exit 1
}
sh bindings/wasm/build.sh
out=target/web
mkdir -p "$out/explorer"
cp web/explorer/* "$out/mayhap.js" "$out/explorer/"
mkdir -p "$out/extension/mayhap/wasm"
cp web/extension/* web/phishing/* "$out/extension/"
for file in bind fault filter planner reader; do
	cp "$out/package/$file.js" "$out/extension/mayhap/"
done
cp "$out"/package/wasm/reader* "$out/extension/mayhap/wasm/"
printf '%7d bytes gzipped  explorer, all files\n' \
	"$(for file in "$out"/explorer/*; do gzip -9nc "$file"; done | wc -c)"
node --test bindings/wasm/test/*.test.mjs
node --test web/test/*.test.mjs
