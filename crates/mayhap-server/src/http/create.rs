//! New filters: the options in a request.

use super::body::Json;
use super::describe::created;
use super::handler::Answer;
use super::option::{Scalar, read};
use super::target::{Target, changing};
use super::{Failure, in_store};
use crate::config::Config;
use crate::front::{Unfit, fitting};
use crate::reservation::{LAYOUT_NAMES, LAYOUTS, Reservation, SEED_BYTES, Window};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap_engine::keyspace::{CreateError, MAX_EXPANSION};
use mayhap_engine::unix_ms;
use mayhap_redis::NativeOptions;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Create {
    capacity: Option<Scalar>,
    target_fpp: Option<Scalar>,
    expansion: Option<Scalar>,
    tightening: Option<Scalar>,
    fixed: Option<Scalar>,
    scale_to: Option<Scalar>,
    keyed: Option<Scalar>,
    seed: Option<Scalar>,
    seed_base64: Option<Scalar>,
    counting: Option<Scalar>,
    window: Option<Scalar>,
    refresh: Option<Scalar>,
    clear_at: Option<Scalar>,
    layout: Option<Scalar>,
}

const FLAG: &str = "true or false";
pub(super) const COUNT: &str = "a whole number, at least 1";
pub(super) const RATE: &str = "a number above 0 and below 1";
const SHARE: &str = "a share of bits above 0, at most 1";
const WINDOW: &str = "a number of items or a time such as \"90s\", \"30min\", \"12h\", \"7d\"";

impl Create {
    /// The options of a filter in the store; or why there is none of this size, which does not
    /// matter where there is a filter: without a capacity 400.
    ///
    /// # Errors
    ///
    /// As [`Create::reservation`]; 501 for an option that is not for such filters.
    pub(super) fn in_store(
        &self,
        config: &Config,
    ) -> Result<Result<NativeOptions, Failure>, Failure> {
        let reservation = self.reservation(config)?;
        if self.capacity.is_none() {
            let problem = "capacity is missing: filters in a store do not grow; give the number of \
                           all keys";
            return Ok(Err(Failure::bad(problem)));
        }
        match fitting(&reservation, config) {
            Err(why @ Unfit::Option(_)) => Err(why.into()),
            sized => Ok(sized.map_err(Failure::from)),
        }
    }

    /// # Errors
    ///
    /// 400 with the name of an invalid option, or of options that contradict each other.
    pub(super) fn reservation(&self, config: &Config) -> Result<Reservation, Failure> {
        let default = Reservation::by_default(config);
        let items = |value: &Scalar| value.count().filter(|&items| items > 0);
        let rate = |value: &Scalar| value.real().filter(|&rate| rate > 0.0 && rate < 1.0);
        let share = |value: &Scalar| value.real().filter(|&share| share > 0.0 && share <= 1.0);
        let by = |value: &Scalar| {
            let by = value.count().and_then(|by| u32::try_from(by).ok());
            by.filter(|&by| by <= MAX_EXPANSION)
        };
        let layout = |value: &Scalar| {
            let name = value.text()?;
            LAYOUTS.into_iter().find(|(layout, _)| *layout == name).map(|(_, layout)| layout)
        };
        macro_rules! option {
            ($name:ident, $expected:expr, $read:expr) => {
                read(stringify!($name), self.$name.as_ref(), $expected, $read)?
            };
        }
        // Checked and not used: layers share the rate in the server's own way.
        option!(tightening, RATE, rate);
        let expected = format!("a whole number from 0 to {MAX_EXPANSION}");
        let reservation = Reservation {
            capacity: option!(capacity, COUNT, items).unwrap_or(default.capacity),
            target_fpp: option!(target_fpp, RATE, rate).unwrap_or(default.target_fpp),
            expansion: option!(expansion, &expected, by),
            fixed: option!(fixed, FLAG, Scalar::flag).unwrap_or_default(),
            scale_to: option!(scale_to, COUNT, items),
            seed: self.seed()?,
            keyed: option!(keyed, FLAG, Scalar::flag),
            counting: option!(counting, FLAG, Scalar::flag).unwrap_or_default(),
            window: option!(window, WINDOW, window),
            refresh: option!(refresh, FLAG, Scalar::flag).unwrap_or(true),
            clear_at: option!(clear_at, SHARE, share),
            layout: option!(layout, LAYOUT_NAMES, layout).unwrap_or_default(),
        };
        Ok(reservation.finish(config)?)
    }

    fn seed(&self) -> Result<Option<[u8; SEED_BYTES]>, Failure> {
        if self.seed.is_some() && self.seed_base64.is_some() {
            return Err(Failure::bad("give either seed or seed_base64"));
        }
        let text = |value: &Scalar| value.text()?.as_bytes().try_into().ok();
        let base64 = |value: &Scalar| STANDARD.decode(value.text()?).ok()?.try_into().ok();
        let expected = format!("{SEED_BYTES} bytes");
        let (as_text, in_base64) =
            (format!("a text of {expected}"), format!("{expected} in base64"));
        let seed = read("seed", self.seed.as_ref(), &as_text, text)?;
        Ok(seed.or(read("seed_base64", self.seed_base64.as_ref(), &in_base64, base64)?))
    }
}

fn window(value: &Scalar) -> Option<Window> {
    value.count().map_or_else(|| Window::of_time(value.text()?), Window::of_items)
}

/// `PUT /v1/filters/{name}`
pub(super) async fn create(
    target: Target,
    Json { value: create, charge: _ }: Json<Create>,
) -> Answer {
    if let Some(front) = target.front() {
        return in_store::create(front, target, |config| create.in_store(config)?).await;
    }
    changing(target, move |Target { state, name, .. }| {
        let config = state.shared.config();
        let reservation = create.reservation(&config)?;
        let spec = reservation.spec(&config);
        state.check_writable()?;
        let (keyspace, log) = (&state.shared.keyspace, state.shared.log.as_deref());
        if keyspace.get(&name, unix_ms()).is_some() {
            return Err(CreateError::Exists.into());
        }
        reservation.check_scale(keyspace, &spec)?;
        let entry = keyspace.create(&name, spec, unix_ms(), log)?;
        created(&state, &name, &entry)
    })
    .await
}
