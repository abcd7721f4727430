//! `BF.AGE`: how long ago the items of a window were inserted.

use crate::command::call::{Call, Outcome};
use crate::resp::Reply;

/// The most bytes of an answer for an item: two integers in an array.
pub(super) const AGE_BYTES: u64 = 48;

/// `BF.AGE key item [item …]`: for each item the bounds of its age, in items or milliseconds
/// depending on the window; null for an item that is surely not in it.
pub(in crate::command) fn age(call: &mut Call<'_, '_>) -> Outcome {
    let (entry, items) = (call.known(call.word(1))?, call.words.from(2));
    let ages = entry.ages(items, call.turn.work.now)?;
    let mut reply = Reply::new(call.out, call.session.info.resp3);
    reply.array(items.len());
    let mut found = 0;
    for age in ages {
        match age {
            None => reply.null(),
            Some(age) => {
                found += 1;
                reply.array(2);
                for bound in [age.at_least, age.at_most] {
                    reply.integer(i64::try_from(bound).unwrap_or(i64::MAX));
                }
            }
        }
    }
    // A filter that is being put back may lack keys that it has to have.
    entry.check_file()?;
    call.turn.counts.checked(items.len(), found);
    Ok(())
}
