# The rows about line filters: for each tool one line to stdout. Read by ../compare.sh.
# shellcheck shell=sh

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
command_of() {
    case $1 in
        mayhap) echo 'mayhap dedup -q' ;;
        runiq) echo 'runiq -' ;;
        sort) echo 'sort -u' ;;
        mawk) echo "mawk '!seen[\$0]++'" ;;
        *) echo "$1" ;;
    esac
}
l_head() {
    seq 1 300000 > in
    under_head sh -c "$(command_of "$1") < in"
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
l_first_with() { # the text for success, tool [flags]
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
    strace -f -y -e trace=write,writev -o trace sh -c "$(command_of "$1") < in > out"
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
    # Some tools hang when they run out of memory.
    timeout -s KILL 60 sh -c "ulimit -v 102400; $(command_of "$1") < in > out 2> said"
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
