//! New filters of other systems, as `--format` says: of the sizes that these would choose.

use crate::args::{DEFAULT_FPP, DigestArgs, SizeArgs, SystemArgs};
use crate::error::Error;
use mayhap::Preset;
use mayhap_formats::{BloomFileterRate, Format, NewFilter, RedissonFilter};
use mayhap_sets::file::{ForeignFile, ForeignSet, Size};
use std::path::Path;

/// n and p of a filter in Redis by the constructor without arguments of its class.
pub const MAGNUS_DEFAULT: (u64, f64) = (600_000, 1e-4);

/// A file of another system to be created, its arguments checked for what contradicts it.
#[derive(Debug, Clone, Copy)]
pub struct NewSystemFile<'a> {
    path: &'a Path,
    format: Format,
    system: &'a SystemArgs,
    size: &'a SizeArgs,
}

impl<'a> NewSystemFile<'a> {
    /// The file that is requested; `None` for one of mayhap's own.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for arguments that its system has no use for.
    pub fn of(
        path: &'a Path,
        system: &'a SystemArgs,
        (size, digest): (&'a SizeArgs, &DigestArgs),
    ) -> Result<Option<Self>, Error> {
        let Some(format) = system.foreign.format else {
            let Some(key_type) = system.foreign.key_type else { return Ok(None) };
            return Err(Error::usage(
                format!("--key-type {} is given, and no --format", key_type.name()),
                "omit it: mayhap's own filters hash the bytes of a key; or name a system",
            ));
        };
        let new = Self { path, format, system, size };
        new.check_own(digest)?;
        if new.has_shape() && (size.items.is_some() || size.fpp.is_some()) {
            return Err(Error::usage(
                "--bits and --hashes are given, and -n or -p, which give the size too",
                "omit one or the other",
            ));
        }
        if !new.has_shape() {
            // All that does not depend on the number of keys, before any is counted.
            let checked = new.numbers(1, digest).check(format);
            checked.map_err(|source| new.refused(source))?;
        }
        Ok(Some(new))
    }

    /// Refuses what only mayhap's own filters have.
    fn check_own(&self, digest: &DigestArgs) -> Result<(), Error> {
        let format = self.format.name();
        if let Some(layout) = self.size.layout {
            return Err(Error::usage(
                format!("--layout {layout} is given, but a {format} filter has a fixed layout"),
                format!("omit --layout; or omit --format, for mayhap's own {layout} filter"),
            ));
        }
        if self.format != Format::BloomFileter {
            self.size.refuse_preset(format)?;
        }
        if self.size.mem.is_some() {
            return Err(Error::usage(
                format!("--mem does not size a {format} filter"),
                "give the keys with -n and the rate with -p; --max-memory sets a limit",
            ));
        }
        if digest.key_file.is_some() || digest.new_key_file.is_some() {
            return Err(Error::usage(
                format!("a secret key is given, but a {format} filter is hashed without one"),
                "omit it; or omit --format, for mayhap's own filter, which can have one",
            ));
        }
        if self.system.foreign.bitmaps.is_some() {
            return Err(Error::usage(
                "--bitmaps is given, but a file has one bitmap",
                "omit it; a filter on a server can have several",
            ));
        }
        Ok(())
    }

    /// Whether m and k are given, so that the number of keys is not needed.
    pub fn has_shape(&self) -> bool {
        self.system.foreign.shape().is_some()
    }

    /// The name of the format.
    pub fn format(&self) -> &'static str {
        self.format.name()
    }

    fn numbers(&self, items: u64, digest: &DigestArgs) -> NewFilter<'a> {
        NewFilter {
            seed: digest.seed,
            hash_seeds: self.system.hash_seeds.as_deref(),
            class_name: self.system.class.as_deref(),
            auto_clear_rate: self.system.clear_at,
            ..NewFilter::new(items, self.fpp())
        }
    }

    /// The requested rate, or that of the preset, which no other one of the class has.
    fn fpp(&self) -> f64 {
        match self.size.preset {
            None => self.size.fpp.unwrap_or(DEFAULT_FPP),
            Some(Preset::Bits4) => BloomFileterRate::VerySmall.fpp(),
            Some(Preset::Bits8) => BloomFileterRate::Small.fpp(),
            Some(Preset::Bits16) => BloomFileterRate::Middle.fpp(),
            Some(Preset::Bits32) => BloomFileterRate::High.fpp(),
        }
    }

    fn refused(&self, source: mayhap_formats::Error) -> Error {
        let (name, format) = (self.path.display().to_string(), self.format);
        mayhap_sets::file::Error::Create { name, format, source }.into()
    }

    /// Creates the filter for this many keys, and says what the file does not record.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`], [`Error::TooMuchMemory`].
    pub fn build(
        &self,
        items: Option<u64>,
        digest: &DigestArgs,
        overfill: bool,
    ) -> Result<(ForeignSet, Vec<String>), Error> {
        let size = match (self.system.foreign.shape(), items) {
            (Some(shape), _) => Size::Shape(shape),
            (None, Some(items)) => Size::Of(self.numbers(items, digest)),
            // As its constructor without arguments has it.
            (None, None) if self.format == Format::MagnusRedis && self.size.fpp.is_none() => {
                Size::Of(NewFilter::new(MAGNUS_DEFAULT.0, MAGNUS_DEFAULT.1))
            }
            (None, None) => {
                return Err(Error::usage(
                    "the capacity is missing: -n is not given",
                    format!(
                        "for example: mayhap create {} --format {} -n 10M -p 0.1%",
                        self.path.display(),
                        self.format.name()
                    ),
                ));
            }
        };
        let (key_type, max_bytes) = (self.system.foreign.key_type, self.size.max_bytes());
        let file = ForeignFile::create(self.path, self.format, size, key_type, max_bytes)?;
        let notes = notes(&file);
        Ok((ForeignSet::to_fill(file, overfill)?, notes))
    }
}

/// Files that its system, or another command, needs beside this one.
fn notes(file: &ForeignFile) -> Vec<String> {
    let Some(shape) = file.unrecorded_shape() else { return Vec::new() };
    let (name, format) = (file.name(), file.filter().format());
    let mut notes = vec![format!(
        "{name}: does not record its parameters; use it with --format {} --bits {} --hashes {}",
        format.name(),
        shape.num_bits.unsigned_abs(),
        shape.num_hashes
    )];
    let redisson: Option<&RedissonFilter> = file.filter().as_any().downcast_ref();
    if let Some(config) = redisson.and_then(RedissonFilter::config) {
        let fields = config.fields().map(|(field, value)| format!(" {field} {value}")).concat();
        notes.push(format!(
            "{name}: for the Redisson filter NAME: redis-cli -x SET NAME < {name}; \
             redis-cli HSET '{{NAME}}:config'{fields}"
        ));
    }
    if format == Format::MagnusRedis {
        notes.push(format!("{name}: for the key NAME: redis-cli -x SET NAME < {name}"));
    }
    notes
}
