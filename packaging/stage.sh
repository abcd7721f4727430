#!/bin/sh
# What every package of the command has, below a folder: packaging/stage.sh BINARY FOLDER [RUN]
#
#   RUN   the same version for this machine, where BINARY is for another
set -eu
here=$(cd "$(dirname "$0")" && pwd)
binary=$1 root=$2 run=${3:-$1}

install -D -m 0755 "$binary" "$root/usr/bin/mayhap"
"$run" man --quiet --out "$root/usr/share/man/man1"
gzip -9n "$root"/usr/share/man/man1/*.1
chmod 0644 "$root"/usr/share/man/man1/*
completion() {
	mkdir -p "$root/usr/share/$2"
	"$run" completions "$1" >"$root/usr/share/$2/$3"
	chmod 0644 "$root/usr/share/$2/$3"
}
completion bash bash-completion/completions mayhap
completion fish fish/vendor_completions.d mayhap.fish
completion zsh zsh/vendor-completions _mayhap
install -D -m 0644 "$here/mayhap.service" "$root/lib/systemd/system/mayhap.service"
install -D -m 0644 "$here/mayhap.toml" "$root/etc/mayhap/mayhap.toml"
