#!/bin/sh
# What command-line tools can do, found out by running each of them: prints docs/compare.md.
#
#   bench/compare.sh > docs/compare.md
#
# Peers that are missing are installed as by cli.sh. Who is missing anyhow has the cells "not run".
# A cell is what happened here, not what a manual says: a feature that a tool does not have is tried
# under the names that others give it. Takes about two minutes.
# shellcheck disable=SC2015  # `a && yes || no` is what is meant
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
[ -n "${MAYHAP:-}" ] || cargo build -q --release --manifest-path "$root/Cargo.toml" -p mayhap-cli
mayhap=${MAYHAP:-$target/release/mayhap}
PATH=$(dirname "$mayhap"):$PATH:$target/peers/bin
export PATH LC_ALL=C RUST_BACKTRACE=0
for peer in huniq xuniq runiq anewer poppy-filters; do
    command -v "${peer%-filters}" > /dev/null ||
        cargo install -q --root "$target/peers" "$peer" >&2
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
# runiq has a Bloom filter of its own.
mkdir "$work/bin"
printf '#!/bin/sh\n[ $# = 0 ] && set -- -\nexec runiq --filter compact "$@"\n' > "$work/bin/runiq-compact"
chmod +x "$work/bin/runiq-compact"
PATH=$PATH:$work/bin
# The shell's own notices of children that a signal ended.
exec 2> "$work/notices"

yes() { echo yes; }
no() { echo "${1:-no}"; }
lines() { wc -l | tr -d ' '; }
# The first line of what a command says when it fails, in quotes.
quoted() {
    grep -v '^ *$' | head -1 | tr '|`' '/ ' | cut -c1-130 |
        sed 's/ ([0-9]*) panicked at.*/ panicked/; s/^/“/; s/ *$/”/'
}
ms() { echo $(($(date +%s%N) / 1000000)); }
# Under | head -1: fine if the tool says nothing and ends well, or by the signal.
under_head() {
    { { "$@" 2> said; echo $? > code; } | head -1 > /dev/null; } 3>&1
    code=$(cat code)
    if [ -s said ] || { [ "$code" != 0 ] && [ "$code" != 141 ]; }; then
        no "no: exit $code, $(quoted < said)"
    else yes; fi
}

# ---- Filter files: the same three acts for each tool.
make() { # tool file n p
    case $1 in
        mayhap) mayhap create -q "$2" -n "$3" -p "$4" ;;
        bloom) bloom create -n "$3" -p "$4" "$2" ;;
        poppy) poppy create -c "$3" -p "$4" "$2" ;;
    esac
}
insert() { # tool file [flags]
    tool=$1 file=$2
    shift 2
    case $tool in
        mayhap) mayhap add -q "$@" "$file" ;;
        bloom) bloom "$@" insert "$file" ;;
        poppy) poppy -j 1 insert "$@" "$file" ;;
    esac
}
check() { # tool file [flags]
    tool=$1 file=$2
    shift 2
    case $tool in
        mayhap) mayhap check "$@" "$file" ;;
        bloom) bloom "$@" check "$file" ;;
        poppy) poppy -j 1 check "$@" "$file" ;;
    esac
}
show() {
    case $1 in
        mayhap) mayhap info "$2" ;;
        bloom | poppy) "$1" show "$2" ;;
    esac
}
small() { make "$1" f 1000 1e-6 && seq 1 500 | insert "$1" f; }
# Whether a key is found: tool file key [flags]
holds() {
    tool_=$1 file_=$2 key_=$3
    shift 3
    [ "$(printf '%s\n' "$key_" | check "$tool_" "$file_" "$@" | lines)" = 1 ]
}

