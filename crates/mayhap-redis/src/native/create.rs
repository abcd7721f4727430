//! Creating a filter, or finding the existing one: concurrent creators create only one, and a
//! creator that dies leaves nothing that blocks others.
//!
//! 1. A script writes the parameters with `state` `creating`, if the key is free. They expire after
//!    the lease, as the shards do.
//! 2. The shards are created: `SETRANGE` of the generation behind the blocks, which allocates
//!    exactly the needed memory and fills it with zeros.
//! 3. A script sets `state` to `keeping` if the parameters are still those of this creator, and
//!    gives them the expiry of the filter, if any.
//! 4. The shards get the expiry, and each is checked to exist.
//! 5. A script sets `state` to `ready`.
//!
//! If a creator dies before step 3, its keys expire. From then on the parameters describe the
//! filter, and the next client completes steps 4 and 5 (or deletes the rest if shards have
//! expired). A creator that is refused by a full server deletes what it created.

use super::filter::NativeFilter;
use super::generation::{Generation, Target};
use super::maker::{Claim, Maker};
use super::meta::State;
use super::options::NativeOptions;
use super::shards::check_name;
use super::wire::read_meta;
use crate::{Error, Server};
use mayhap::SecretKey;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(20);
/// How many times to wait for a creator in its last steps before completing them.
const PATIENCE: u32 = 10;

impl NativeFilter {
    /// Creates a filter, or attaches to the one of this name if it has the same parameters. If two
    /// clients create it at once, one does so and the other waits and attaches.
    ///
    /// Layout, m, k, n, p, digest function and key options must be the same; the time to live and
    /// the size of shards are those of the existing filter.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] with the first parameter that differs, [`Error::Busy`] if another creator
    /// does not finish, [`Error::ServerFull`] (nothing is left behind), [`Error::BadName`],
    /// [`Error::Layout`], [`Error::WrongType`], [`Error::Damaged`], and those of the connection.
    pub async fn create(
        server: &Server,
        name: &str,
        options: &NativeOptions,
    ) -> Result<Self, Error> {
        check_name(name)?;
        Self::create_at(server, Target::live(name), options, None).await
    }

    pub(super) async fn create_at(
        server: &Server,
        place: Target<'_>,
        options: &NativeOptions,
        hold_ms: Option<u64>,
    ) -> Result<Self, Error> {
        let until = Instant::now() + server.options().deadline;
        let mut maker = Maker::new(server, place, options, hold_ms)?;
        let mut waited = 0;
        loop {
            match maker.claim().await? {
                Claim::Generation => {
                    if let Some(made) = maker.make().await? {
                        return Ok(Self::of(server, place, options.digest_function, made, true));
                    }
                    maker = Maker::new(server, place, options, hold_ms)?;
                }
                Claim::There(meta) if meta.state == State::Deleting => {
                    Self::remove(server, place.meta_key(), place.name, &meta).await?;
                }
                Claim::There(meta) => {
                    meta.check_same(&maker.meta, place.name)?;
                    if meta.state == State::Ready {
                        let made = Generation::new(meta, place.name);
                        return Ok(Self::of(server, place, options.digest_function, made, false));
                    }
                    if meta.state == State::Keeping && waited >= PATIENCE {
                        Maker::finish_for(server, place, meta).await?;
                    }
                }
            }
            if Instant::now() >= until {
                return Err(Error::Busy { name: place.name.into(), what: "creates" });
            }
            waited += 1;
            tokio::time::sleep(POLL).await;
        }
    }

    /// Attaches to a filter, with its secret key if it has one.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::Busy`] if its creator does not finish, [`Error::Filter`] with
    /// a wrong secret key or none, or with one for a filter that has none, [`Error::BadName`],
    /// [`Error::WrongType`], [`Error::Damaged`],
    /// and those of the connection.
    pub async fn attach(
        server: &Server,
        name: &str,
        secret_key: Option<SecretKey>,
    ) -> Result<Self, Error> {
        check_name(name)?;
        let place = Target::live(name);
        let until = Instant::now() + server.options().deadline;
        let mut waited = 0;
        loop {
            let (meta, _) = read_meta(server, &place.meta_key(), &place.swap_key()).await?;
            let meta = meta.ok_or_else(|| Error::NotFound { name: name.into() })?;
            match meta.state {
                State::Ready => {
                    let digest_function = meta.digest_function(secret_key)?;
                    let made = Generation::new(meta, name);
                    return Ok(Self::of(server, place, digest_function, made, false));
                }
                State::Deleting => {
                    Self::remove(server, place.meta_key(), name, &meta).await?;
                }
                State::Keeping if waited >= PATIENCE => {
                    Maker::finish_for(server, place, meta).await?;
                }
                State::Creating | State::Keeping if Instant::now() >= until => {
                    return Err(Error::Busy { name: name.into(), what: "creates" });
                }
                State::Creating | State::Keeping => {
                    waited += 1;
                    tokio::time::sleep(POLL).await;
                }
            }
        }
    }
}
