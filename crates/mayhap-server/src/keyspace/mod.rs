//! The filters by name.
//!
//! `names.rs` is names to filters by the map of `table.rs`, `scan.rs` goes over all of them
//! (`moved.rs`), `which.rs` queries several, `upkeep.rs` is what they need now and then. `entry.rs`
//! is one filter with what belongs to it, `spec.rs` what it was created to be, `info.rs` what it
//! says of itself; the kinds are in `kind/`. `sizes.rs` keeps sizes that were worked out,
//! `overhead.rs` says what a filter costs beside its bits, `growth.rs` allocates layers before they
//! are needed, `growth_limit.rs` says how far a filter may grow. `load.rs` is dumps that go out
//! (`outgoing.rs`) and come in (`incoming.rs`, `loading.rs`), `merge.rs` unions, `parts.rs` puts
//! contents into the log, `files.rs` filters that lie in the data folder (`folder.rs`), which are
//! looked after (`refresh.rs`, `watched.rs`), `recovery.rs` those that come back at start
//! (`in_order.rs`, `restored.rs`), also after a refused write. `options.rs` is the limits,
//! `glob.rs` the patterns of scans, `lock.rs` locks that go on after a panic, `error.rs` and
//! `error_text.rs` what can go wrong.

mod entry;
mod error;
mod error_text;
mod files;
mod folder;
mod glob;
mod growth;
mod growth_limit;
mod in_order;
mod incoming;
mod info;
mod kind;
mod load;
mod loading;
mod lock;
mod merge;
mod moved;
mod names;
mod options;
mod outgoing;
mod overhead;
mod parts;
mod recovery;
mod refresh;
mod restored;
mod scan;
mod sizes;
mod spec;
mod table;
#[cfg(all(test, not(shuttle)))]
mod tests;
mod upkeep;
mod watched;
mod which;

pub use entry::Entry;
pub use error::{
    BadFilter, ChangeError, CreateError, DigestError, FileError, FileProblem, InsertError,
    LongName, RecoveryError, SpecError, TooLarge, Unreadable, WrongKind,
};
pub use glob::matches;
pub use growth::Growing;
pub(crate) use growth_limit::room_within;
pub use info::{Info, LayerInfo, Measured};
pub use kind::FEWEST_ITEMS;
pub use load::{CHUNK_BYTES, LoadError};
pub use names::Keyspace;
pub use options::Options;
pub(crate) use outgoing::Outgoing;
pub use overhead::overhead_bytes;
pub use recovery::Recovery;
pub use scan::{MAX_PATTERN_BYTES, Page};
pub use spec::{Hash, MAX_EXPANSION, SPEC_BYTES, Shape, Spec};
pub use upkeep::Upkeep;
pub use watched::{FileState, FileTrouble};
pub use which::{MAX_PROBES, Which, WhichError};