f_exit() {
    small "$1"
    echo 7 | check "$1" f > /dev/null; hit=$?
    echo absent | check "$1" f > /dev/null; miss=$?
    [ $hit != $miss ] && echo "yes: $hit and $miss" || no "no: $hit and $miss"
}
f_overfill() {
    make "$1" f 100 1e-3
    seq 1 5000 | insert "$1" f > said 2>&1
    code=$?
    [ -s said ] && echo "exit $code, $(quoted < said)" || echo "exit $code, silent"
}
f_truth() {
    make "$1" f 100 1e-3
    [ "$1" = mayhap ] && flag=--overfill || flag=
    # shellcheck disable=SC2086
    seq 1 5000 | insert "$1" f $flag > said 2>&1 || { no "refuses to overfill"; return; }
    told=$(show "$1" f | grep -iE 'rate now|FP prob|fpp' | sed -E 's/.*(:|now)[[:space:]]*//' | head -1)
    echo "says $told, is $(($(seq 100001 110000 | check "$1" f | lines) / 100)) %"
}
f_bytes() {
    make "$1" f 1000 1e-6
    printf '\377\376\n' > key
    insert "$1" f < key > said 2>&1 || { no "no: exit $?, $(quoted < said)"; return; }
    [ "$(check "$1" f < key | lines)" = 1 ] && [ "$(printf '\377\n' | check "$1" f | lines)" = 0 ] &&
        yes || no
}
f_head() {
    make "$1" f 200000 1e-3 && seq 1 200000 | insert "$1" f && seq 1 200000 > in
    case $1 in
        mayhap) under_head mayhap check f in ;;
        bloom) under_head sh -c 'bloom check f < in' ;;
        poppy) under_head poppy -j 1 check f in ;;
    esac
}
f_nul() {
    for flag in -0 --null -z; do
        rm -f f
        case $1 in
            mayhap) mayhap create -q f -n 100 -p 1e-6 $flag ;;
            *) make "$1" f 100 1e-6 ;;
        esac
        printf 'a\nb\0c\0' | insert "$1" f $flag > /dev/null && [ "$(printf 'c\0' | check "$1" f $flag | tr '\0' '\n')" = c ] &&
            { yes; return; }
    done
    no
}
f_packed() { # tool compressor
    make "$1" f 1000 1e-6
    seq 1 500 | $2 > in
    insert "$1" f < in
    holds "$1" f 7 && yes || no
}
f_gz() { f_packed "$1" gzip; }
f_zst() { f_packed "$1" "zstd -q"; }
f_wrong() {
    seq 1 100 > in
    echo 7 | check "$1" in > said 2>&1
    echo "exit $?, $(sed -n '1p' said | quoted)$(grep -q hint said && echo ', and a hint')"
}
f_cut() {
    small "$1"
    head -c "$(($(wc -c < f) - 100))" f > g
    echo 7 | check "$1" g > /dev/null && no || yes
}
f_flip() {
    small "$1"
    at=$(($(wc -c < f) / 2))
    { head -c $at f; printf '\252'; tail -c +$((at + 2)) f; } > g
    cmp -s f g && { head -c $at f; printf '\125'; tail -c +$((at + 2)) f; } > g
    show "$1" g > /dev/null && no || yes
}
f_rate() { # tool p absent format
    make "$1" f 100000 "$2"
    seq -f "$4" 1 100000 | insert "$1" f
    found=$(seq -f "$4" 1000001 $((1000000 + $3)) | check "$1" f | lines)
    awk -v found="$found" -v asked="$3" 'BEGIN { printf "%.1e (%d of %d)\n", found / asked, found, asked }'
}
f_rate3() { f_rate "$1" 1e-3 1000000 'https://example.org/%.0f/index'; }
f_rate6() { f_rate "$1" 1e-6 10000000 'https://example.org/%.0f/index'; }
f_numbers() { f_rate "$1" 1e-6 10000000 '%.0f'; }
f_size() {
    make "$1" f 1000000 1e-3
    awk -v bytes="$(wc -c < f)" 'BEGIN { printf "%.1f\n", bytes * 8 / 1e6 }'
}
f_several() {
    small "$1"
    make "$1" g 1000 1e-6
    echo other | insert "$1" g
    case $1 in
        mayhap) printf 'other\n7\n' | mayhap check -f f -f g ;;
        bloom | poppy) printf 'other\n7\n' | "$1" check f g ;;
    esac > out 2> /dev/null
    [ "$(lines < out)" = 2 ] && yes || no
}
f_kept() {
    case $1 in
        mayhap) mayhap create -q -0 f -n 100 -p 1e-6 ;;
        bloom) bloom -0 create -n 100 -p 1e-6 f ;;
        poppy) poppy create -0 -c 100 -p 1e-6 f ;;
    esac > /dev/null
    printf 'a\nb\0' | insert "$1" f
    [ "$(printf 'a\nb\0' | check "$1" f | od -An -c | tr -d ' ')" = 'a\nb\0' ] && yes || no
}
f_cr() {
    make "$1" f 100 1e-6
    printf 'a\r\n' | insert "$1" f
    holds "$1" f a && { echo always; return; }
    [ "$1" = mayhap ] && rm f && mayhap create -q --crlf f -n 100 -p 1e-6 || { no; return; }
    printf 'a\r\n' | insert "$1" f
    holds "$1" f a && echo 'if asked' || no
}
f_json() {
    small "$1"
    { show "$1" f | grep -q '^{' || mayhap_json "$1"; } && yes || no
}
mayhap_json() { "$1" info --json f | grep -q '^{'; }
f_remove() {
    make "$1" f 1000 1e-6
    [ "$1" = mayhap ] && rm -f f && mayhap create -q f -n 1000 -p 1e-6 --layout counting
    echo a | insert "$1" f
    for verb in remove delete del; do
        echo a | "$1" $verb f > /dev/null && ! holds "$1" f a && { yes; return; }
    done
    no
}
f_forget() {
    [ "$1" = mayhap ] && mayhap create -q f -p 1e-6 --layout window:100 || make "$1" f 100 1e-6
    for start in 1 101 201 301; do seq $start $((start + 99)) | insert "$1" f; done
    ! holds "$1" f 1 && holds "$1" f 400 && yes || no
}
f_grow() {
    [ "$1" = mayhap ] && mayhap create -q f -p 1e-3 --layout scalable -n 100 || make "$1" f 100 1e-3
    seq 1 20000 | insert "$1" f || { no; return; }
    found=$(seq 100001 200000 | check "$1" f | lines)
    [ "$found" -lt 200 ] && yes || no "no: rate $((found / 1000)) %"
}
f_merge() {
    make "$1" f 1000 1e-6; make "$1" g 1000 1e-6
    echo a | insert "$1" f; echo b | insert "$1" g
    case $1 in
        mayhap) mayhap merge -q -o h f g ;;
        bloom) bloom join f g && cp f h ;;
        poppy) poppy merge f g && cp f h || { poppy join f g && cp f h; } ;;
    esac > /dev/null
    [ -f h ] && holds "$1" h a && holds "$1" h b && yes || no
}
f_verify() {
    small "$1"
    seq 1 500 > in
    "$1" verify f in > /dev/null || { no; return; }
    echo absent >> in
    "$1" verify f in > /dev/null && no || yes
}
f_invert() {
    small "$1"
    for flag in -v --verify --invert; do
        # poppy says "absent: NOK".
        [ "$(printf 'absent\n7\n' | check "$1" f $flag | grep -v '^$' | cut -d: -f1)" = absent ] &&
            { yes; return; }
    done
    no
}
f_count() {
    small "$1"
    [ "$(printf 'absent\n7\n8\n' | check "$1" f -c)" = 2 ] && yes || no
}
f_five() { make "$1" f 1000 5 > said 2>&1; echo "exit $?, $(quoted < said)"; }
f_open() {
    make "$1" f 60000000 1e-3
    echo 7 | insert "$1" f
    start=$(ms)
    echo 7 | check "$1" f > /dev/null
    echo "$(($(ms) - start)) ms"
}
f_stop() {
    small "$1"
    case $1 in
        mayhap) { seq 1001 1100; sleep 3; } | mayhap add -q f & ;;
        bloom | poppy) { seq 1001 1100; sleep 3; } | "$1" insert f & ;;
    esac
    sleep 1
    # Not SIGINT, which a shell lets its background commands ignore.
    kill -TERM "$(pgrep -n -f "^$1.* f$")"
    wait
    echo "old keys $(seq 1 500 | check "$1" f | lines) of 500, new $(seq 1001 1100 | check "$1" f | lines) of 100"
}
f_fields() {
    make "$1" f 100 1e-6
    case $1 in
        mayhap)
            rm -f f; mayhap create -q f -n 100 -p 1e-6 --delim , --field 2
            echo 'x,key' | mayhap add -q f; [ "$(echo 'y,key' | mayhap check f)" = y,key ] ;;
        bloom) echo 'x,key' | bloom -s -f 1 insert f; [ -n "$(echo 'y,key' | bloom -s -f 1 check f)" ] ;;
        poppy) echo 'x,key' | poppy insert --delim , f && [ -n "$(echo 'y,key' | poppy check --delim , f)" ] ;;
    esac && yes || no
}
f_secret() {
    [ "$1" = mayhap ] && mayhap create -q f -n 100 -p 1e-6 --new-key-file k || { no; return; }
    echo a | mayhap add -q --key-file k f
    echo a | mayhap check f > /dev/null && no || yes
}
f_dcso() {
    make bloom d 1000 1e-6; seq 1 500 | bloom insert d
    [ "$(seq 1 500 | check "$1" d | lines)" = 500 ] && yes || no
}
f_gzfile() {
    case $1 in
        bloom) bloom --gzip create -n 1000 -p 1e-6 f; gzip -t < f ;;
        mayhap) mayhap create -q --gzip f -n 1000 -p 1e-6 ;;
        poppy) poppy create --gzip -c 1000 f ;;
    esac > /dev/null && yes || no
}
f_data() {
    small "$1"
    echo label | "$1" set-data f && [ "$("$1" get-data f)" = label ] && yes || no
}
f_jobs() { small "$1"; [ "$(echo 7 | "$1" -j 2 check f)" = 7 ] && yes || no; }
f_version() {
    case $1 in
        bloom) bloom --version | sed 's/.* /DCSO bloom /' ;;
        poppy) echo "poppy-filters $(cargo install --list --root "$(dirname "$(command -v poppy)")/.." |
            sed -n 's/^poppy-filters v\(.*\):/\1/p')" ;;
        *) "$1" --version ;;
    esac | sed 's/ (.*//'
}

