#!/bin/sh
# Everything of a release, in one folder: packaging/dist.sh [FOLDER], target/artefacts unless given.
#
#   PARTS     of: binaries tar deb rpm crates sdist wheels npm; all unless given
#   TARGETS   of the binaries; x86_64 and aarch64 with musl unless given
#
# Prints a table: artefact, bytes, SHA-256, what was tried with it, result. Ends with 1 if a trial
# failed. Two builds of one commit are the same bytes in any folder. Nothing is published.
# On Debian: apt-get install rpm lintian qemu-user mmdebstrap python3-venv; Node with npm
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
out=${1:-$root/target/artefacts}
mkdir -p "$out"
out=$(cd "$out" && pwd)
parts=${PARTS:-binaries tar deb rpm crates sdist wheels npm}
targets=${TARGETS:-x86_64-unknown-linux-musl aarch64-unknown-linux-musl}
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C
umask 022
target_dir=${CARGO_TARGET_DIR:-$root/target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
rows=$work/rows
: >"$rows"

has() { case " $parts " in *" $1 "*) ;; *) return 1 ;; esac; }
# tried FILE WHAT COMMAND...: runs a trial and notes its row.
tried() {
	file=$1 what=$2
	shift 2
	if "$@" >"$work/log" 2>&1; then result=ok; else
		result=FAILED
		cat "$work/log" >&2
	fi
	printf '| %s | %s | %s | %s | %s |\n' "${file#"$out"/}" "$(stat -c %s "$file")" \
		"$(sha256sum "$file" | cut -c 1-64)" "$what" "$result" >>"$rows"
}
# An archive with nothing of this machine or hour in it: pack FOLDER FILE
pack() {
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
		--format=gnu -C "$(dirname "$1")" -cf - "$(basename "$1")" | gzip -9n >"$2"
}
# How programs of a target run here.
runner() { case $1 in "$(uname -m)"-*) ;; *) echo "qemu-${1%%-*}" ;; esac; }
# The first lines of a list, without repeats, and a filter that is queried: main_job COMMAND [FOLDER]
main_job() {
	filter=${2:-$work}/filter
	printf 'a\nb\na\n' >"$work/lines"
	$1 --version | grep -qF "mayhap $version" || return 1
	[ "$($1 dedup -q <"$work/lines" | tr '\n' ' ')" = 'a b ' ] || return 1
	$1 build -q --force -o "$filter" <"$work/lines" || return 1
	[ "$(printf 'b\nc\n' | $1 check "$filter")" = b ]
}
# On a processor of 2008, whose kernels are the portable ones, and says so.
without_avx2() {
	old="qemu-x86_64 -cpu Nehalem $1"
	main_job "$old" || return 1
	$old bench -n 1000 --seconds 0.1 2>/dev/null | grep -qx 'kernel  *scalar'
}
# Unpacked on a bare Debian 11, of 2021.
on_debian_11() {
	[ -d "$work/bullseye" ] || mmdebstrap --quiet --variant=essential bullseye "$work/bullseye" \
		|| return 1
	tar -xzf "$1" -C "$work/bullseye/opt" || return 1
	main_job "chroot $work/bullseye /opt/$(basename "$1" .tar.gz)/mayhap" /tmp
}
from_archive() {
	mkdir -p "$work/unpacked"
	tar -xzf "$1" -C "$work/unpacked" || return 1
	folder=$work/unpacked/$(basename "$1" .tar.gz)
	[ -s "$folder/LICENSES-THIRD-PARTY.txt" ] && [ -s "$folder/man/man1/mayhap-dedup.1.gz" ] \
		&& [ -s "$folder/completions/_mayhap" ] || return 1
	main_job "$2 $folder/mayhap"
}
# A package has every file of its stage, and no other: same_files RPM STAGE
same_files() {
	rpm -K --nosignature "$1" || return 1
	rpm -qlp --nosignature "$1" | sort >"$work/listed"
	(cd "$2" && find . -type f -printf '/%P\n') | sort >"$work/staged"
	comm -13 "$work/listed" "$work/staged" >"$work/missing"
	cat "$work/missing"
	[ ! -s "$work/missing" ]
}

