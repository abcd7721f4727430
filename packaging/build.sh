#!/bin/sh
# Static binaries of the command: packaging/build.sh FOLDER [TARGET]... writes FOLDER/TARGET/mayhap.
#
# Paths of this machine are left out of them; the explorer is in them. Needs rustup, python3 and Node
# with npm; zig, which compiles and links C for any machine, is from PyPI.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- x86_64-unknown-linux-musl aarch64-unknown-linux-musl
target_dir=${CARGO_TARGET_DIR:-$root/target}
export CARGO_TARGET_DIR="$target_dir"

tools=$target_dir/dist-tools
[ -x "$tools/bin/cargo-zigbuild" ] || {
	python3 -m venv "$tools"
	"$tools/bin/pip" install --quiet --disable-pip-version-check cargo-zigbuild==0.24.1 \
		ziglang==0.17.1
}
export PATH="$tools/bin:$PATH"
[ -n "${MAYHAP_EXPLORER:-}" ] || sh "$root/web/build.sh" >&2
export MAYHAP_EXPLORER="${MAYHAP_EXPLORER:-$root/target/web/explorer.html}"
. "$root/packaging/paths.sh"
# The script of the linker by its place in the clone, as flags with paths would change the hashes. A
# low threshold inlines functions that are marked for it or called once, and little else.
RUSTFLAGS="$RUSTFLAGS -C link-arg=-Wl,-T,packaging/static.ld -C llvm-args=-inline-threshold=50"
cd "$root"
for target; do
	rustup target list --installed | grep -q "^$target\$" || rustup target add "$target"
	env "CFLAGS_$(echo "$target" | tr - _)=$c" cargo zigbuild --profile dist --locked \
		-p mayhap-cli --features explorer --target "$target"
	install -D -m 0755 "$target_dir/$target/dist/mayhap" "$out/$target/mayhap"
done
