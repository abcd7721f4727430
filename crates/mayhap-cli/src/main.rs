//! The binary: everything except the allocator and the code before `main` is in the library.

mod allocator;
mod closed_stdout;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(error) = closed_stdout::refuse_writes() {
        eprintln!("mayhap: standard output is closed: {error}");
        return ExitCode::from(2);
    }
    let code = mayhap_cli::cmd::main();
    allocator::stop_purging();
    code
}
