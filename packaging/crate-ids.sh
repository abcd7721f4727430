#!/bin/sh
# A wrapper of the compiler (RUSTC_WRAPPER) for files that are the same bytes in any folder.
#
# Cargo names each crate for the compiler by a hash, of its path where it is outside the workspace
# that is built, as the libraries are for the wheels and the modules of the browser; the compiler
# orders functions by that name. Here the name of a crate of this clone is that of its package.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
case ${CARGO_MANIFEST_DIR:-} in
	"$root"/*)
		rest=$#
		crate=
		while [ "$rest" -gt 0 ]; do
			case $1 in
				metadata=*) set -- "$@" "metadata=$CARGO_PKG_NAME-$CARGO_PKG_VERSION-$crate" ;;
				*) set -- "$@" "$1" ;;
			esac
			[ "$1" != --crate-name ] || crate=$2
			shift
			rest=$((rest - 1))
		done
		;;
esac
exec "$@"
