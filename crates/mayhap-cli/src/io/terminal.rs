//! The room on a terminal.

use rustix::termios::tcgetwinsize;
use std::io::IsTerminal;
use std::os::fd::AsFd;

/// The columns of standard output where it is a terminal that reports them; elsewhere no line is
/// too long.
pub fn columns() -> usize {
    of(&std::io::stdout()).unwrap_or(usize::MAX)
}

/// The columns of standard error, likewise.
pub fn columns_of_stderr() -> usize {
    of(&std::io::stderr()).unwrap_or(usize::MAX)
}

fn of(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    // Some terminals, serial lines among them, report 0.
    tcgetwinsize(stream).ok().map(|size| size.ws_col.into()).filter(|&columns| columns > 0)
}
