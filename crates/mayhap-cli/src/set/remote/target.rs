//! A name on a server that takes the bits of plain filters: what `merge`, `push --merge` and `move`
//! add to.

use super::Connection;
use super::bits::Bits;
use super::served::{Served, is_plain};
use crate::error::Error;
use crate::io::progress::Progress;
use mayhap::SecretKey;
use mayhap_lists::Stop;
use mayhap_redis::{Found, NativeFilter, find};
use mayhap_sets::server::{Known, NativeSet, ServerSet, open};

/// Where the bits go.
#[derive(Debug)]
pub enum Target {
    /// A name on Redis or Valkey, and the filter there.
    Native(Connection, Option<NativeFilter>),
    /// A name on `mayhap serve`.
    Served(Served),
}

impl Target {
    /// Looks at the name of a connection.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`]; [`Error::Usage`] for other kinds and systems.
    pub fn find(connection: Connection, key: Option<SecretKey>) -> Result<Self, Error> {
        let (server, name) = (&connection.origin.server, &connection.origin.name);
        match connection.timed(find(server, name, key))? {
            Found::Bf(there) if there.kind().is_some_and(is_plain) => {
                Ok(Self::Served(Served::new(connection, true)))
            }
            Found::Nothing { filters_only: true } => {
                Ok(Self::Served(Served::new(connection, false)))
            }
            found => {
                let filter = connection.native(found)?;
                Ok(Self::Native(connection, filter))
            }
        }
    }

    /// The server, and the name.
    pub fn connection(&self) -> &Connection {
        match self {
            Self::Native(connection, _) => connection,
            Self::Served(place) => &place.connection,
        }
    }

    /// Deletes what an unfinished move or push to this name left.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn discard(&self) -> Result<(), Error> {
        match self {
            Self::Native(connection, _) => {
                let (server, name) = (&connection.origin.server, &connection.origin.name);
                connection.wait(NativeFilter::discard(server, name)).map(drop)
            }
            Self::Served(place) => place.discard(),
        }
    }

    /// Adds the keys of a filter to the one there, and makes one like it where there is none. Keys
    /// beyond those that it was made for are refused, unless `overfill` is set.
    ///
    /// # Errors
    ///
    /// [`Error::Full`]; [`Error::Usage`] if the two are not alike; [`Error::Remote`],
    /// [`Error::Store`], [`Error::Stopped`], after which part of the keys may be there.
    pub fn add(
        &mut self,
        bits: &Bits<'_>,
        (overfill, key): (bool, Option<SecretKey>),
        (stop, progress): (&Stop, &mut Progress),
    ) -> Result<(), Error> {
        match self {
            Self::Native(connection, Some(filter)) => {
                if !overfill {
                    bits.check_room_in(connection, filter, stop)?;
                }
                bits.merge_into((connection, filter), false, (stop, progress)).map(drop)
            }
            Self::Native(connection, there) => {
                let options = bits.model().native_options();
                *there = Some(bits.upload(connection, &options, (stop, progress))?);
                Ok(())
            }
            Self::Served(place) => {
                if !overfill {
                    place.check_room(bits, key, stop)?;
                }
                place.pass(bits, None, (stop, progress)).map(drop)
            }
        }
    }

    /// The filter there, as a set.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn set(self, key: Option<SecretKey>) -> Result<Box<dyn ServerSet>, Error> {
        match self {
            Self::Native(connection, Some(filter)) => {
                let (set, _) = NativeSet::new(&connection.origin, filter, connection.round_trip())?;
                Ok(Box::new(set))
            }
            Self::Native(connection, None) | Self::Served(Served { connection, .. }) => {
                let known = Known { secret_key: key, key_of_several: true, ..Known::default() };
                Ok(open(&connection.origin, &known)?.0)
            }
        }
    }
}
