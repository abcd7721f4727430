//! The filters by name.
//!
//! `filters.rs` has them all and changes their names, `names.rs` maps names to filters by the table
//! of `table.rs`, `index.rs` has them in the order of scans, `create.rs` creates them, also as
//! unions of others, `unite.rs` unites them with pieces of others that come from elsewhere,
//! `fold.rs` (`fold_size.rs`) shrinks them, `which.rs` queries several,
//! `upkeep.rs` does their regular maintenance. `entry.rs` is one filter with its state, `spec.rs`
//! its specification at creation, `info.rs` its description; the kinds are in `kind/`.
//! `resources.rs` is what they share: the limits of `options.rs`, memory, computed sizes
//! (`sizes.rs`), and layers allocated ahead of need (`growth.rs`); `growth_limit.rs` is how far a
//! filter may grow. `load.rs` writes dumps and loads them (`loading.rs`), `dumps.rs` has those in
//! progress, `files.rs` serves filter files of the data folder (`folder.rs`), which are watched
//! (`refresh.rs`, `watched.rs`), `recovery.rs` restores filters at start (`in_order.rs`,
//! `restored.rs`), also after a refused write. `glob.rs` has the patterns of scans, `error.rs` why
//! a filter is not changed, `unsound.rs` why bytes are not served as one.

mod create;
mod dumps;
mod entry;
mod error;
mod files;
mod filters;
mod fold;
mod fold_size;
mod folder;
mod glob;
mod growth;
mod growth_limit;
mod in_order;
mod index;
mod info;
mod kind;
mod load;
mod loading;
mod names;
mod options;
mod recovery;
mod refresh;
mod resources;
mod restored;
mod sizes;
mod spec;
mod table;
#[cfg(test)]
mod tests;
mod unite;
mod unsound;
mod upkeep;
mod watched;
mod which;

pub use create::Pages;
pub use dumps::Outgoing;
pub use entry::Entry;
pub use error::{
    ChangeError, CreateError, DigestError, InsertError, LongName, TooLarge, UniteError, WrongKind,
};
pub use filters::{Keyspace, Page};
pub use fold::Shrunk;
pub use fold_size::Saving;
pub use glob::{MAX_PATTERN_BYTES, matches};
pub use growth::Growing;
pub use growth_limit::{compact_room_within, room_within};
pub use info::{Info, LayerInfo, Measured};
pub use kind::{FEWEST_ITEMS, SMALL_FILE_BYTES};
pub use load::{CHUNK_BYTES, LoadError};
pub use options::Options;
pub use recovery::Recovery;
pub use resources::overhead_bytes;
pub use spec::{Hash, MAX_EXPANSION, SPEC_BYTES, Shape, Spec, SpecError};
pub use unite::{PieceOf, Sender};
pub use unsound::{BadFilter, FileError, FileProblem, RecoveryError, Unreadable};
pub use upkeep::Upkeep;
pub use watched::{FileState, FileTrouble, Files};
pub use which::{MAX_PROBES, Which, WhichError};
