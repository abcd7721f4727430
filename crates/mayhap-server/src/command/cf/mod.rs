//! `CF.*`: compact filters, in the words of `RedisBloom`'s cuckoo filters.
//!
//! `kind.rs` refuses other filters, `options.rs` reads the options of a new one and `create.rs`
//! creates it; `add.rs`, `exists.rs` and `remove.rs` are the data path, `info.rs` describes a
//! filter, `dump.rs` moves filters.

mod add;
mod create;
mod dump;
mod exists;
mod info;
mod kind;
mod options;
mod remove;

use super::bf;
use super::bounds::Answer;
use super::row::Right::{Read, Write};
use super::row::{Command, ONE, row};

pub(super) const COMMANDS: &[Command] = &[
    row("cf.add", 3, Write, ONE, "Adds an item to a compact filter.", add::add),
    row("cf.addnx", 3, Write, ONE, "Adds an item that is absent.", add::add_absent),
    row("cf.insert", -4, Write, ONE, INSERT, add::insert)
        .answers(ANSWERS)
        .works(create::work_of_insert),
    row("cf.insertnx", -4, Write, ONE, INSERT_ABSENT, add::insert_absent)
        .answers(ANSWERS)
        .works(create::work_of_insert),
    row("cf.reserve", -3, Write, ONE, "Creates an empty compact filter.", create::reserve)
        .works(create::work_of_reserve),
    row("cf.exists", 3, Read, ONE, "Looks an item up.", exists::exists),
    row("cf.mexists", -3, Read, ONE, "Looks items up.", exists::exists_many).answers(ANSWERS),
    row("cf.count", 3, Read, ONE, "Counts the copies of an item.", exists::count),
    row("cf.del", 3, Write, ONE, "Removes a copy of an item.", remove::remove),
    row("cf.info", 2, Read, ONE, "Describes a compact filter.", info::info),
    row("cf.compact", 2, Write, ONE, "Does nothing: the filter is compact.", remove::compact),
    row("cf.scandump", 3, Read, ONE, "Returns a part of a filter's bytes.", dump::scan_dump)
        .answers(Answer::Bytes(bf::dump::ANSWER_BYTES))
        .works(bf::dump::work_of_scan),
    row("cf.loadchunk", 4, Write, ONE, "Accepts a part of a filter's bytes.", dump::load_chunk)
        .works(bf::dump::work_of_load),
];

const INSERT: &str = "Creates a compact filter if there is none, adds items.";
const INSERT_ABSENT: &str = "Creates a compact filter if there is none, adds absent items.";
/// A number for each item, or an error that ends the list.
const ANSWERS: Answer = Answer::Words(5);
