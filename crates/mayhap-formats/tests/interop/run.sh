#!/bin/sh
# Exchanges filters with the JVM's own libraries, both ways: tests/interop/run.sh
#
# Each side builds the same filters from the same keys; the files must be the same bytes, and each
# side must give the other's answers for 10,000 keys. Each missing tool is named by a SKIPPED line.
#
#   GUAVA_JAR   a Guava jar (default: Debian's; apt installs libguava-java and a JDK for root)
#   SPARK_JARS  spark-sketch and spark-common-utils jars, colon-separated
#   SPARK=1     take them out of PyPI's pyspark (a download of 450 MB, kept in the target folder)
set -eu
cd "$(dirname "$0")"
here=$(pwd)
repository=$(cd ../../../.. && pwd)
work=${CARGO_TARGET_DIR:-$repository/target}/interop
mkdir -p "$work/classes" "$work/files"
rm -f "$work/files"/*

if ! command -v javac >/dev/null 2>&1 || [ ! -e "${GUAVA_JAR:-/usr/share/java/guava.jar}" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        apt-get install -y --no-install-recommends default-jdk-headless libguava-java \
            >"$work/apt.log" 2>&1 || true
    fi
fi
if ! command -v javac >/dev/null 2>&1; then
    echo 'SKIPPED interop: no javac (apt-get install default-jdk-headless)'
    exit 0
fi
cargo build --quiet --release --locked --manifest-path ../../Cargo.toml --example interop
ours=${CARGO_TARGET_DIR:-$repository/target}/release/examples/interop

# name, class path of the library
exchange() {
    javac -nowarn -encoding UTF-8 -cp "$2" -d "$work/classes" "$here/Keys.java" "$here/$1.java"
    name=$(echo "$1" | tr 'A-Z' 'a-z')
    java -cp "$work/classes:$2" "$1" write "$work/files"
    "$ours" "$name" "$work/files"
    java -cp "$work/classes:$2" "$1" read "$work/files"
}

guava=${GUAVA_JAR:-/usr/share/java/guava.jar}
if [ -e "$guava" ]; then
    exchange Guava "$guava"
else
    echo 'SKIPPED interop guava: no Guava jar (apt-get install libguava-java, or set GUAVA_JAR)'
fi

exchange BloomFileter "$work/classes"

spark=${SPARK_JARS:-}
if [ -z "$spark" ] && [ "${SPARK:-0}" = 1 ]; then
    if [ -z "$(ls "$work"/jars/spark-sketch*.jar 2>/dev/null)" ]; then
        mkdir -p "$work/pip" "$work/jars"
        python3 -m pip download --quiet --no-deps --dest "$work/pip" 'pyspark>=4.1'
        for name in spark-sketch spark-common-utils; do
            tar -xzf "$work"/pip/pyspark-*.tar.gz -C "$work/jars" --wildcards "*/$name*.jar" \
                --strip-components 3
        done
        rm -r "$work/pip"
    fi
    spark=$(echo "$work"/jars/*.jar | tr ' ' ':')
fi
if [ -n "$spark" ]; then
    exchange Spark "$spark"
else
    echo 'SKIPPED interop spark: set SPARK_JARS, or SPARK=1 to download them (450 MB)'
fi
