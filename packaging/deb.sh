#!/bin/sh
# A Debian package: packaging/deb.sh BINARY ARCHITECTURE VERSION FOLDER [RUN] writes
# FOLDER/mayhap_VERSION_ARCHITECTURE.deb; RUN as of stage.sh. INVENTORY is the folder that
# inventory.py has written, SOURCE_DATE_EPOCH the time of all files, COMPRESSION xz unless given.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
binary=$1 architecture=$2 version=$3 out=$4 run=${5:-$1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
root=$work/root
umask 022
sh "$here/stage.sh" "$binary" "$root" "$run"

doc=$root/usr/share/doc/mayhap
mkdir -p "$doc" "$root/usr/share/lintian/overrides" "$root/DEBIAN"
cp "$here/deb/copyright" "$INVENTORY/mayhap.cdx.json" "$doc/"
gzip -9nc "$INVENTORY/LICENSES-THIRD-PARTY.txt" >"$doc/LICENSES-THIRD-PARTY.txt.gz"
date=$(date --utc --date="@$SOURCE_DATE_EPOCH" --rfc-email)
maintainer=$(sed -n 's/^Maintainer: //p' "$here/deb/control")
{
	printf 'mayhap (%s) unstable; urgency=medium\n\n' "$version"
	printf '  * See CHANGELOG.md.gz.\n\n -- %s  %s\n' "$maintainer" "$date"
} | gzip -9n >"$doc/changelog.gz"
gzip -9nc "$here/../CHANGELOG.md" >"$doc/CHANGELOG.md.gz"
cp "$here/deb/overrides" "$root/usr/share/lintian/overrides/mayhap"

cp "$here/deb/postinst" "$here/deb/prerm" "$here/deb/postrm" "$root/DEBIAN/"
chmod 0755 "$root"/DEBIAN/*
echo /etc/mayhap/mayhap.toml >"$root/DEBIAN/conffiles"
(cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | LC_ALL=C sort -z \
	| xargs -0 md5sum) >"$root/DEBIAN/md5sums"
sed "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/
	s/@KIB@/$(du -sk --apparent-size "$root" | cut -f 1)/" "$here/deb/control" \
	>"$root/DEBIAN/control"
mkdir -p "$out"
dpkg-deb --root-owner-group -Z"${COMPRESSION:-xz}" --build "$root" "$out/mayhap_${version}_$architecture.deb"
