//! New filters: what a request says of them.

use super::body::Json;
use super::filters::{Answer, blocking, created, need_on};
use super::name::Name;
use super::option::{Scalar, read};
use super::{Failure, State};
use crate::clock::unix_ms;
use crate::config::{Config, Rights};
use crate::keyspace::{CreateError, MAX_EXPANSION};
use crate::reservation::{Contradiction, LAYOUTS, Reservation, SEED_BYTES, Window};
use axum::extract::{Extension, State as From};
use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
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
const COUNT: &str = "a whole number, at least 1";
const RATE: &str = "a number above 0 and below 1";
const SHARE: &str = "a share of bits above 0, at most 1";
const WINDOW: &str = "a number of items or a time such as \"90s\", \"30min\", \"12h\", \"7d\"";

impl Create {
    /// # Errors
    ///
    /// 400 with the name of an option that is not as it should be, or of those that contradict
    /// each other.
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
        // Checked and not used: layers share the rate in the server's own way.
        read("tightening", self.tightening.as_ref(), RATE, rate)?;
        let expected = format!("a whole number from 0 to {MAX_EXPANSION}");
        let reservation = Reservation {
            capacity: read("capacity", self.capacity.as_ref(), COUNT, items)?
                .unwrap_or(default.capacity),
            error: read("target_fpp", self.target_fpp.as_ref(), RATE, rate)?
                .unwrap_or(default.error),
            expansion: read("expansion", self.expansion.as_ref(), &expected, by)?,
            fixed: read("fixed", self.fixed.as_ref(), FLAG, Scalar::flag)?.unwrap_or_default(),
            scale_to: read("scale_to", self.scale_to.as_ref(), COUNT, items)?,
            seed: self.seed()?,
            keyed: read("keyed", self.keyed.as_ref(), FLAG, Scalar::flag)?,
            counting: read("counting", self.counting.as_ref(), FLAG, Scalar::flag)?
                .unwrap_or_default(),
            window: read("window", self.window.as_ref(), WINDOW, window)?,
            refresh: read("refresh", self.refresh.as_ref(), FLAG, Scalar::flag)?.unwrap_or(true),
            clear_at: read("clear_at", self.clear_at.as_ref(), SHARE, share)?,
            layout: read("layout", self.layout.as_ref(), "auto, blocked or standard", layout)?
                .flatten(),
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
        let seed = read("seed", self.seed.as_ref(), &format!("a text of {expected}"), text)?;
        let other = read(
            "seed_base64",
            self.seed_base64.as_ref(),
            &format!("{expected} in base64"),
            base64,
        )?;
        Ok(seed.or(other))
    }
}

fn window(value: &Scalar) -> Option<Window> {
    value.count().map_or_else(|| Window::of_time(value.text()?), Window::of_items)
}

/// `PUT /v1/filters/{name}`
pub(super) async fn create(
    From(state): From<State>,
    Extension(rights): Extension<Rights>,
    Name(name): Name,
    Json { value: create, charge: _ }: Json<Create>,
) -> Answer {
    need_on(rights.write, "write", &rights, &name)?;
    let config = state.shared.config();
    let reservation = create.reservation(&config)?;
    let spec = reservation.spec(&config);
    blocking(move || {
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

impl std::convert::From<Contradiction> for Failure {
    fn from(why: Contradiction) -> Self {
        let problem = match why {
            Contradiction::FixedScaleTo => "scale_to is for filters that grow; omit it, or fixed",
            Contradiction::FixedExpansion => {
                "expansion is for filters that grow; omit it, or fixed"
            }
            Contradiction::KeyedSeed => "seed is for unkeyed filters; omit it, or keyed",
            Contradiction::Kinds => "use one of counting, window, clear_at and fixed",
            Contradiction::NoWindow => "refresh is for windows; omit it, or add window",
            Contradiction::GrowingLayout => "layout is for fixed filters; omit it, or add fixed",
            Contradiction::ScaleTo => {
                let problem = "a filter with scale_to items would exceed the limits of memory";
                return Self::new(StatusCode::INSUFFICIENT_STORAGE, problem);
            }
        };
        Self::bad(problem)
    }
}
