//! The sizes of filters, remembered: finding one costs as much as inserting a thousand keys, and
//! programs that create many small filters create them alike.

use crate::error::Error;
use mayhap::{FilterParams, Layout, sizing};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The number of sizes that are cached.
const MOST: usize = 1024;

/// The number of keys, the rate's bits, and the layout.
type Wanted = (u64, u64, Option<Layout>);

/// The parameters of a filter with at most `max_bytes`, and its `inserted_when_full`.
///
/// # Errors
///
/// The errors of [`sizing::for_items`]; [`mayhap::Error::TooLarge`] if the filter would be larger.
pub(crate) fn of(
    expected_items: u64,
    target_fpp: f64,
    layout: Option<Layout>,
    max_bytes: u64,
) -> Result<(FilterParams, u64), Error> {
    static SIZES: Mutex<Option<HashMap<Wanted, (FilterParams, u64)>>> = Mutex::new(None);
    let wanted = (expected_items, target_fpp.to_bits(), layout);
    let mut sizes = SIZES.lock().unwrap_or_else(PoisonError::into_inner);
    let sizes = sizes.get_or_insert_default();
    let size = if let Some(&size) = sizes.get(&wanted) {
        size
    } else {
        let layout = match layout {
            Some(layout) => layout,
            None => sizing::default_layout(expected_items, target_fpp)?,
        };
        let params = sizing::for_items(layout, expected_items, target_fpp)?;
        let size = (params, params.inserted_when_full());
        if sizes.len() == MOST {
            sizes.clear();
        }
        sizes.insert(wanted, size);
        size
    };
    let (limit, found) = (max_bytes, size.0.num_bytes());
    if found > limit {
        return Err(mayhap::Error::TooLarge { field: "num_bytes", limit, found }.into());
    }
    Ok(size)
}
