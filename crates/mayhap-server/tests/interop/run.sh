#!/bin/sh
# redis-py, node-redis, ioredis, valkey-cli and schemathesis against `mayhap serve`: tests/interop/run.sh
#
# redis-cli and the Rust crate are in `make check` (crates/mayhap-cli/tests/clients). The snippets of
# docs/server.md run here too. What is missing is named by a SKIPPED line. MAYHAP is the command,
# built if it is not given.
set -eu
cd "$(dirname "$0")"
here=$(pwd)
repository=$(cd ../../../.. && pwd)
target=${CARGO_TARGET_DIR:-$repository/target}
work=$target/interop/server
rm -rf "$work/run"
mkdir -p "$work/run" "$work/node"

if [ -z "${MAYHAP:-}" ]; then
    cargo build --quiet --locked --manifest-path "$repository/crates/mayhap-cli/Cargo.toml"
fi
mayhap=${MAYHAP:-$target/debug/mayhap}
"$mayhap" serve --data "$work/run/data" --port 0 2>"$work/run/said" &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
port=
while [ -z "$port" ]; do
    kill -0 $server || { cat "$work/run/said"; exit 1; }
    sleep 0.1
    port=$(sed -n 's/.*Redis clients: 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/run/said")
done

# kind of block: the first such snippet of the page, for this port
snippet() {
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$repository/docs/server.md" | sed "/^\`\`\`/d; s/6380/$port/g"
}

# a package of requirements.txt, in the version that stands there
pip_install() {
    "$work/venv/bin/python" -m pip install --quiet "$(grep "^$1==" "$here/requirements.txt")" \
        >"$work/pip-$1.log" 2>&1
}

if [ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"; then
    if pip_install redis; then
        "$work/venv/bin/python" "$here/clients.py" "$port"
        snippet python >"$work/run/snippet.py"
        "$work/venv/bin/python" "$work/run/snippet.py"
    else
        echo 'SKIPPED interop redis-py: it cannot be installed'
    fi
    if pip_install schemathesis; then
        sh "$here/openapi.sh" "$mayhap" "$work/venv/bin/schemathesis" "$work/run/openapi"
    else
        echo 'SKIPPED interop schemathesis: it cannot be installed'
    fi
else
    echo 'SKIPPED interop redis-py, schemathesis: no python3 with venv'
fi

cd "$work/node"
[ -e package.json ] || echo '{"private": true}' >package.json
if ! command -v npm >/dev/null 2>&1; then
    echo 'SKIPPED interop node-redis, ioredis: no npm (apt-get install nodejs npm)'
elif npm install --silent redis@5.12.1 ioredis@5.11.1 >npm.log 2>&1; then
    node "$here/clients.mjs" "$port"
    snippet js >snippet.mjs
    node snippet.mjs
else
    echo 'SKIPPED interop node-redis, ioredis: they cannot be installed'
fi

if command -v valkey-cli >/dev/null 2>&1; then
    valkey-cli -p "$port" flushall
    answers=$(printf 'BF.RESERVE f 0.01 1000\nBF.ADD f a\nBF.MEXISTS f a b\n' | valkey-cli -p "$port" -3)
    # Some versions write (true).
    [ "$(echo "$answers" | tr -d '()' | tr '\n' ' ')" = 'OK true true false ' ] || { echo "$answers"; exit 1; }
    echo 'valkey-cli'
else
    echo 'SKIPPED interop valkey-cli: not here (apt-get install valkey-tools)'
fi
