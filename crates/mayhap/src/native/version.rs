//! Which version of the format a file has: the oldest that can say what is in it.

use super::header::MAX_LAYERS_WITH_IDENTITY;
use super::{Fields, Kind};

/// The version of the format that this crate writes, but for what only [`NEWEST_VERSION`] has.
pub const VERSION: u16 = 3;
/// The newest version that this crate reads, which earlier releases refuse as newer than theirs: a
/// ribbon filter, and a fuse filter of a width other than 8 and 16.
pub const NEWEST_VERSION: u16 = 4;

/// The version to write. A chain of 59 layers, which only unions create, leaves no room for an
/// identity.
pub(super) const fn to_write(kind: Kind, fields: &Fields) -> u16 {
    if needs_newest(kind, fields) {
        NEWEST_VERSION
    } else if fields.layers.len() > MAX_LAYERS_WITH_IDENTITY {
        VERSION - 1
    } else {
        VERSION
    }
}

/// Whether a writer gives this version to such a file. Earlier ones used the oldest sufficient
/// version.
pub(super) fn is_right(version: u16, kind: Kind, fields: &Fields) -> bool {
    let is_first = kind == Kind::Bloom && fields.layout <= 2;
    match version {
        NEWEST_VERSION => needs_newest(kind, fields),
        _ if needs_newest(kind, fields) => false,
        VERSION => true,
        _ => version == if is_first { 1 } else { 2 },
    }
}

/// Whether earlier versions do not have this: a ribbon filter, or a fuse filter whose slots are not
/// 8 or 16 bits.
const fn needs_newest(kind: Kind, fields: &Fields) -> bool {
    match kind {
        Kind::Ribbon => true,
        Kind::Fuse => !matches!((fields.extra[0], fields.extra[4]), (8 | 16, 0)),
        _ => false,
    }
}
