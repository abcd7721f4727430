#!/bin/sh
# redis-py's own Bloom tests against a server, in both versions of the protocol:
# tests/interop/bloom_suite.sh PYTHON WORK NAME PORT [PORT OF A NODE …]
#
# The tests are those of the source distribution of the redis-py that is installed; bloom_suite.py
# lists what is excepted. The nodes are those of the store, if the server is in front of one.
set -eu
python=$1 work=$2 name=$3 port=$4
shift 4
here=$(cd "$(dirname "$0")" && pwd)
version=$("$python" -c 'import redis; print(redis.__version__)')
mkdir -p "$work"
if [ ! -d "$work/redis-$version" ]; then
    "$python" -m pip download --quiet --no-deps --no-binary redis --dest "$work" "redis==$version" \
        >"$work/download" 2>&1 || { echo 'SKIPPED interop suite of redis-py: no source'; exit 0; }
    tar -xzf "$work/redis-$version.tar.gz" -C "$work"
fi
cd "$work/redis-$version"
for protocol in 2 3; do
    # Of their own settings only those that the plugins here know.
    STORE=$* PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q --tb=native \
        -p bloom_suite -p no:cacheprovider --override-ini filterwarnings=ignore \
        --redis-url "redis://127.0.0.1:$port" --redis-mod-url "redis://127.0.0.1:$port" \
        --protocol $protocol tests/test_bloom.py tests/test_asyncio/test_bloom.py \
        >"$work/found" 2>&1 || { cat "$work/found"; exit 1; }
    echo "redis-py $version's Bloom tests, $name, RESP$protocol: $(tail -n 1 "$work/found")"
done
