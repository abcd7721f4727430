//! The command `mayhap`: order-keeping line dedup and set membership in bounded memory.
//!
//! A library too, so that tests and fuzzers reach its parts. Every verb is one file or folder of
//! [`cmd`]; the shared parts of verbs are in modules beside it, none of which knows of a verb:
//!
//! [`args`] the arguments, [`files`] (which checks all files that a command names before it runs) →
//! [`mayhap_lists`] lists to lines, keys and digests → a [`set`] of them → [`io`] lines to stdout,
//! messages to stderr. [`speed`] measures the time that a filter takes; [`error`] has all errors,
//! [`hints`] their next steps.

// | file | contents |
// |---|---|
// | `args/` | arguments that several verbs share |
// | `cmd/` | the verbs |
// | `error/` | all errors of the command |
// | `explorer.rs` | the explorer page in the command, as a file that a browser opens |
// | `files/` | the files that a command names, checked before it runs |
// | `hints/` | the next step after an error, with the options of the command |
// | `io/` | lists in, lines and messages out |
// | `memory.rs` | the memory of the machine or container, as a limit |
// | `outcome.rs` | the outcome of a verb without an error |
// | `random.rs` | the one source of random bytes |
// | `set/` | sets that verbs query and fill |
// | `speed.rs` | the speed and the rate of a filter, measured on this machine |

pub mod args;
pub mod cmd;
pub mod error;
pub mod explorer;
pub mod files;
pub mod hints;
pub mod io;
pub mod memory;
pub mod outcome;
pub mod random;
pub mod set;
pub mod speed;

pub use error::Error;
