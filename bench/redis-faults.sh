#!/bin/sh
# The number of keys lost, out of a million acknowledged ones, by each fault of a cluster with each
# option: writes bench/results/redis-faults.md. About half an hour; needs redis-server and
# redis-cli.
#
#   bench/redis-faults.sh
#
# MAYHAP_CHAOS_KEYS (1000000) and MAYHAP_CHAOS_ROUNDS (3) make it shorter.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
MAYHAP_CHAOS_KEYS=${MAYHAP_CHAOS_KEYS:-1000000}
MAYHAP_CHAOS_ROUNDS=${MAYHAP_CHAOS_ROUNDS:-3}
export MAYHAP_CHAOS_KEYS MAYHAP_CHAOS_ROUNDS LC_ALL=C
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
trap 'exit 1' HUP INT TERM
commit=$(git rev-parse --short=12 HEAD)
git diff --quiet HEAD || commit="$commit with local changes"
load=$(cat /proc/loadavg)
status=0
${CARGO:-cargo} test --release --locked -p mayhap-redis --test it -- --ignored --nocapture \
    --test-threads=1 chaos::at_length > "$rows" || status=$?
{
    cat << END
# Faults of a cluster

Made by \`make chaos\`; \`docs/redis.md#faults-of-a-cluster\` says what follows from it.
Six nodes of $(redis-server --version | sed 's/ sha.*//') on loopback, cluster-node-timeout 2 s;
four tasks insert batches of 1,000 keys, at least $MAYHAP_CHAOS_KEYS in all, while the fault happens
$MAYHAP_CHAOS_ROUNDS times. WAIT is \`wait_replicas\` 1 within 500 ms. All acknowledged keys are asked
for at the end. The slowest call is one batch.

- date: $(date -u '+%Y-%m-%d %H:%M UTC')
- commit: $commit
- CPU: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) CPUs
- load before the run: $load

| fault | AOF | WAIT | acknowledged | lost | slowest call | unsure | refusals | errors |
|---|---|---|--:|--:|--:|--:|---|---|
END
    # The first row of a test follows its name.
    sed -n 's/^test chaos[^|]*//; /^| /p' "$rows"
} > bench/results/redis-faults.md.new
mv bench/results/redis-faults.md.new bench/results/redis-faults.md
exit "$status"
