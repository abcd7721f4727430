//! `BF.*`: the filters.
//!
//! `options.rs` reads what a filter is to be and `create.rs` creates it; `add.rs`, `exists.rs`,
//! `digests.rs` and `which.rs` are the data path, `info.rs` what a filter says of itself, `dump.rs`
//! how filters move, `merge.rs` how they are united. `errors.rs` has the texts of their errors,
//! `growth_limit.rs` how far a filter may grow.

mod add;
mod create;
mod digests;
mod dump;
mod errors;
mod exists;
mod growth_limit;
mod info;
mod merge;
mod options;
mod which;

use super::row::{Command, Places, Right, row};
use Right::{Read, Write};

const ONE: Places = Places::ONE;

pub(super) const COMMANDS: &[Command] = &[
    row("bf.add", 3, Write, ONE, "Adds an item to a filter.", add::add),
    row("bf.madd", -3, Write, ONE, "Adds items to a filter.", add::add_many),
    row(
        "bf.insert",
        -2,
        Write,
        ONE,
        "Creates a filter if there is none, adds items.",
        create::insert,
    ),
    row("bf.reserve", -4, Write, ONE, "Creates an empty filter.", create::reserve),
    row("bf.exists", 3, Read, ONE, "Looks an item up.", exists::exists),
    row("bf.mexists", -3, Read, ONE, "Looks items up.", exists::exists_many),
    row("bf.rem", -3, Write, ONE, "Removes items from a counting filter.", add::remove),
    row("bf.card", 2, Read, ONE, "Counts the items that were new.", info::card),
    row("bf.info", -2, Read, ONE, "Describes a filter.", info::info).slow_if(info::is_slow),
    row("bf.debug", 2, Read, ONE, "Describes the layers of a filter.", info::debug)
        .slow_if(info::is_slow),
    row("bf.scandump", 3, Read, ONE, "Returns a part of a filter's bytes.", dump::scan_dump)
        .slow_if(dump::is_begin),
    row("bf.loadchunk", 4, Write, ONE, "Takes a part of a filter's bytes.", dump::load_chunk)
        .slow_if(dump::is_end),
    row("bf.merge", -3, Write, Places::ALL, "Adds filters to a filter.", merge::merge)
        .slow_if(|call| call.are_large(call.words.from(2).iter())),
    row("bf.maddhash", 3, Write, ONE, "Adds items by their digests.", digests::add),
    row("bf.mexistshash", 3, Read, ONE, "Looks items up by their digests.", digests::exists),
    row("bf.which", -4, Read, Places::NONE, "Looks items up in several filters.", which::which),
];