# ---- Line filters.
dedup() { # tool [flags]
    tool=$1
    shift
    case $tool in
        mayhap) mayhap dedup -q "$@" ;;
        runiq) if [ $# = 0 ]; then runiq -; else runiq "$@"; fi ;;
        sort) sort -u "$@" ;;
        mawk) mawk '!seen[$0]++' "$@" ;;
        *) "$tool" "$@" ;;
    esac
}
l_order() { [ "$(printf 'b\na\nb\nc\na\n' | dedup "$1" | tr -d '\n')" = bac ] && yes || no; }
l_lost() { seq 1 1000000 | dedup "$1" | awk 'END { print 1000000 - NR }'; }
l_said() {
    case $1 in mayhap) seq 1 99 | mayhap dedup ;; *) seq 1 99 | dedup "$1" ;; esac 2>&1 > /dev/null |
        grep -qi 'lost' && yes || no
}
l_head() {
    seq 1 300000 > in
    under_head sh -c "$(case $1 in
        mayhap) echo 'mayhap dedup -q' ;; runiq) echo 'runiq -' ;; sort) echo 'sort -u' ;;
        mawk) echo "mawk '!seen[\$0]++'" ;; *) echo "$1" ;; esac) < in"
}
l_bytes() {
    printf '\377\376\n\0\n\377\376\n' > in
    [ "$(dedup "$1" < in 2> said | od -An -tx1 | tr -d ' \n')" = fffe0a000a ] && { yes; return; }
    [ "$(dedup "$1" < in 2> said | sort | od -An -tx1 | tr -d ' \n')" = 000afffe0a ] && yes ||
        no "no$([ -s said ] && echo ": $(quoted < said)")"
}
l_nul() {
    for flag in -0 -z; do
        [ "$(printf 'a\nb\0c\0a\nb\0' | dedup "$1" $flag | tr '\0\n' '.,')" = a,b.c. ] && { yes; return; }
    done
    no
}
l_last() { [ "$(printf 'a\nb\na' | dedup "$1" | tr '\n' .)" = a.b. ] && yes || no; }
l_crlf() { [ "$(printf 'a\r\na\n' | dedup "$1" --crlf | lines)" = 1 ] && yes || no; }
l_gz() { [ "$(printf 'a\na\n' | gzip | dedup "$1")" = a ] && yes || no; }
l_zst() { [ "$(printf 'a\na\n' | zstd -q | dedup "$1")" = a ] && yes || no; }
l_files() {
    printf 'a\nb\n' > one; printf 'b\nc\n' > two
    [ "$(dedup "$1" one two < /dev/null | tr -d '\n')" = abc ] && yes || no
}
l_first_with() { # what to say if it comes, tool [flags]
    said=$1
    shift
    { echo a; sleep 1; } | "$@" > out &
    start=$(ms)
    while [ ! -s out ] && [ $(($(ms) - start)) -lt 900 ]; do sleep 0.01; done
    [ -s out ] && echo "$(($(ms) - start)) ms$said" || no "at the end"
    wait
}
l_first() {
    case $1 in
        anewer) l_first_with ' (`--line-buffered`)' anewer --line-buffered ;;
        mawk) l_first_with ' (`-W interactive`)' mawk -W interactive '!seen[$0]++' ;;
        *) l_first_with '' dedup "$1" ;;
    esac
}
l_writes() {
    command -v strace > /dev/null || { no "not run"; return; }
    seq 1 50000 > in
    case $1 in mayhap) set -- mayhap dedup -q ;; runiq) set -- runiq - ;; sort) set -- sort -u ;;
        mawk) set -- mawk '!seen[$0]++' ;; esac
    strace -f -y -e trace=write,writev -o trace "$@" < in > out
    grep -cE 'writev?\([0-9]+<[^>]*/out>' trace
}
l_state() {
    case $1 in
        mayhap) printf 'a\nb\n' | mayhap dedup -q --state s -n 100; printf 'b\nc\n' | mayhap dedup -q --state s ;;
        *) printf 'a\nb\n' | dedup "$1" s; printf 'b\nc\n' | dedup "$1" s ;;
    esac > out
    [ "$(tr -d '\n' < out)" = abc ] && yes || no
}
l_kill() {
    [ "$(l_state "$1")" = yes ] || { no; return; }
    rm -f s
    [ "$1" = mayhap ] && flags='--state s -n 10k' || flags=s
    # shellcheck disable=SC2086
    { seq 1 1000; sleep 2; } | dedup "$1" $flags > out &
    sleep 1
    kill -9 "$(pgrep -n -f "^$1.* s")"
    wait
    # shellcheck disable=SC2086
    { cat out; seq 1 2000 | dedup "$1" $flags; } > all
    echo "$((2000 - $(sort -u all | lines))) of 2000 lost, $(sort all | uniq -d | lines) twice"
}
l_repeats() {
    for flag in -d -i -v --repeated; do
        [ "$(printf 'a\nb\na\n' | dedup "$1" $flag)" = a ] && { yes; return; }
    done
    no
}
l_counts() { printf 'a\nb\na\n' | dedup "$1" -c 2> /dev/null | grep -qE '^ *2[ 	]+a' && yes || no; }
l_json() { printf 'a\na\n' | dedup "$1" --json 2>&1 | grep -q '^{' && yes || no; }
l_memory() {
    seq 1 5000000 > in
    (ulimit -v 102400; dedup "$1" < in > out 2> said)
    code=$?
    [ $code = 0 ] && [ "$(lines < out)" -gt 4990000 ] && yes || no "no: exit $code"
}
l_field() {
    { printf 'x,a\ny,a\n' | case $1 in
        mayhap) mayhap dedup -q --delim , --field 2 ;;
        mawk) mawk -F, '!seen[$2]++' ;;
        sort) sort -u -t, -k2,2 ;;
        anewer) anewer --skip-fields 1 -F , ;;
        *) dedup "$1" --field 2 ;;
    esac; } > out
    [ "$(cat out)" = x,a ] && yes || no
}
l_jsonkey() {
    printf '{"u":1,"at":1}\n{"at":2,"u":1}\n' | dedup "$1" --json-pointer /u > out
    [ "$(lines < out)" = 1 ] && yes || no
}
l_trim() {
    for flag in --trim -t -b; do
        [ "$(printf 'a\n a\n' | dedup "$1" $flag | lines)" = 1 ] && { yes; return; }
    done
    no
}
l_version() {
    case $1 in
        mawk) mawk -W version 2>&1 | head -1 ;;
        xuniq) echo "xuniq" ;;
        sort) sort --version | head -1 ;;
        *) "$1" --version ;;
    esac | sed 's/ (.*) / /'
}

