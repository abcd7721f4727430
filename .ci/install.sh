#!/usr/bin/env bash
# What the gate needs beyond Rust, on a fresh Debian machine.
set -euo pipefail
cd "$(dirname "$0")/.."

# A linker, make, a C++ compiler (libFuzzer), the tracer that the fault tests inject with, patch for
# the planted bugs, the counter of instructions, and an emulator with a linker for the NEON kernels.
need=()
for tool in make:make gcc:gcc g++:g++ strace:strace patch:patch groff:groff valgrind:valgrind \
  qemu-aarch64:qemu-user aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu javac:default-jdk-headless; do
  command -v "${tool%%:*}" >/dev/null || need+=("${tool##*:}")
done
for tool in bloom:golang-github-dcso-bloom-cli npm:npm; do
  command -v "${tool%%:*}" >/dev/null || need+=("${tool##*:}")
done
python3 -c 'import ensurepip, venv' 2>/dev/null || need+=(python3-venv)
[ -e /usr/share/java/guava.jar ] || need+=(libguava-java)
if [ "${#need[@]}" -gt 0 ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${need[@]}" \
    libc6-dev-arm64-cross
fi
# Redis, Valkey and PostgreSQL; `make test` and `make valkey` would do it too.
sh crates/test-servers/install.sh valkey
rustup toolchain install nightly --profile minimal --component miri,rust-src
rustup target add aarch64-unknown-linux-gnu
rustup component add rustfmt clippy
