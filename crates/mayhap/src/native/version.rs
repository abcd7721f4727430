//! Which version of the format a file has: the oldest that can say what is in it.

use super::header::MAX_LAYERS_WITH_IDENTITY;
use super::{Fields, Kind};

/// The version of the format that this crate writes, but for what only version 4 has and for short
/// files.
pub const VERSION: u16 = 3;
/// The newest version that this crate reads: 1 and 2 are of earlier files, 3 is [`VERSION`], 4 of
/// ribbon filters and of fuse filters of new widths, 5 of [short](super::encode_short) files.
///
/// Earlier releases refuse a version that is newer than theirs.
pub const NEWEST_VERSION: u16 = SHORT_VERSION;
/// The version of [short](super::is_short) files.
pub const SHORT_VERSION: u16 = 5;
/// The version of ribbon filters, and of fuse filters of a width other than 8 and 16.
const VERSION_4: u16 = 4;

/// The version to write. A chain of 59 layers, which only unions create, leaves no room for an
/// identity.
pub(super) const fn to_write(kind: Kind, fields: &Fields) -> u16 {
    if needs_version_4(kind, fields) {
        VERSION_4
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
        VERSION_4 => needs_version_4(kind, fields),
        _ if needs_version_4(kind, fields) => false,
        VERSION => true,
        _ => version == if is_first { 1 } else { 2 },
    }
}

/// Whether earlier versions do not have this: a ribbon filter, or a fuse filter whose slots are not
/// 8 or 16 bits.
const fn needs_version_4(kind: Kind, fields: &Fields) -> bool {
    match kind {
        Kind::Ribbon => true,
        Kind::Fuse => !matches!((fields.extra[0], fields.extra[4]), (8 | 16, 0)),
        _ => false,
    }
}
