//! Creating a filter, or finding the existing one: concurrent creators create only one, and a
//! creator that dies leaves nothing that blocks others.
//!
//! 1. A script writes the parameters with `state` `creating`, if the key is free. They expire after
//!    the lease, as the shards do.
//! 2. The shards are created: `SETRANGE` of the generation behind the blocks, which allocates
//!    exactly the needed memory and fills it with zeros.
//! 3. A script sets `state` to `keeping` if the parameters still belong to this creator, and gives
//!    them the expiry of the filter, if any.
//! 4. The shards get the expiry, and each is checked to exist.
//! 5. A script sets `state` to `ready`.
//!
//! If a creator dies before step 3, its keys expire. From then on the parameters describe the
//! filter, and the next client completes steps 4 and 5 (or deletes the rest if shards have
//! expired). A creator that is refused by a full server deletes its keys.

use super::generation::Generation;
use super::handle::Until;
use super::maker::{Claim, Maker, remove};
use super::meta::{Meta, State};
use super::options::NativeOptions;
use super::place::Target;
use super::wire::read_meta;
use crate::{Error, Server};
use mayhap::{DigestFunction, SecretKey};
use std::time::Duration;

const POLL: Duration = Duration::from_millis(20);
/// How many times to wait for a creator in its last steps before completing them.
const PATIENCE: u32 = 10;

/// Creates a filter, or finds the one there with the same parameters; returns whether it was
/// created. Without a switch it expires after `hold_ms`.
pub(super) async fn create(
    server: &Server,
    place: Target<'_>,
    options: &NativeOptions,
    hold_ms: Option<u64>,
) -> Result<(Generation, bool), Error> {
    let until = Until::new(server, place.name, "creates");
    let mut maker = Maker::new(server, place, options, hold_ms)?;
    for waited in 0.. {
        match maker.claim().await? {
            Claim::Generation => {
                if let Some(made) = maker.make().await? {
                    return Ok((made, true));
                }
                maker = Maker::new(server, place, options, hold_ms)?;
            }
            Claim::There(meta) if meta.state == State::Deleting => {
                remove(server, place, meta).await?;
            }
            Claim::There(meta) => {
                meta.check_same(&maker.meta, place.name)?;
                if meta.state == State::Ready {
                    return Ok((Generation::new(meta, place.name), false));
                }
                if meta.state == State::Keeping && waited >= PATIENCE {
                    Maker::finish_for(server, place, meta).await?;
                }
            }
        }
        until.pause(POLL).await?;
    }
    unreachable!("the pause ends with an error at the deadline")
}

/// Finds a filter, and how its keys become digests, with its secret key if it has one.
pub(super) async fn attach(
    server: &Server,
    place: Target<'_>,
    secret_key: Option<SecretKey>,
) -> Result<(Generation, DigestFunction), Error> {
    let meta = settled(server, place).await?;
    let digest_function = meta.digest_function(secret_key)?;
    Ok((Generation::new(meta, place.name), digest_function))
}

/// The parameters of a filter that is ready; one that is being created or deleted is waited for, or
/// finished.
pub(super) async fn settled(server: &Server, place: Target<'_>) -> Result<Meta, Error> {
    let until = Until::new(server, place.name, "creates");
    let mut waited = 0;
    loop {
        let (meta, _) = read_meta(server, place).await?;
        let meta = meta.ok_or_else(|| Error::NotFound { name: place.name.into() })?;
        match meta.state {
            State::Ready => return Ok(meta),
            State::Deleting => {
                remove(server, place, meta).await?;
            }
            State::Keeping if waited >= PATIENCE => {
                Maker::finish_for(server, place, meta).await?;
            }
            State::Creating | State::Keeping => {
                until.pause(POLL).await?;
                waited += 1;
            }
        }
    }
}
