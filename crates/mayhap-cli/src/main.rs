//! The binary: everything but the allocator is in the library.

mod allocator;

use std::process::ExitCode;

fn main() -> ExitCode {
    allocator::configure();
    mayhap_cli::cmd::main()
}
