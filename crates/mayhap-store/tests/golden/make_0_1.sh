#!/bin/sh
# Makes the states of version 0.1 here: image of version 1 or 2, log of version 1, as kill -9 leaves
# them. MAYHAP is the command of that release. They are never made again: a log has a random id.
set -eu
mayhap=${MAYHAP:?the command mayhap of version 0.1}
cd "$(dirname "$0")"

# The keys key-0 to key-49 are in the image, key-50 to key-89 (and, where repeats count, key-0 to
# key-9 again) are recorded in the log, by a run that is killed after they are printed.
state() {
	name=$1
	shift
	rm -f "$name" "$name.log" in out
	seq -f 'key-%g' 0 49 | "$mayhap" -q dedup --state "$name" "$@" >/dev/null
	mkfifo in out
	"$mayhap" -q dedup --state "$name" <in >out &
	pid=$!
	exec 3>in 4<out
	{ seq -f 'key-%g' 50 89; seq -f 'key-%g' 0 9; echo key-90; } >&3
	# key-90 is printed with or after the batch before it; key-91 after all that was recorded.
	while read -r line <&4; do [ "$line" != key-90 ] || break; done
	echo key-91 >&3
	read -r line <&4
	kill -9 "$pid"
	wait "$pid" 2>/dev/null || true
	exec 3>&- 4<&-
	rm -f in out
}

state v0.1-plain -n 1000 -p 1e-6
state v0.1-scalable -p 1e-6 --layout scalable -n 16
state v0.1-window --window 60 -p 1e-6
state v0.1-counting --layout counting -n 1000 -p 1e-6
