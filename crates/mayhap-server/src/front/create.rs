//! New filters in the store, as far as its layout can hold them.

use crate::config::Config;
use crate::reservation::{Named, Reservation};
use mayhap::{Layout, sizing};
use mayhap_redis::NativeOptions;
use thiserror::Error;

/// What follows the name of an option that is refused.
pub(crate) const ONE_SIZE: &str = "is not for filters in a store, which are plain ones of one \
                                   size; omit it, or use a server with a data folder";

/// An option by its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// In commands.
    pub(crate) word: &'static str,
    /// In HTTP.
    member: &'static str,
}

/// Why the layout of the store cannot hold a filter; options by their names in HTTP.
#[derive(Debug, Error)]
pub(crate) enum Unfit {
    /// The option is for other filters.
    #[error("{} {ONE_SIZE}", .0.member)]
    Option(Wanted),
    /// There is no such size.
    #[error(transparent)]
    Size(#[from] mayhap::Error),
    /// It is above the limit of the server.
    #[error("it would have {bytes} bytes, above the limit of {limit} (max_filter_bytes)")]
    TooLarge {
        /// The bytes of the filter.
        bytes: u64,
        /// The setting.
        limit: u64,
    },
}

/// The filter of a reservation, if the layout of the store can hold it.
///
/// # Errors
///
/// [`Unfit`].
pub(crate) fn fitting(reservation: &Reservation, config: &Config) -> Result<NativeOptions, Unfit> {
    let Reservation { capacity, target_fpp, .. } = *reservation;
    // The key of the server is for all filters, or there is none.
    let is_other_key = reservation.keyed.is_some_and(|keyed| keyed != config.key_file.is_some());
    let other = [
        ("EXPANSION", "expansion", reservation.expansion.is_some_and(|by| by > 0)),
        ("VALIDATESCALETO", "scale_to", reservation.scale_to.is_some()),
        ("COUNTING", "counting", reservation.counting),
        ("WINDOW", "window", reservation.window.is_some()),
        ("NOREFRESH", "refresh", !reservation.refresh),
        ("CLEARAT", "clear_at", reservation.clear_at.is_some()),
        ("LAYOUT compact", "layout compact", reservation.layout == Named::Compact),
        ("SEED", "seed", reservation.seed.is_some()),
        ("KEYED", "keyed", is_other_key),
    ];
    if let Some((word, member, _)) = other.into_iter().find(|(.., is_wanted)| *is_wanted) {
        return Err(Unfit::Option(Wanted { word, member }));
    }
    let options = match reservation.layout {
        Named::Plain(Layout::Standard) => {
            sizing::for_items(Layout::Standard, capacity, target_fpp).map(NativeOptions::new)?
        }
        _ => NativeOptions::for_items(capacity, target_fpp)?,
    };
    let (bytes, limit) = (options.params.num_bytes(), config.max_filter_bytes);
    match limit.filter(|&limit| bytes > limit) {
        Some(limit) => Err(Unfit::TooLarge { bytes, limit }),
        None => Ok(options),
    }
}
