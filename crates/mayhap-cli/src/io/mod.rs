//! What comes in and what goes out: `reader.rs` opens lists of keys for a verb ([`mayhap_lists`]
//! reads them), `output.rs` writes lines; `messages.rs` is what is said on stderr, `progress.rs`
//! the bar there, `terminal.rs` the room on a
//! terminal.

pub mod messages;
pub mod output;
pub mod progress;
pub mod reader;
pub mod terminal;
