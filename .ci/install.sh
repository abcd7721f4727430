#!/usr/bin/env bash
# The packages that the gate needs besides Rust, on a fresh Debian machine.
set -euo pipefail
cd "$(dirname "$0")/.."

# A linker, make, a C++ compiler (libFuzzer), the tracer that the fault tests inject with, patch for
# the planted bugs, the counter of instructions, and an emulator with a linker for the NEON kernels.
need=()
for tool in make:make gcc:gcc g++:g++ strace:strace patch:patch groff:groff valgrind:valgrind \
  qemu-aarch64:qemu-user aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu javac:default-jdk-headless; do
  command -v "${tool%%:*}" >/dev/null || need+=("${tool##*:}")
done
for tool in bloom:golang-github-dcso-bloom-cli npm:npm chromium:chromium \
  firefox-esr:firefox-esr mmdebstrap:mmdebstrap systemd-analyze:systemd setpriv:util-linux; do
  command -v "${tool%%:*}" >/dev/null || need+=("${tool##*:}")
done
python3 -c 'import ensurepip, venv' 2>/dev/null || need+=(python3-venv)
[ -e /usr/share/java/guava.jar ] || need+=(libguava-java)
if ! command -v valkey-cli >/dev/null; then
  # On Debian 12 it is in the backports.
  if ! apt-cache show valkey-tools >/dev/null 2>&1; then
    suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)-backports
    echo "deb http://deb.debian.org/debian $suite main" >/etc/apt/sources.list.d/backports.list
  fi
  need+=(valkey-tools)
fi
if [ "${#need[@]}" -gt 0 ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${need[@]}" \
    libc6-dev-arm64-cross
fi
# Redis and PostgreSQL; `make check` would do it too.
sh crates/test-servers/install.sh
rustup toolchain install nightly --profile minimal --component miri,rust-src
# The browser package is built with its own standard library.
rustup target add aarch64-unknown-linux-gnu wasm32-unknown-unknown
rustup component add rustfmt clippy rust-src
