//! `CF.INFO`: the description of a filter, in the fields of `RedisBloom`.

use super::options::{BUCKET_SIZE, MAX_ITERATIONS};
use crate::command::call::{Call, NOT_FOUND, Outcome};
use crate::resp::Value;
use mayhap::sizing::compact::BUCKET_BITS;

/// `CF.INFO key`.
pub(super) fn info(call: &mut Call<'_, '_>) -> Outcome {
    let entry = call.compact()?.ok_or(NOT_FOUND)?;
    entry.check_file()?;
    let info = entry.info();
    let expansion = info.expansion.unwrap_or(0);
    let fields = [
        ("Size", info.num_bytes),
        ("Number of buckets", info.num_bytes / u64::from(BUCKET_BITS / 8)),
        ("Number of filters", info.layers),
        ("Number of items inserted", info.items),
        ("Number of items deleted", entry.removed()),
        ("Bucket size", BUCKET_SIZE),
        ("Expansion rate", expansion.into()),
        ("Max iterations", MAX_ITERATIONS),
    ];
    let mut reply = call.reply();
    reply.map(fields.len());
    for (name, number) in fields {
        reply.simple(name);
        reply.value(&Value::count(number));
    }
    Ok(())
}
