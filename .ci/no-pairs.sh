#!/bin/sh
# Rust's compiler for the crates of the workspace, with `--cfg no_pairs`: what others wrote is built
# once for both.
exec "$@" --cfg no_pairs
