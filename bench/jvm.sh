#!/bin/sh
# Guava's and Spark's filters, queried by the JVM's own classes and by ours: the same files and
# keys.
#
#   bench/jvm.sh [ROUNDS]        5 rounds by default; writes bench/results/jvm.md
#
# Needs a JDK. GUAVA_JAR is Debian's by default (apt-get install libguava-java); SPARK_JARS are
# spark-sketch and spark-common-utils, colon-separated, as `make test-interop SPARK=1` leaves them
# in target/interop/jars. A library that is missing is left out. ITEMS is the number of keys in the
# filters.
set -eu
cd "$(dirname "$0")/.."
rounds=${1:-5}
items=${ITEMS:-10k 1M 10M}
root_target=${CARGO_TARGET_DIR:-$PWD/target}
bench_target=${CARGO_TARGET_DIR:-$PWD/bench/target}
guava=${GUAVA_JAR:-/usr/share/java/guava.jar}
spark=${SPARK_JARS:-$(echo "$root_target"/interop/jars/*.jar | tr ' ' ':')}

cargo build --release --manifest-path bench/Cargo.toml --bin jvm
classes=$bench_target/jvm-classes
mkdir -p "$classes" bench/results
javac -nowarn -d "$classes" bench/jvm/Jvm.java
set --
for system in guava spark; do
    eval jars=\$$system
    if [ -e "${jars%%:*}" ]; then
        name=$(echo "$system" | sed 's/^./\U&/')
        javac -nowarn -cp "$classes:$jars" -d "$classes" "bench/jvm/$name.java"
        set -- "$@" "--$system" "$classes:$jars"
    else
        echo "$system is missing and left out: see the head of this script" >&2
    fi
done
for count in $items; do
    set -- "$@" --items "$count"
done
"$bench_target/release/jvm" --rounds "$rounds" --out bench/results "$@"
