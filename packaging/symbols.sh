#!/bin/sh
# Moves the symbols of a program into a file beside it, where debuggers and `addr2line` find them:
# packaging/symbols.sh PROGRAM, then PROGRAM and PROGRAM.debug. Again is no error.
set -eu

program=$1
command -v objcopy >/dev/null || { echo 'objcopy is missing: apt-get install binutils' >&2; exit 1; }
if objdump --section-headers "$program" | grep -q gnu_debuglink; then
	exit
fi
objcopy --only-keep-debug "$program" "$program.debug"
# Not in place: Cargo's own copy of the program is the same file.
objcopy --strip-all --add-gnu-debuglink="$program.debug" "$program" "$program.new"
mv "$program.new" "$program"
du -h "$program" "$program.debug"
