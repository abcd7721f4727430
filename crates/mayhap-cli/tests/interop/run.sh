#!/bin/sh
# Filters of other systems that the command creates, opened by the systems themselves:
# tests/interop/run.sh
#
# The command builds a filter of 10,000 keys; the system opens it, finds all of them and adds 1,000
# more; the command opens the system's file and finds all 11,000. Each missing tool is named by a
# SKIPPED line. bits-and-blooms, RedisBloom and Redisson are compared by golden files:
# tests/it/created.rs.
#
#   GUAVA_JAR   a Guava jar (default: Debian's)
#   SPARK_JARS  spark-sketch and spark-common-utils jars, colon-separated (default: those that the
#               script of mayhap-formats has downloaded with SPARK=1)
#   MAYHAP      the command; built if it is not given
set -eu
cd "$(dirname "$0")"
here=$(pwd)
repository=$(cd ../../../.. && pwd)
target=${CARGO_TARGET_DIR:-$repository/target}
work=$target/interop
formats=$repository/crates/mayhap-formats
files=$work/created
rm -rf "$files"
mkdir -p "$files" "$work/created-classes"

if [ -z "${MAYHAP:-}" ]; then
    cargo build --quiet --locked --manifest-path "$repository/crates/mayhap-cli/Cargo.toml"
fi
cargo build --quiet --release --locked --manifest-path "$formats/Cargo.toml" --example interop_others
mayhap=${MAYHAP:-$target/debug/mayhap}
cd "$files"
# Without a common prefix, after which BloomFileter hashes most numbers to the same value.
keys() {
    awk -v from="$1" -v to="$2" 'BEGIN { for (i = from; i < to; i++)
        printf "%06d-%d\n", (i * 48271) % 999983, i }'
}
keys 0 10000 >members
keys 10000 11000 >more
keys 20000 30000 >absent
for list in members more absent; do sed 's/.*-//' "$list" >"$list.long"; done

# name, suffix of the lists, options: the command creates the filter
build() {
    name=$1 lists=$2
    shift 2
    "$mayhap" build -q -n 11000 -p 1% -o "$name" "$@" "members$lists"
}

# name, suffix of the lists, options: the command opens the system's file NAME.theirs, and found
# NAME.found of the members in
read_here() {
    name=$1 lists=$2
    shift 2
    found=$(cat "members$lists" "more$lists" | "$mayhap" check "$@" "$name.theirs" 2>said | wc -l)
    others=$("$mayhap" check "$@" "$name.theirs" "absent$lists" 2>said | wc -l)
    there=$(cat "$name.found")
    echo "interop created $name: $there of 10000 found there, 1000 added there;" \
        "$found of 11000 found here, and $others of 10000 absent ones"
    [ "$there" = 10000 ] && [ "$found" = 11000 ] && [ "$others" -lt 300 ]
}

# name, class path, class: the system opens NAME, writes NAME.found and NAME.theirs
java_opens() {
    name=$1 path=$2 class=$3 lists=$4
    classes=$work/created-classes
    javac -nowarn -encoding UTF-8 -cp "$classes:$path" -d "$classes" "$here/Opened.java" \
        "$here/$class.java"
    java -cp "$classes:$path" "$class" "$name" "members$lists" "more$lists"
}

if command -v javac >/dev/null 2>&1; then
    guava=${GUAVA_JAR:-/usr/share/java/guava.jar}
    if [ -e "$guava" ]; then
        build guava .long --format guava --key-type long
        java_opens guava "$guava" OpenGuava .long
        read_here guava .long --format guava --key-type long
    else
        echo 'SKIPPED interop created guava: no Guava jar (apt-get install libguava-java)'
    fi
    spark=${SPARK_JARS:-$(ls "$work"/jars/*.jar 2>/dev/null | tr '\n' ':')}
    if [ -n "$spark" ]; then
        for version in 1 2; do
            seed=$([ $version = 1 ] || echo '--seed 42')
            build spark$version '' --format spark $seed
            java_opens spark$version "$spark" OpenSpark ''
            read_here spark$version '' --format spark
        done
    else
        echo 'SKIPPED interop created spark: no jars (SPARK=1 make test-interop downloads them)'
    fi
    build magnuss '' --format magnuss
    java_opens magnuss . OpenMagnus ''
    read_here magnuss '' --format magnuss --bits 111088 --hashes 7
    # The preset SMALL: 2.5 %, if its hash were a good one.
    "$mayhap" build -q -n 11000 -p 3% --format bloomfileter -o bloomfileter members
    mkdir -p "$work/created-classes"
    javac -nowarn -encoding UTF-8 -d "$work/created-classes" \
        "$formats/tests/interop/Keys.java" "$formats/tests/interop/BloomFileter.java"
    java_opens bloomfileter . OpenBloomFileter ''
    read_here bloomfileter '' --format bloomfileter
else
    echo 'SKIPPED interop created guava, spark, magnuss, bloomfileter: no javac'
fi

if command -v bloom >/dev/null 2>&1; then
    build dcso '' --format dcso
    bloom check dcso <members | wc -l >dcso.found
    cp dcso dcso.theirs
    bloom insert dcso.theirs <more
    read_here dcso '' --format dcso
else
    echo 'SKIPPED interop created dcso: no `bloom` (apt-get install golang-github-dcso-bloom-cli)'
fi

build parquet '' --format parquet-sbbf
"$target/release/examples/interop_others" sbbf parquet members more
read_here parquet '' --format parquet-sbbf

# folder, packages: a Python with them, as the script of mayhap-formats has left it
python_with() {
    [ -x "$work/$1/bin/python" ] || python3 -m venv "$work/$1" || return 1
    folder=$1
    shift
    "$work/$folder/bin/python" -m pip install --quiet "$@" >"$work/pip.log" 2>&1
}
if python_with venv pyarrow rbloom pybloomfiltermmap3 'pybloom_live>=4'; then
    build rbloom '' --format rbloom
    build pybloom-live4 '' --format pybloom-live
    build pybloomfiltermmap '' --format pybloomfiltermmap
    for name in rbloom pybloom-live4 pybloomfiltermmap; do
        "$work/venv/bin/python" "$here/opened.py" "$name"
        read_here "$name" '' --format "$name"
    done
else
    echo 'SKIPPED interop created python: rbloom, pybloomfiltermmap3, pybloom_live cannot be installed'
fi
if python_with venv-pybloom3 'pybloom_live<4'; then
    build pybloom-live3 '' --format pybloom-live3
    "$work/venv-pybloom3/bin/python" "$here/opened.py" pybloom-live3
    read_here pybloom-live3 '' --format pybloom-live3
else
    echo 'SKIPPED interop created pybloom_live 3: it cannot be installed'
fi
