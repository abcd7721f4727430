//! New filters in the store, as far as its layout can hold them.

use crate::config::Config;
use crate::reservation::{Named, Reservation};
use mayhap::{Layout, sizing};
use mayhap_engine::keyspace::{CreateError, TooLarge};
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
    /// There is no such size, or it is above the limit of the server: as for filters of its own.
    #[error(transparent)]
    Size(#[from] CreateError),
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
            sizing::for_items(Layout::Standard, capacity, target_fpp).map(NativeOptions::new)
        }
        _ => NativeOptions::for_items(capacity, target_fpp),
    };
    let limit = config.max_filter_bytes.or(config.max_memory).unwrap_or(u64::MAX);
    let too_large = |requested| {
        let setting = "max_filter_bytes";
        Err(Unfit::Size(CreateError::TooLarge(TooLarge { requested, limit, setting })))
    };
    match options.map_err(CreateError::from) {
        Ok(options) if options.params.num_bytes() > limit => too_large(options.params.num_bytes()),
        Ok(options) => Ok(options),
        // The limit, if that is exceeded too, is more helpful than a rate that is out of reach.
        Err(_) if fewest_bytes(capacity, target_fpp) > limit => {
            too_large(fewest_bytes(capacity, target_fpp))
        }
        Err(error) => Err(error.into()),
    }
}

/// `n ln(1/p) / (ln 2)^2` bits: no filter of this kind needs fewer.
fn fewest_bytes(capacity: u64, target_fpp: f64) -> u64 {
    (capacity as f64 * -target_fpp.ln() / std::f64::consts::LN_2.powi(2) / 8.0) as u64
}
