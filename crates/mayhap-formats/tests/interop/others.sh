#!/bin/sh
# Exchanges filters with DCSO's `bloom`, pyarrow, rbloom, pybloomfiltermmap3 and pybloom_live, both
# ways: tests/interop/others.sh
#
# Each side builds the same filters from the same 10,000 keys; the files must be the same bytes, and
# each side must give the other's answers for these keys and 10,000 others. pyarrow writes a file
# and we answer; it has no way to query a filter alone. RedisBloom needs a server with its module,
# which no registry has. Each missing tool is named by a SKIPPED line.
set -eu
cd "$(dirname "$0")"
here=$(pwd)
repository=$(cd ../../../.. && pwd)
work=${CARGO_TARGET_DIR:-$repository/target}/interop
files=$work/others
rm -rf "$files"
mkdir -p "$files"

cargo build --quiet --release --locked --manifest-path ../../Cargo.toml --example interop_others
ours=${CARGO_TARGET_DIR:-$repository/target}/release/examples/interop_others
"$ours" write "$files"

if ! command -v bloom >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get install -y --no-install-recommends golang-github-dcso-bloom-cli >"$work/apt.log" 2>&1 || true
fi
if command -v bloom >/dev/null 2>&1; then
    # `check` prints the present keys.
    bloom create -n 10000 -p 0.01 "$files/theirs.dcso"
    bloom insert "$files/theirs.dcso" <"$files/members"
    bloom --gzip create -n 10000 -p 0.01 "$files/theirs.dcso.gz"
    bloom --gzip insert "$files/theirs.dcso.gz" <"$files/members"
    for side in ours theirs; do
        bloom check "$files/$side.dcso" <"$files/keys" >"$files/$side.dcso.found"
        bloom --gzip check "$files/$side.dcso.gz" <"$files/keys" >"$files/$side.dcso.gz.found"
    done
else
    echo 'SKIPPED interop dcso: no `bloom` (apt-get install golang-github-dcso-bloom-cli)'
fi

# folder, packages: a Python with them, if the package index can be reached
python_with() {
    [ -x "$work/$1/bin/python" ] || python3 -m venv "$work/$1" || return 1
    folder=$1
    shift
    "$work/$folder/bin/python" -m pip install --quiet "$@" >"$work/pip.log" 2>&1
}
if python_with venv pyarrow rbloom pybloomfiltermmap3 'pybloom_live>=4'; then
    "$work/venv/bin/python" "$here/others.py" "$files"
else
    echo 'SKIPPED interop python: pyarrow, rbloom, pybloomfiltermmap3, pybloom_live cannot be installed'
fi
if python_with venv-pybloom3 'pybloom_live<4'; then
    "$work/venv-pybloom3/bin/python" "$here/others.py" "$files"
else
    echo 'SKIPPED interop pybloom_live 3: it cannot be installed'
fi

"$ours" check "$files"
