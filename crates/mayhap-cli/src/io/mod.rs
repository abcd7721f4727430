//! Input and output: `reader.rs` opens lists of keys for a verb ([`mayhap_lists`] reads them),
//! `output.rs` writes lines; `messages.rs` has the messages on stderr, `progress.rs` the bar there,
//! `terminal.rs` the width of a terminal.

pub mod messages;
pub mod output;
pub mod progress;
pub mod reader;
pub mod terminal;
