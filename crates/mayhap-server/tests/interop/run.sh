#!/bin/sh
# redis-py, node-redis, ioredis, valkey-cli and schemathesis against `mayhap serve`, and the former
# two against one in front of a cluster of three masters: tests/interop/run.sh
#
# redis-cli and the Rust crate are in `make check` (crates/mayhap-cli/tests/clients). The snippets of
# docs/server.md run here too. What is missing is named by a SKIPPED line. MAYHAP is the command,
# CLUSTER the example of test-servers; built if they are not given.
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
servers=
# The cluster runs until its input ends, which this script holds, and removes its folders then.
finish() {
    # shellcheck disable=SC2086  # a list of numbers
    kill $servers 2>/dev/null || true
    exec 9>&-
    wait
}
trap finish EXIT

# name, options: starts a server, and sets port
serve() {
    name=$1
    shift
    "$mayhap" serve --port 0 "$@" 2>"$work/run/$name" 9>&- &
    server=$!
    servers="$servers $server"
    port=
    while [ -z "$port" ]; do
        kill -0 $server || { cat "$work/run/$name"; exit 1; }
        sleep 0.1
        port=$(sed -n 's/.*Redis clients: 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/run/$name")
    done
}

# Starts a cluster and a server in front of it, and sets front and nodes.
serve_store() {
    if [ -z "${CLUSTER:-}" ]; then
        cargo build --quiet --locked --manifest-path "$repository/Cargo.toml" -p test-servers \
            --example cluster
    fi
    mkfifo "$work/run/end"
    "${CLUSTER:-$target/debug/examples/cluster}" <"$work/run/end" >"$work/run/nodes" \
        2>"$work/run/cluster" &
    cluster=$!
    exec 9>"$work/run/end"
    while [ ! -s "$work/run/nodes" ]; do
        kill -0 $cluster || { cat "$work/run/cluster"; exit 1; }
        sleep 0.1
    done
    nodes=$(cat "$work/run/nodes")
    serve front --store "redis+cluster://127.0.0.1:${nodes%% *}"
    front=$port
}

front=
if command -v redis-server >/dev/null 2>&1 && command -v redis-cli >/dev/null 2>&1; then
    serve_store
else
    echo 'SKIPPED interop clients of a front: no redis-server (apt-get install redis-server)'
fi
serve own --data "$work/run/data"

# kind of block: the first such snippet of the page, for this port
snippet() {
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$repository/docs/server.md" | sed "/^\`\`\`/d; s/6380/$port/g"
}

# a package of requirements.txt, in the version that stands there
pip_install() {
    "$work/venv/bin/python" -m pip install --quiet "$(grep "^$1==" "$here/requirements.txt")" \
        >"$work/pip-$1.log" 2>&1
}

# redis-py's own Bloom tests against both servers
suites() {
    if pip_install pytest && pip_install pytest-asyncio; then
        sh "$here/bloom_suite.sh" "$work/venv/bin/python" "$work/suite" 'a server' "$port"
        # shellcheck disable=SC2086  # a list of numbers
        [ -z "$front" ] || sh "$here/bloom_suite.sh" "$work/venv/bin/python" "$work/suite" \
            'a front of a cluster' "$front" $nodes
    else
        echo 'SKIPPED interop suite of redis-py: pytest cannot be installed'
    fi
}

if [ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"; then
    if pip_install redis; then
        "$work/venv/bin/python" "$here/clients.py" "$port"
        [ -z "$front" ] || "$work/venv/bin/python" "$here/store_clients.py" "$front" "$nodes"
        suites
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
    [ -z "$front" ] || node "$here/store_clients.mjs" "$front"
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
