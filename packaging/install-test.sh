#!/bin/sh
# The Debian package on a bare system: builds one binary and two packages, and runs
# install_test.py with them. Needs root, and mmdebstrap; MAYHAP is a binary built before.
set -eu
for tool in mmdebstrap:mmdebstrap systemd-analyze:systemd setpriv:util-linux; do
	command -v "${tool%%:*}" >/dev/null || {
		echo "the test of an installation needs ${tool%%:*}: apt-get install ${tool##*:}" >&2
		exit 1
	}
done
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
out=${CARGO_TARGET_DIR:-$root/target}/install-test
target=$(uname -m)-unknown-linux-musl
if [ -z "${MAYHAP:-}" ]; then
	sh "$here/build.sh" "$out" "$target"
	MAYHAP=$out/$target/mayhap
fi
# Fast, for what is installed at once.
export INVENTORY="$out/inventory" SOURCE_DATE_EPOCH=0 COMPRESSION=none
python3 "$here/inventory.py" "$target" "$INVENTORY"
architecture=$(dpkg --print-architecture)
for version in 1.0.0 2.0.0; do
	sh "$here/deb.sh" "$MAYHAP" "$architecture" "$version" "$out" >/dev/null
done
python3 "$here/install_test.py" "$out/mayhap_1.0.0_$architecture.deb" \
	"$out/mayhap_2.0.0_$architecture.deb" "$out/bare.tar"
