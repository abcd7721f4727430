//! The binary: everything but what has to be before `main` and the allocator is in the library.

mod allocator;
mod closed_stdout;

use std::process::ExitCode;

fn main() -> ExitCode {
    allocator::configure();
    if let Err(error) = closed_stdout::refuse_writes() {
        eprintln!("mayhap: standard output is closed: {error}");
        return ExitCode::from(2);
    }
    mayhap_cli::cmd::main()
}
