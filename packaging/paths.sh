# Sourced by scripts that build for others: paths of this machine are left out of Rust's code
# (RUSTFLAGS), and of C's by the flags in $c. $root is the clone, $target_dir the folder of builds.
crates=${CARGO_HOME:-$HOME/.cargo}
for from in "$root=/mayhap" "$target_dir=/target" "$crates=/cargo"; do
	rust="${rust:-} --remap-path-prefix=$from"
	c="${c:-} -ffile-prefix-map=$from"
done
export RUSTFLAGS="$rust" CARGO_INCREMENTAL=0 RUSTC_WRAPPER="$root/packaging/crate-ids.sh"
# Zig keeps what it has compiled, by its path, and not by the hour that is compiled into it.
export ZIG_GLOBAL_CACHE_DIR="$target_dir/zig" ZIG_LOCAL_CACHE_DIR="$target_dir/zig"
