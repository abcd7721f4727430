# The rows about filter files: for each tool one line to stdout. Read by ../compare.sh.
# shellcheck shell=sh

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
    if holds "$1" f a; then
        printf 'b\r\nc\n' | insert "$1" f
        holds "$1" f b && echo always || echo 'if all lines have one, or on request'
        return
    fi
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
        # poppy prints "absent: NOK".
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
f_jobs() {
    small "$1"
    if [ "$1" = mayhap ]; then
        # Unasked: the input is read, cut and hashed in parallel to the filter.
        mkfifo pipe
        mayhap check f < pipe > /dev/null &
        exec 9> pipe
        sleep 0.2
        threads=$(ls /proc/$!/task | wc -l)
        exec 9>&-
        [ "$threads" -gt 1 ] && echo "yes: $threads, always" || no
    else
        [ "$(echo 7 | "$1" -j 2 check f)" = 7 ] && yes || no
    fi
}
f_version() {
    case $1 in
        bloom) bloom --version | sed 's/.* /DCSO bloom /' ;;
        poppy) echo "poppy-filters $(cargo install --list --root "$(dirname "$(command -v poppy)")/.." |
            sed -n 's/^poppy-filters v\(.*\):/\1/p')" ;;
        *) "$1" --version ;;
    esac | sed 's/ (.*//'
}
