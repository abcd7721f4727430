//! `BF.AGE`: how long ago items of a window came.

use crate::command::call::{Call, Outcome};
use crate::keyspace::Shape;

/// The most bytes of an answer for an item: two integers in an array.
pub(super) const AGE_BYTES: u64 = 48;

/// `BF.AGE key item [item …]`: for each item the bounds of its age, in items or in milliseconds as
/// the window is; null for one that is surely not in it.
pub(in crate::command) fn age(call: &mut Call<'_, '_>) -> Outcome {
    let entry = call.known(call.word(1))?;
    if !matches!(entry.spec.shape, Shape::Window { .. }) {
        let text =
            "ERR only WINDOW filters know when items arrived; reserve the filter with WINDOW";
        return Err(text.into());
    }
    let (items, now) = (call.words.from(2), call.turn.now);
    let mut reply = call.reply();
    reply.array(items.len());
    let mut found = 0;
    for item in items.iter() {
        match entry.age(item, now) {
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
    call.turn.counts.checked(items.len(), found);
    Ok(())
}
