//! New filters on a server: what `create` and `dedup --state` make.

use super::{Connection, RemoteFile};
use crate::args::{DEFAULT_FPP, DigestArgs, Existing, SizeArgs, secret_key};
use crate::error::Error;
use crate::io::messages::{Talk, grouped};
use crate::set::fill::Counts;
use crate::set::summary::Summary;
use mayhap::{DigestFunction, FilterParams, Layout};
use mayhap_keys::KeyOptions;
use mayhap_redis::{NativeFilter, NativeOptions};
use mayhap_sets::KeySet;
use std::time::Duration;

/// A request for a filter.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Its size.
    pub size: &'a SizeArgs,
    /// How keys become digests.
    pub digest: &'a DigestArgs,
    /// How keys are cut.
    pub options: &'a KeyOptions,
    /// When it expires.
    pub ttl: Option<Duration>,
}

impl Wanted<'_> {
    /// The numbers of a filter: of the layout `blocked` unless another is named, as `standard` has
    /// to be in one value.
    fn params(&self, name: &str) -> Result<FilterParams, Error> {
        if !self.size.is_fixed() {
            return Err(Error::usage(
                format!("how many keys is {name} for? Neither -n nor --mem is given"),
                "for example: -n 10M -p 0.1%",
            ));
        }
        let builder = match self.size.layout {
            Some(layout) if layout.layout().is_none() => return Err(refuse_kind(layout.name())),
            Some(_) => self.size.builder(self.size.items)?,
            None => {
                let builder = self.size.builder(self.size.items)?.layout(Layout::Blocked);
                match (self.size.items, self.size.mem) {
                    (Some(items), None) => {
                        let fpp = self.size.fpp.unwrap_or(DEFAULT_FPP);
                        let usual = NativeOptions::for_items(items, fpp)?;
                        builder.num_hashes(usual.params.num_hashes())
                    }
                    _ => builder,
                }
            }
        };
        let params = builder.params()?;
        let (items, bytes) = (params.expected_items(), params.num_bytes());
        self.size.check_rate(items, bytes, params.target_fpp())?;
        Ok(params)
    }

    /// The request to the server; creates the new key file if one was requested.
    fn native(&self, name: &str) -> Result<NativeOptions, Error> {
        let mut native = NativeOptions::new(self.params(name)?);
        native.digest_function = self.digest.function()?;
        native.key_options = self.options.to_header();
        native.ttl = self.ttl;
        Ok(native)
    }
}

/// Why there is no filter of this kind on a server, and what to do.
pub(super) fn refuse_kind(kind: &str) -> Error {
    Error::usage(
        format!("a {kind} filter cannot be on a server"),
        "there are those of the layouts blocked and standard; keep this one in a \
         file, or let one on a server expire: mayhap create URL --ttl 7d",
    )
}

/// `mayhap create URL`: makes the filter, or finds the one that is there with the same numbers.
///
/// # Errors
///
/// [`Error::Usage`], [`Error::Remote`].
pub fn create(
    connection: &Connection,
    wanted: Wanted<'_>,
    force: bool,
    (talk, json): (Talk, bool),
) -> Result<(), Error> {
    let name = connection.place.name.clone();
    let native = wanted.native(&name)?;
    let (server, filter) = (&connection.server, &connection.place.filter);
    let filter = if force {
        connection.wait(async {
            // Readers see the old one or the new one.
            let hold = server.options().deadline.max(Duration::from_secs(60));
            let next = NativeFilter::rebuild(server, filter, &native, hold).await?;
            next.swap().await?;
            Ok(next)
        })?
    } else {
        connection.wait(NativeFilter::create(server, filter, &native))?
    };
    let was_there = !force && !filter.was_created();
    let (file, _) = RemoteFile::of(connection, filter)?;
    if was_there {
        let keys = grouped(file.items());
        talk.say(&format!(
            "{name}: was there already with these numbers and {keys} keys; unchanged"
        ));
        if wanted.ttl.is_some() {
            talk.warn("it keeps the time to live that it was created with");
        }
    }
    Summary::new(name, Counts::default(), Duration::ZERO, true, file.state()).print(talk, json)
}

/// The filter for `dedup --state URL`: the one that is there, if the arguments do not contradict
/// it, or a new one.
///
/// # Errors
///
/// [`Error::Usage`], [`Error::Remote`].
pub fn find_or_create(
    connection: &Connection,
    wanted: Wanted<'_>,
) -> Result<(RemoteFile, KeyOptions), Error> {
    let name = &connection.place.name;
    let key = secret_key(wanted.digest.key_file.as_deref())?;
    let filter = if let Some(filter) = connection.find(key)? {
        check(name, &filter, wanted)?;
        filter
    } else {
        let native = wanted.native(name)?;
        let (server, filter) = (&connection.server, &connection.place.filter);
        connection.wait(NativeFilter::create(server, filter, &native))?
    };
    let (file, options) = RemoteFile::of(connection, filter)?;
    let options = options.agree(name, wanted.options)?;
    Ok((file, options))
}

/// Refuses numbers that contradict those of the filter that is there.
fn check(name: &str, filter: &NativeFilter, wanted: Wanted<'_>) -> Result<(), Error> {
    let (params, function) = (filter.params(), filter.digest_function());
    let is_keyed = matches!(function, DigestFunction::Sip13 { .. });
    let existing = Existing {
        name,
        expected_items: params.expected_items(),
        target_fpp: params.target_fpp(),
        shape: Some((params.layout(), params.num_bytes())),
        seed: (!is_keyed).then(|| function.parameter()),
    };
    existing.check(wanted.size, wanted.digest)
}
