#!/bin/sh
# Requests that openapi.json allows, and such that it does not, against `mayhap serve`:
# tests/interop/openapi.sh MAYHAP SCHEMATHESIS WORK
#
# The cases are those of one seed, so that a run is repeated by the next; a finding is one that the
# description and the server do not agree on.
set -eu
mayhap=$1 schemathesis=$2 work=$3
here=$(cd "$(dirname "$0")" && pwd)
description=$here/../../src/http/openapi.json
mkdir -p "$work"
cd "$work"
"$mayhap" serve --port 0 --http 0 --max-memory 512MiB 2>said &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
http=
while [ -z "$http" ]; do
    kill -0 $server || { cat said; exit 1; }
    sleep 0.1
    http=$(sed -n 's/.*\(http:\/\/127\.0\.0\.1:[0-9]*\).*/\1/p' said | head -n 1)
done
"$schemathesis" --config-file "$here/schemathesis.toml" run "$description" --url "$http" --seed 7 --workers 1 \
    --generation-database none >findings 2>&1 || { cat findings; exit 1; }
# A run of nothing finds nothing.
cases=$(sed -n 's/.* \([0-9]*\) generated.*/\1/p' findings | head -n 1)
[ "${cases:-0}" -ge 500 ] || { cat findings; echo "only ${cases:-0} cases"; exit 1; }
kill -0 $server
echo "schemathesis: $cases cases, no finding"
