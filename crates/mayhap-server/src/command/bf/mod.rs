//! `BF.*`: the filters.
//!
//! `options.rs` reads what a filter is to be and `create.rs` creates it; `add.rs`, `exists.rs`,
//! `age.rs`, `digests.rs` and `which.rs` are the data path, `info.rs` what a filter says of itself,
//! `dump.rs` how filters move, `merge.rs` how they are united. `errors.rs` has the texts of their
//! errors.

mod add;
mod age;
mod create;
mod digests;
mod dump;
mod errors;
mod exists;
mod info;
mod merge;
mod options;
mod which;

use super::bounds::Answer;
use super::row::{Command, Places, Right, row};
use Right::{Read, ReadAndWrite, Write};

const ONE: Places = Places::ONE;

pub(super) const COMMANDS: &[Command] = &[
    row("bf.add", 3, Write, ONE, "Adds an item to a filter.", add::add),
    row("bf.madd", -3, Write, ONE, "Adds items to a filter.", add::add_many).answers(ANSWERS),
    row(
        "bf.insert",
        -2,
        Write,
        ONE,
        "Creates a filter if there is none, adds items.",
        create::insert,
    )
    .answers(ANSWERS)
    .works(create::work_of_insert),
    row("bf.reserve", -4, Write, ONE, "Creates an empty filter.", create::reserve)
        .works(create::work_of_reserve),
    row("bf.exists", 3, Read, ONE, "Looks an item up.", exists::exists),
    row("bf.mexists", -3, Read, ONE, "Looks items up.", exists::exists_many).answers(ANSWERS),
    row("bf.age", -3, Read, ONE, "Returns how long ago items of a window came.", age::age)
        .answers(Answer::Words(age::AGE_BYTES)),
    row("bf.rem", -3, Write, ONE, "Removes items from a counting filter.", add::remove)
        .answers(ANSWERS),
    row("bf.card", 2, Read, ONE, "Counts the items that were new.", info::card),
    row("bf.info", -2, Read, ONE, "Describes a filter.", info::info).works(info::work),
    row("bf.debug", 2, Read, ONE, "Describes the layers of a filter.", info::debug)
        .answers(Answer::Counted)
        .works(info::work),
    row("bf.scandump", 3, Read, ONE, "Returns a part of a filter's bytes.", dump::scan_dump)
        .answers(Answer::Bytes(dump::ANSWER_BYTES))
        .works(dump::work_of_scan),
    row("bf.loadchunk", 4, Write, ONE, "Accepts a part of a filter's bytes.", dump::load_chunk)
        .works(dump::work_of_load),
    row(
        "bf.merge",
        -3,
        ReadAndWrite,
        Places::ALL,
        "Creates a filter from several others.",
        merge::merge,
    )
    .works(merge::work),
    row("bf.maddhash", 3, Write, ONE, "Adds items by their digests.", digests::add)
        .answers(Answer::Echo)
        .works(digests::work),
    row("bf.mexistshash", 3, Read, ONE, "Looks items up by their digests.", digests::exists)
        .answers(Answer::Echo)
        .works(digests::work),
    row("bf.which", -4, Read, Places::NONE, "Looks items up in several filters.", which::which)
        .answers(Answer::Counted)
        .works(which::work),
];

/// A yes or no for each item, and the error that ends them.
const ANSWERS: Answer = Answer::Words(4);
