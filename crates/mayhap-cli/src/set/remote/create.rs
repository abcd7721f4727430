//! New filters on a server: what `create` and `dedup --state` make.

use super::Connection;
use super::bits::Bits;
use super::model::Model;
use super::served::{Served, is_plain};
use super::target::Target;
use crate::args::{
    DEFAULT_FPP, DigestArgs, Existing, ForeignArgs, ReplicaArgs, ServerArgs, SizeArgs, secret_key,
};
use crate::error::Error;
use crate::io::messages::{Reporter, counted};
use crate::io::progress::Progress;
use crate::set::create::MAGNUS_DEFAULT;
use crate::set::summary::Summary;
use mayhap::set::Repeats;
use mayhap::{DigestFunction, FilterParams, Layout, SecretKey};
use mayhap_formats::{Format, MagnusSizing};
use mayhap_keys::KeyOptions;
use mayhap_lists::Stop;
use mayhap_redis::{
    BfGrowth, BfKind, BfOptions, Found, MagnusParams, NativeFilter, NativeOptions, find,
};
use mayhap_sets::server::{Known, NativeSet, Plan, ServerUrl, magnus_params};
use mayhap_sets::{KeySet, LayoutName, Measurements, State};
use mayhap_units::window::WindowSize;
use std::path::Path;
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
    /// Of which system it is, if that is said.
    pub foreign: &'a ForeignArgs,
}

