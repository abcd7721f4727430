//! Counts, sizes, rates and lengths of time as users type them: `10M`, `64KiB`, `0.1%`, `7d`.
//!
//! The command line and the server's configuration have one grammar. No dependency, no I/O.

#![forbid(unsafe_code)]

// | file | contents |
// |---|---|
// | `number.rs` | the numbers people type: counts, sizes, rates |
// | `line.rs` | lines without characters that move the cursor |
// | `span.rs` | lengths of time as people type them: `90s`, `15min`, `7d` |
// | `window.rs` | the size of a window as people type it |

pub mod line;
pub mod number;
pub mod span;
pub mod window;
