#!/bin/sh
# Rust's compiler for the crates of the workspace, with `--cfg no_pairs`: third-party crates are
# built once for both.
exec "$@" --cfg no_pairs