impl Wanted<'_> {
    /// The numbers of a filter: of the layout `blocked` unless another is named, as `standard` has
    /// to be in one value.
    fn params(&self, name: &str) -> Result<FilterParams, Error> {
        if !self.size.is_fixed() {
            return Err(Error::usage(
                format!("the capacity of {name} is missing: neither -n nor --mem is given"),
                "for example: -n 10M -p 0.1%",
            ));
        }
        let builder = match self.size.layout {
            Some(layout) if layout.layout().is_none() => return Err(refuse_kind(layout.name())),
            Some(_) => self.size.builder(self.size.items)?,
            None => {
                let builder = self.size.builder(self.size.items)?.layout(Layout::Blocked);
                match (self.size.items, self.size.mem) {
                    (Some(items), None) if self.size.preset.is_none() => {
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

    /// The numbers of a filter of this scheme, which is not mayhap's own layout.
    fn plan(&self, name: &str, scheme: Format, known: &Known) -> Result<Plan, Error> {
        self.size.refuse_preset("server's")?;
        if self.size.mem.is_some() {
            return Err(Error::usage(
                format!("--mem is given, but the server sizes {name} by its number of keys"),
                "give -n and -p",
            ));
        }
        if self.digest.key_file.is_some() || self.digest.new_key_file.is_some() {
            return Err(Error::usage(
                format!("a secret key is given, but the server hashes the keys of {name}"),
                "mayhap serve has its own secret key; omit yours",
            ));
        }
        let (items, fpp) = (self.size.items.or_else(|| self.items_of_window()), self.size.fpp);
        let (items, fpp) = match (scheme, items, fpp) {
            (Format::MagnusRedis, None, None) => (Some(MAGNUS_DEFAULT.0), Some(MAGNUS_DEFAULT.1)),
            _ => (items, fpp),
        };
        let target_fpp = fpp.unwrap_or(DEFAULT_FPP);
        if let (Format::MagnusRedis, Some(_)) = (scheme, known.shape) {
            let params = magnus_params(known)?;
            return Ok(Plan::Magnus { params, num_bitmaps: known.num_bitmaps.unwrap_or(1) });
        }
        let Some(expected_items) = items else {
            return Err(Error::usage(
                format!("the capacity of {name} is missing: -n is not given"),
                "for example: -n 10M -p 0.1%",
            ));
        };
        Ok(match scheme {
            Format::Redisson => {
                self.only_plain("redisson")?;
                Plan::Redisson { expected_items, target_fpp }
            }
            Format::MagnusRedis => {
                self.only_plain("magnuss-redis")?;
                // Of as many keys it is too large in any case.
                let expected_items = i32::try_from(expected_items).unwrap_or(i32::MAX);
                let sizing = MagnusSizing::RedisRate { fpp: target_fpp, expected_items };
                let refused = |problem: String| {
                    Error::usage(
                        format!("cannot create {name}: {problem}"),
                        "choose fewer keys (-n) or a higher rate (-p), or several bitmaps of this \
                         size (--bitmaps COUNT)",
                    )
                };
                sizing.check_overflow().map_err(|error| refused(error.to_string()))?;
                let params = MagnusParams::of_rate(target_fpp, expected_items);
                let params = params.map_err(|error| refused(error.to_string()))?;
                Plan::Magnus { params, num_bitmaps: known.num_bitmaps.unwrap_or(1) }
            }
            _ => Plan::Bf(self.bf_options(expected_items, target_fpp)?),
        })
    }

    fn items_of_window(&self) -> Option<u64> {
        match self.size.layout {
            Some(LayoutName::Window(WindowSize::Items(items))) => Some(items),
            _ => None,
        }
    }

    fn only_plain(&self, scheme: &str) -> Result<(), Error> {
        match self.size.layout {
            None => Ok(()),
            Some(layout) => Err(Error::usage(
                format!("--layout {layout} is given, but a filter of {scheme} has a fixed layout"),
                "omit --layout",
            )),
        }
    }

    fn bf_options(&self, expected_items: u64, target_fpp: f64) -> Result<BfOptions, Error> {
        let mut options = BfOptions::new(expected_items, target_fpp);
        match self.size.layout {
            None | Some(LayoutName::Scalable) => {}
            Some(LayoutName::Blocked | LayoutName::Standard) => options.growth = BfGrowth::None,
            Some(LayoutName::Compact) => options.kind = BfKind::Compact,
            Some(LayoutName::Counting) => options.kind = BfKind::Counting,
            Some(LayoutName::Window(WindowSize::Items(items))) => {
                options.kind = BfKind::WindowItems(items);
            }
            Some(LayoutName::Window(WindowSize::Millis(millis))) => {
                options.kind = BfKind::WindowMillis(millis);
            }
            Some(layout) => return Err(refuse_kind(layout.name())),
        }
        options.public = match self.digest.seed {
            None => false,
            Some(0) => true,
            Some(seed) => {
                return Err(Error::usage(
                    format!("--seed {seed} is given, but a filter there has the seed 0 or a key"),
                    "--seed 0 is for digests that clients send; without --seed it has the \
                     server's secret key",
                ));
            }
        };
        Ok(options)
    }
}

/// The scheme of the command line; else that of what is there, or of the server; `None` for
/// mayhap's own layout.
fn scheme(connection: &Connection, wanted: Wanted<'_>) -> Result<Option<Format>, Error> {
    let name = &connection.origin.url;
    Ok(match wanted.foreign.format {
        Some(format @ (Format::RedisBloom | Format::Redisson | Format::MagnusRedis)) => {
            Some(format)
        }
        Some(format) => {
            return Err(Error::usage(
                format!("{name}: filters of {} exist as files only", format.name()),
                "servers can have redisbloom, redisson and magnuss-redis",
            ));
        }
        None => {
            let (server, filter) = (&connection.origin.server, &connection.origin.name);
            let key = secret_key(wanted.digest.key_file.as_deref())?;
            match mayhap_sets::server::wait(find(server, filter, key))? {
                Ok(Found::Bf(_) | Found::Nothing { filters_only: true }) => {
                    Some(Format::RedisBloom)
                }
                Ok(Found::Redisson(_)) => Some(Format::Redisson),
                // Creating it reports what is wrong with the key.
                Ok(_) | Err(mayhap_redis::Error::Filter(_)) => None,
                Err(source) => return Err(connection.error(source)),
            }
        }
    })
}

/// Why there is no filter of this kind on this server, and what to do.
pub(super) fn refuse_kind(kind: &str) -> Error {
    Error::usage(
        format!("a {kind} filter cannot be on this server"),
        "use the layouts blocked or standard there, or keep this one in a file; mayhap serve has \
         scalable, compact, counting and window ones; a filter on any server can expire: mayhap \
         create URL --ttl 7d",
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
    (talk, json): (Reporter, bool),
) -> Result<(), Error> {
    let name = connection.origin.url.clone();
    connection.warn_of_eviction(wanted.ttl)?;
    let known = wanted.foreign.known(None);
    if let Some(scheme) = scheme(connection, wanted)? {
        let plan = wanted.plan(&name, scheme, &known)?;
        return create_other(connection, (plan, known), (wanted, force), (talk, json));
    }
    create_native(connection, &wanted.native(&name)?, force, (talk, json))
}

/// [`create`] in mayhap's own layout.
///
/// # Errors
///
/// [`Error::Remote`].
pub fn create_native(
    connection: &Connection,
    native: &NativeOptions,
    force: bool,
    (talk, json): (Reporter, bool),
) -> Result<(), Error> {
    let name = connection.origin.url.clone();
    let (server, filter) = (&connection.origin.server, &connection.origin.name);
    let filter = if force {
        connection.wait(async {
            // Readers see the old one or the new one.
            let hold = server.options().deadline.max(Duration::from_secs(60));
            let next = NativeFilter::rebuild(server, filter, native, hold).await?;
            next.swap().await?;
            Ok(next)
        })?
    } else {
        connection.wait(NativeFilter::create(server, filter, native))?
    };
    let was_there = !force && !filter.was_created();
    let (file, _) = NativeSet::new(&connection.origin, filter, connection.round_trip())?;
    if was_there {
        let keys = counted(file.items(), "key");
        talk.say(&format!("{name}: exists already with these parameters and {keys}; unchanged"));
        if native.ttl.is_some() {
            talk.warn("it keeps its original time to live");
        }
    }
    Summary::unfilled(name, file.measurements()).print(talk, json)
}

/// [`create`] of a filter like another one.
///
/// # Errors
///
/// [`Error::Usage`] where `mayhap serve` has another filter; [`Error::Remote`].
pub fn create_like(
    connection: Connection,
    (model, key, ttl): (&Model, Option<SecretKey>, Option<Duration>),
    force: bool,
    (talk, json): (Reporter, bool),
) -> Result<(), Error> {
    let (server, name) = (&connection.origin.server, &connection.origin.name);
    let found = connection.timed(find(server, name, key))?;
    let is_there = match &found {
        Found::Bf(filter) if filter.kind().is_some() => true,
        Found::Nothing { filters_only: true } => false,
        _ => {
            connection.warn_of_eviction(ttl)?;
            let native = NativeOptions { ttl, ..model.native_options() };
            return create_native(&connection, &native, force, (talk, json));
        }
    };
    let url = connection.origin.url.clone();
    let (header, filter) = model.empty()?;
    let bits = Bits::of_memory(&url, header.key_options(), &filter);
    if !is_there {
        let mut place = Served::new(connection, false);
        let stop = Stop::on_signals()?;
        place.pass(&bits, ttl, (&stop, &mut Progress::new(talk, None)))?;
        return Summary::unfilled(url, Measurements::Own(State::of(&filter))).print(talk, json);
    }
    let refused = |hint| Error::usage(format!("{url} exists already"), hint);
    let is_plain = matches!(&found, Found::Bf(it) if it.kind().is_some_and(is_plain));
    if force || !is_plain || Bits::of_dump(&connection, key)?.check_like(&bits).is_err() {
        return Err(refused("use another name, or delete it first: mayhap delete --force URL"));
    }
    talk.say(&format!("{url}: exists already with these parameters; unchanged"));
    let set = Target::Served(Served::new(connection, true)).set(key)?;
    Summary::unfilled(url, set.measurements()).print(talk, json)
}

/// [`create`] of another scheme.
fn create_other(
    connection: &Connection,
    (plan, known): (Plan, Known),
    (wanted, force): (Wanted<'_>, bool),
    (talk, json): (Reporter, bool),
) -> Result<(), Error> {
    let name = connection.origin.url.clone();
    let made = mayhap_sets::server::create(&connection.origin, plan, (wanted.ttl, force), &known)?;
    let (set, was_created) = made;
    if !was_created {
        talk.say(&format!("{name}: exists already with these parameters; unchanged"));
        if wanted.ttl.is_some() {
            talk.warn("it keeps its original time to live");
        }
    }
    if *wanted.options != KeyOptions::default() {
        talk.say(&format!(
            "{name}: a key is {}; a filter of {} cannot record that, so give the same options with \
             each query",
            wanted.options.describe(),
            set.scheme()
        ));
    }
    if let Plan::Magnus { params, num_bitmaps } = plan {
        talk.say(&format!(
            "{name}: does not store its parameters; use it with --format magnuss-redis --bits {} \
             --hashes {}{}",
            params.num_bits.unsigned_abs(),
            params.num_hashes,
            if num_bitmaps > 1 { format!(" --bitmaps {num_bitmaps}") } else { String::new() },
        ));
    }
    Summary::unfilled(name, set.measurements()).print(talk, json)
}

/// The filter for `dedup --state URL`: the one that is there, if the arguments do not contradict
/// it, or a new one.
///
/// # Errors
///
/// [`Error::Usage`], [`Error::Remote`].
pub fn find_or_create(
    path: &Path,
    wanted: Wanted<'_>,
    (server, replicas): (&ServerArgs, ReplicaArgs),
    talk: Reporter,
) -> Result<(Box<dyn KeySet>, KeyOptions), Error> {
    let connection = &Connection::open(ServerUrl::of(path)?, server, replicas, talk)?;
    let name = &connection.origin.url;
    let known = wanted.foreign.known(secret_key(wanted.digest.key_file.as_deref())?);
    let (server, filter) = (&connection.origin.server, &connection.origin.name);
    let found = connection.timed(find(server, filter, known.secret_key))?;
    let origin = &connection.origin;
    let filter = match found {
        Found::Native(filter) => {
            check(name, &filter, wanted)?;
            filter
        }
        Found::Nothing { filters_only: false } => {
            let native = wanted.native(name)?;
            connection.warn_of_eviction(wanted.ttl)?;
            connection.wait(NativeFilter::create(server, filter, &native))?
        }
        Found::Nothing { filters_only: true } => {
            let plan = wanted.plan(name, Format::RedisBloom, &known)?;
            let (set, _) = mayhap_sets::server::create(origin, plan, (None, false), &known)?;
            return Ok((set, wanted.options.clone()));
        }
        found => {
            let (set, _) =
                mayhap_sets::server::of_found(origin, found, &known, connection.round_trip())?;
            let target_fpp = set.numbers(Repeats::Renew).target_fpp;
            let is_guess = set.texts().is_some_and(|texts| texts.key_types().is_guess);
            if target_fpp.is_nan() || is_guess {
                return Err(Error::usage(
                    format!(
                        "{name} is a filter of {}, for which the share of lost lines is unknown",
                        set.scheme()
                    ),
                    "use a filter in mayhap's own layout or on mayhap serve; mayhap add counts the \
                     new keys of this one",
                ));
            }
            if let Some(given) = wanted.size.fpp.filter(|&given| given != target_fpp) {
                return Err(crate::args::conflict("-p", &given, &target_fpp, name));
            }
            return Ok((set, wanted.options.clone()));
        }
    };
    let (set, options) = NativeSet::new(origin, filter, connection.round_trip())?;
    let options = options.agree(name, wanted.options)?;
    Ok((Box::new(set), options))
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
