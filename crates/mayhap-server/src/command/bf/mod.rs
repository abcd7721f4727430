//! `BF.*`: the filters.
//!
//! `options.rs` reads the options of a new filter and `create.rs` creates it; `insert.rs`,
//! `add.rs`, `exists.rs`, `age.rs`, `digests.rs` and `which.rs` are the data path, `info.rs`
//! describes a filter, `dump.rs` moves filters, `merge.rs` unites them.

mod add;
mod age;
pub(super) mod create;
mod digests;
pub(super) mod dump;
pub(super) mod exists;
mod info;
mod insert;
mod merge;
mod options;
mod which;

pub(super) use digests::read_digests;
pub(super) use insert::Insert;
pub(super) use options::reserved;

use super::bounds::Answer;
use super::row::Right::{Read, ReadAndWrite, Write};
use super::row::{ALL, Command, NONE, ONE, row};

pub(super) const COMMANDS: &[Command] = &[
    row("bf.add", 3, Write, ONE, "Adds an item to a filter.", add::add),
    row("bf.madd", -3, Write, ONE, "Adds items to a filter.", add::add_many).answers(ANSWERS),
    row("bf.insert", -2, Write, ONE, INSERT, insert::insert)
        .answers(ANSWERS)
        .works(insert::work_of_insert),
    row("bf.reserve", -4, Write, ONE, "Creates an empty filter.", create::reserve)
        .works(create::work_of_reserve),
    row("bf.exists", 3, Read, ONE, "Looks an item up.", exists::exists),
    row("bf.mexists", -3, Read, ONE, "Looks items up.", exists::exists_many).answers(ANSWERS),
    row("bf.age", -3, Read, ONE, "Returns how long ago items of a window came.", age::age)
        .answers(Answer::Words(age::AGE_BYTES)),
    row("bf.rem", -3, Write, ONE, "Removes items from a counting or compact filter.", add::remove)
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
    row("bf.merge", -3, ReadAndWrite, ALL, "Creates a filter from several others.", merge::merge)
        .works(merge::work),
    row("bf.mergechunk", 5, Write, ONE, MERGE_CHUNK, merge::merge_chunk)
        .works(merge::work_of_chunk),
    row("bf.maddhash", 3, Write, ONE, "Adds items by their digests.", digests::add)
        .answers(Answer::Echo)
        .works(digests::work),
    row("bf.mexistshash", 3, Read, ONE, "Looks items up by their digests.", digests::exists)
        .answers(Answer::Echo)
        .works(digests::work),
    row("bf.which", -4, Read, NONE, "Looks items up in several filters.", which::which)
        .answers(Answer::Counted)
        .works(which::work),
];

const MERGE_CHUNK: &str = "Merges a part of the bits of another filter into one.";
const INSERT: &str = "Creates a filter if there is none, adds items.";
/// A yes or no for each item, or an error that ends the list.
const ANSWERS: Answer = Answer::Words(4);
