#!/bin/sh
# The main job on real input: de-duplicate URLs in bounded memory, build a weak-password filter,
# ask it, look inside.
set -eu
cd "$(dirname "$0")/.."
mayhap=${MAYHAP:-${CARGO_TARGET_DIR:-target}/quick/mayhap}
out=target/demo

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() {
    printf '$ %s\n' "$*"
    sh -c "$*"
}

sh demo/fetch.sh "$out"
PATH="$(cd "$(dirname "$mayhap")" && pwd):$PATH"

say '1. First-seen lines of a real URL list, order kept, in bounded memory'
run "mayhap dedup -n 100k -p 1e-6 $out/urls.txt > $out/unique.txt"
say '   The same answer as an exact tool that holds every line in memory:'
run "LC_ALL=C sort -u $out/urls.txt | wc -l; wc -l < $out/unique.txt"

say '2. The same from a pipe of unknown length: the filter grows and keeps its rate'
run "cat $out/urls.txt | mayhap dedup -q | wc -l"

say '3. A filter of weak passwords: one small file to ship'
run "mayhap build --force -p 1e-6 -o $out/weak.mayhap $out/passwords.txt"

say '4. Ask it, as at sign-up: prints the words that are (surely or mayhap) weak'
run "printf '%s\n' 123456 letmein 'correct horse battery staple' qwerty 'tr0ub4dor&3-my-own' | mayhap check $out/weak.mayhap"
say '   Real URLs are no passwords: count how many of them are taken for one'
run "mayhap check -c $out/weak.mayhap < $out/unique.txt || true"

say '5. What is inside: asked against actual'
run "mayhap info $out/weak.mayhap"
