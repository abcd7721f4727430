//! All targets in one program, which takes a third of the time to build: `FUZZ_TARGET` names the
//! one to run.
#![no_main]

mod targets;

use libfuzzer_sys::fuzz_target;
use std::env;
use std::sync::LazyLock;

/// The target that this process runs.
static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = env::var("FUZZ_TARGET").unwrap_or_default();
    targets::find(&name).unwrap_or_else(|| panic!("FUZZ_TARGET={name}: no file of src/targets/"))
});

fuzz_target!(|data: &[u8]| TARGET(data));