row() { # prefix name title
    printf '| %s |' "$3"
    for one in $tools; do
        rm -rf "$work/cell" && mkdir "$work/cell" && cd "$work/cell" || exit 1
        if command -v "$one" > /dev/null; then
            cell=$("$1_$2" "$one" 2> /dev/null < /dev/null) || cell=${cell:-no}
        else cell='not run'; fi
        printf ' %s |' "$(echo "$cell" | head -1)"
    done
    echo
}
table() { # prefix tools
    tools=$2
    # shellcheck disable=SC2086
    printf '| |%s\n|---|%s\n' "$(printf ' %s |' $tools)" "$(printf -- '---|%.0s' $tools)"
    row "$1" version 'version'
    while IFS='|' read -r name title; do row "$1" "$name" "$title"; done
}

cat << 'END'
# Compared with other tools

What happened when `bench/compare.sh` ran each tool; how fast they are is measured by `bench/cli.sh`
([bench/README.md](../bench/README.md)). A feature that a tool does not have is tried under the names
that others give it, and is a "no". Texts in quotes are the first line of what a tool said.

## Filter files

`bloom` is DCSO's (Debian's golang-github-dcso-bloom-cli), `poppy` is of the crate poppy-filters.

END
table f 'mayhap bloom poppy' << 'END'
exit|exit codes of a hit and a miss differ
overfill|5000 keys into a filter for 100
truth|rate of a filter with 50 times its keys
bytes|any bytes are a key (not UTF-8)
head|`check` survives `\| head -1`
nul|keys that end with NUL
cr|a carriage return at the end is no part of the key
kept|how keys are cut is kept in the file
fields|a field of the line is the key
gz|`.gz` input as it is
zst|`.zst` input as it is
wrong|a text file instead of a filter
cut|a cut filter file is refused
flip|a flipped bit in a filter file is found (`info`, `show`)
rate3|rate measured, 1e-3 asked, URLs
rate6|rate measured, 1e-6 asked, URLs
numbers|rate measured, 1e-6 asked, numbers
size|bits per key of the file at 1e-3
open|one question to a filter for 60 M keys
several|several filters in one run
invert|prints the lines that are not in it
count|prints how many lines are in it
merge|merges filter files
verify|verifies a filter against its keys
remove|removes keys
forget|forgets old keys
grow|200 times the keys at the same rate
stop|SIGTERM while adding 100 keys to 500
secret|secret key against chosen keys
five|a rate of 5
json|JSON
dcso|reads files of DCSO bloom
gzfile|compressed filter files
data|a text of the user's in the file
jobs|several threads (`-j`)
END
cat << 'END'

## First of equal lines

`mayhap` is `mayhap dedup`, `runiq-compact` is `runiq --filter compact`, `sort` is `sort -u`, `mawk` is `mawk '!seen[$0]++'`.

END
table l 'mayhap huniq runiq runiq-compact xuniq anewer sort mawk' << 'END'
order|keeps the order
lost|lines lost of 1 M distinct ones
said|says how many may be lost
memory|5 M distinct lines in 100 MB of address space
head|survives `\| head -1`
bytes|any bytes are a line
nul|lines that end with NUL
crlf|CRLF and LF lines are equal, if asked
last|a last line without its end
gz|`.gz` input as it is
zst|`.zst` input as it is
files|several input files
first|first line out while the input pauses
writes|writes for 50,000 lines
state|remembers from run to run
kill|after kill -9, the second run
repeats|prints the repeats instead
counts|counts equal lines
field|a field of the line is the key
jsonkey|a JSON value is the key
trim|white space around does not count
json|JSON summary
END