archive() {
	folder=$work/mayhap-$version-$1
	stage=$work/stage-$1
	sh "$here/stage.sh" "$out/$1/mayhap" "$stage" "$native"
	mkdir -p "$folder/completions" "$folder/service"
	cp "$out/$1/mayhap" "$root"/LICENSE-* "$root/CHANGELOG.md" "$INVENTORY"/* "$folder/"
	cp -r "$stage/usr/share/man" "$folder/"
	cp "$stage"/usr/share/*/*completions/* "$folder/completions/"
	cp "$here/mayhap.service" "$here/mayhap.toml" "$folder/service/"
	pack "$folder" "$out/$(basename "$folder").tar.gz"
}
package_rpm() {
	stage=$work/rpm-$1
	mkdir -p "$stage/var/lib/mayhap" "$stage/usr/share/doc/mayhap" "$stage/usr/lib" \
		"$stage/usr/share/zsh"
	sh "$here/stage.sh" "$out/$1/mayhap" "$stage" "$native"
	mv "$stage/lib/systemd" "$stage/usr/lib/"
	mv "$stage/usr/share/zsh/vendor-completions" "$stage/usr/share/zsh/site-functions"
	rmdir "$stage/lib"
	cp "$root"/LICENSE-* "$root/CHANGELOG.md" "$INVENTORY"/* "$stage/usr/share/doc/mayhap/"
	find "$stage" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
	rpmbuild --quiet --target "${1%%-*}-linux" --define "stage $stage" \
		--define "version_ $version" \
		--define "_topdir $work/rpmbuild-$1" --define "_rpmdir $out" \
		--define '_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' \
		-bb "$here/rpm/mayhap.spec"
}
binaries() {
	if has binaries; then sh "$here/build.sh" "$out" $targets; fi
	native=$out/$(uname -m)-unknown-linux-musl/mayhap
	for target in $targets; do
		INVENTORY=$work/inventory-$target
		export INVENTORY
		python3 "$here/inventory.py" "$target" "$INVENTORY"
		run=$(runner "$target")
		tried "$out/$target/mayhap" 'main job' main_job "$run $out/$target/mayhap"
		case $target in
			x86_64-*)
				tried "$out/$target/mayhap" 'the same without AVX2' \
					without_avx2 "$out/$target/mayhap"
				;;
		esac
		if has tar; then
			archive "$target"
			file=$out/mayhap-$version-$target.tar.gz
			tried "$file" 'unpacked, main job' from_archive "$file" "$run"
			if [ -z "$run" ]; then tried "$file" 'the same on Debian 11' on_debian_11 "$file"; fi
		fi
		case $target in x86_64-*) debian=amd64 ;; *) debian=arm64 ;; esac
		if has deb; then
			sh "$here/deb.sh" "$out/$target/mayhap" $debian "$version" "$out" "$native" >/dev/null
			file=$out/mayhap_${version}_$debian.deb
			tried "$file" lintian lintian --allow-root --fail-on error,warning "$file"
		fi
		if has rpm; then
			package_rpm "$target"
			file=$out/mayhap-$version-1.${target%%-*}.rpm
			tried "$file" 'its files, digests' same_files "$file" "$work/rpm-$target"
		fi
	done
}
crates() {
	cd "$root"
	cargo package --workspace --exclude test-data --exclude test-servers --exclude tidy \
		--no-verify --locked --allow-dirty
	cp "$target_dir"/package/*-"$version".crate "$out/"
	for file in "$out"/*-"$version".crate; do
		tried "$file" 'cargo package' tar -tzf "$file"
	done
	hash=$(sha256sum "$out/mayhap-cli-$version.crate" | cut -c 1-64)
	sed "s/@VERSION@/$version/g; s/@SHA256@/$hash/" "$here/homebrew/mayhap.rb" >"$out/mayhap.rb"
}
python_tools() {
	[ -d "$work/venv" ] || python3 -m venv "$work/venv"
	"$work/venv/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2' twine
}
sdist() {
	python_tools
	PATH="$work/venv/bin:$PATH" sh "$root/bindings/python/sdist.sh" "$out"
	file=$out/mayhap_bloom-$version.tar.gz
	tried "$file" 'twine check' "$work/venv/bin/twine" check --strict "$file"
}
# Installed into an environment of its own, where a filter is filled and kept: wheel_job FILE
wheel_job() {
	rm -rf "$work/wheel"
	python3 -m venv "$work/wheel"
	"$work/wheel/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps "$1" \
		|| return 1
	"$work/wheel/bin/python" -I - <<-'END'
		from mayhap_bloom import Bloom, from_bytes
		keys = [f"key {i}" for i in range(10_000)]
		one = Bloom(10_000, 0.001)
		one.update(keys)
		again = from_bytes(one.to_bytes())
		assert all(key in again for key in keys)
		assert sum(f"other {i}" in again for i in range(10_000)) < 40
	END
}
wheels() {
	python_tools
	sh "$root/bindings/python/wheels.sh" "$out"
	for file in "$out"/mayhap_bloom-"$version"-*.whl; do
		tried "$file" 'twine check' "$work/venv/bin/twine" check --strict "$file"
		case $file in
			*-abi3-manylinux*"$(uname -m)".whl) tried "$file" 'installed, main job' wheel_job "$file" ;;
		esac
	done
}
# Installed from its file, and used as its first page says: npm_job FILE
npm_job() {
	mkdir -p "$work/npm"
	npm install --prefix "$work/npm" --no-audit --no-fund --offline "$1" || return 1
	cat >"$work/npm/main.mjs" <<-'END'
		import { load } from 'mayhap';
		const { Filter } = await load();
		const keys = Array.from({ length: 10_000 }, (_, i) => `key ${i}`);
		const filter = await Filter.create({ items: 10_000, fpp: 0.001 });
		filter.insertMany(keys);
		const again = await Filter.open(filter.encode());
		if (again.containsMany(keys).includes(0)) throw new Error('a key is lost');
	END
	node "$work/npm/main.mjs"
}
npm_package() {
	sh "$root/bindings/wasm/build.sh" >&2
	npm pack --silent --pack-destination "$out" "$root/target/web/package" >&2
	file=$out/mayhap-$version.tgz
	tried "$file" 'installed, main job' npm_job "$file"
}

if has binaries || has tar || has deb || has rpm; then binaries; fi
if has crates; then crates; fi
if has sdist; then sdist; fi
if has wheels; then wheels; fi
if has npm; then npm_package; fi
cd "$out"
find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\0' | sort -z | xargs -0 sha256sum \
	>"$work/sums"
mv "$work/sums" SHA256SUMS
printf '| artefact | bytes | SHA-256 | tried | result |\n|---|--:|---|---|---|\n'
cat "$rows"
if grep -q 'FAILED' "$rows"; then exit 1; fi
