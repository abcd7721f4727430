//! Creates an empty filter of a given format, of the size that its own system would choose.

use crate::limits::check_fpp;
use crate::{
    BitsAndBloomsFilter, BloomFileter, BloomFileterOptions, BloomFileterRate, DcsoFilter, Error,
    ForeignFilter, Format, GuavaFilter, GuavaOptions, Limits, MagnusFilter, MagnusForm,
    MagnusSizing, PyBloomFilterMmap, PyBloomLiveFilter, PyBloomLiveRelease, RbloomFilter,
    RedisBloomFilter, RedisBloomOptions, RedissonConfig, RedissonFilter, RedissonSpelling, Shape,
    SparkFilter, SparkOptions, SparkVersion, SplitBlockFilter, SplitBlockSize, open_with,
};

/// The class of a `BloomFileter` whose program keeps it outside of any package.
const BLOOMFILETER_CLASS: &str = "BloomFileter";
/// Bits that Spark's first version can set: its positions are Java ints.
const SPARK_V1_BITS: u64 = 1 << 31;

/// The parameters of a new filter.
///
/// # Examples
///
/// ```
/// use mayhap_formats::NewFilter;
///
/// let new = NewFilter { seed: Some(42), ..NewFilter::new(1_000, 0.01) };
/// assert_eq!((new.expected_items, new.target_fpp, new.hash_seeds), (1_000, 0.01, None));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NewFilter<'a> {
    /// n.
    pub expected_items: u64,
    /// p.
    pub target_fpp: f64,
    /// Of [`Format::Spark`]: the seed of a filter of version 2; without it, version 1.
    pub seed: Option<u64>,
    /// Of [`Format::PyBloomFilterMmap`]: one seed per hash function; without them 1, 2, 3, …, as
    /// many as the original would draw.
    pub hash_seeds: Option<&'a [u32]>,
    /// Of [`Format::BloomFileter`]: the class that will read the file; without it `BloomFileter`.
    pub class_name: Option<&'a str>,
    /// Of [`Format::BloomFileter`]: the share of marks of its bits at which it clears itself.
    pub auto_clear_rate: Option<f64>,
}

impl NewFilter<'_> {
    /// A filter for n keys with the rate p.
    pub fn new(expected_items: u64, target_fpp: f64) -> Self {
        Self {
            expected_items,
            target_fpp,
            seed: None,
            hash_seeds: None,
            class_name: None,
            auto_clear_rate: None,
        }
    }

    /// n as a Java long.
    fn long(&self) -> Result<i64, Error> {
        i64::try_from(self.expected_items).map_err(|_| self.too_many(i64::MAX as u64))
    }

    /// n as a Java int.
    fn int(&self) -> Result<i32, Error> {
        i32::try_from(self.expected_items).map_err(|_| self.too_many(i32::MAX as u64))
    }

    fn too_many(&self, limit: u64) -> Error {
        Error::TooLarge { field: "number of keys", limit, found: self.expected_items }
    }

    /// Checks what does not depend on n: p, and that no parameter belongs to another format.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`] unless 0 < p < 1; [`Error::Unsupported`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::{Format, NewFilter};
    ///
    /// let new = NewFilter { seed: Some(42), ..NewFilter::new(1_000, 0.01) };
    /// assert!(new.check(Format::Spark).is_ok() && new.check(Format::Guava).is_err());
    /// ```
    pub fn check(&self, format: Format) -> Result<(), Error> {
        check_fpp("p", self.target_fpp)?;
        let row = Row::of(format)?;
        let given = [
            (Own::Seed, self.seed.is_some()),
            (Own::HashSeeds, self.hash_seeds.is_some()),
            (Own::Class, self.class_name.is_some()),
            (Own::ClearRate, self.auto_clear_rate.is_some()),
        ];
        for (own, is_given) in given {
            if is_given && !row.own.contains(&own) {
                let (operation, reason) = own.refusal();
                return Err(Error::Unsupported { format: row.format.name(), operation, reason });
            }
        }
        Ok(())
    }
}

/// Parameters that only one system has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    Seed,
    HashSeeds,
    Class,
    ClearRate,
}

impl Own {
    /// The operation and the reason of [`Error::Unsupported`].
    fn refusal(self) -> (&'static str, &'static str) {
        match self {
            Self::Seed => ("a seed", "only spark filters of version 2 have one"),
            Self::HashSeeds => {
                ("choosing the seeds of its hash functions", "only pybloomfiltermmap has these")
            }
            Self::Class => ("naming its class", "only files of bloomfileter record one"),
            Self::ClearRate => ("clearing itself", "only filters of bloomfileter do"),
        }
    }
}

type Created = Result<Box<dyn ForeignFilter>, Error>;

/// How filters of a format are created.
#[derive(Debug, Clone, Copy)]
struct Row {
    format: Format,
    own: &'static [Own],
    create: fn(&NewFilter<'_>, &Limits) -> Created,
}

impl Row {
    fn of(format: Format) -> Result<&'static Self, Error> {
        ROWS.iter().find(|row| row.format == format).ok_or(Error::Unsupported {
            format: format.name(),
            operation: "creating one",
            reason: "create it with its own system",
        })
    }
}

const fn row(format: Format, create: fn(&NewFilter<'_>, &Limits) -> Created) -> Row {
    Row { format, own: &[], create }
}

/// All formats.
const ROWS: &[Row] = &[
    Row {
        own: &[Own::Class, Own::ClearRate],
        ..row(Format::BloomFileter, |new, limits| boxed(bloomfileter(new, limits)))
    },
    row(Format::Guava, |new, limits| {
        let options = GuavaOptions { fpp: new.target_fpp, ..GuavaOptions::new(new.long()?) };
        boxed(GuavaFilter::create(&options, limits))
    }),
    row(Format::MagnusS, |new, limits| {
        let sizing = MagnusSizing::Rate { fpp: new.target_fpp, expected_items: new.int()? };
        sizing.check_overflow()?;
        boxed(MagnusFilter::create(&sizing, MagnusForm::BitSet, limits))
    }),
    row(Format::MagnusRedis, |new, limits| {
        let sizing = MagnusSizing::RedisRate { fpp: new.target_fpp, expected_items: new.int()? };
        sizing.check_overflow()?;
        boxed(MagnusFilter::create(&sizing, MagnusForm::Redis, limits))
    }),
    row(Format::Redisson, |new, limits| {
        let spelling = RedissonSpelling::Exponent;
        let config = RedissonConfig::new(new.long()?, new.target_fpp, spelling)?;
        boxed(RedissonFilter::create(config, limits))
    }),
    row(Format::BitsAndBlooms, |new, limits| {
        boxed(BitsAndBloomsFilter::create(new.expected_items, new.target_fpp, limits))
    }),
    row(Format::WillfFnv, |new, limits| {
        let created = BitsAndBloomsFilter::create(new.expected_items, new.target_fpp, limits);
        boxed(created.map(BitsAndBloomsFilter::of_willf))
    }),
    row(Format::Dcso, |new, limits| {
        boxed(DcsoFilter::create(new.expected_items, new.target_fpp, limits))
    }),
    row(Format::Parquet, |new, limits| {
        let size = SplitBlockSize::PowerOfTwo;
        boxed(SplitBlockFilter::create(new.expected_items, new.target_fpp, size, limits))
    }),
    Row {
        own: &[Own::HashSeeds],
        ..row(Format::PyBloomFilterMmap, |new, limits| boxed(pybloomfiltermmap(new, limits)))
    },
    row(Format::PyBloomFilterMmap03, |new, limits| {
        boxed(pybloomfiltermmap(new, limits).map(PyBloomFilterMmap::of_release_03))
    }),
    row(Format::PyBloomLive3, |new, limits| pybloom_live(new, PyBloomLiveRelease::V3, limits)),
    row(Format::PyBloomLive4, |new, limits| pybloom_live(new, PyBloomLiveRelease::V4, limits)),
    row(Format::Rbloom, |new, limits| {
        boxed(RbloomFilter::create(new.expected_items, new.target_fpp, limits))
    }),
    row(Format::RedisBloom, |new, limits| {
        let options = RedisBloomOptions::new(new.target_fpp, new.expected_items);
        boxed(RedisBloomFilter::create(&options, limits))
    }),
    Row { own: &[Own::Seed], ..row(Format::Spark, |new, limits| boxed(spark(new, limits))) },
];

/// Creates an empty filter with the m and k that its system computes from n and p; with the
/// defaults of its newest release where releases differ, except that a Spark filter without a seed
/// has version 1, which every release reads.
///
/// A size that the system itself would get wrong (a 32-bit product that wraps, bits that no
/// position reaches) is rejected.
///
/// # Errors
///
/// Those of the format's own `create`, among them [`Error::Refused`] with the system's message;
/// [`Error::TooLarge`] for more keys or bits than the system or the limits allow, before anything
/// is allocated; [`Error::Unsupported`] for an own parameter of another format;
/// [`Error::BadField`] for a p below that of the finest preset of `BloomFileter`.
///
/// # Examples
///
/// ```
/// use mayhap_formats::{Format, Limits, NewFilter};
///
/// let new = NewFilter::new(1_000, 0.01);
/// let mut filter = mayhap_formats::create(Format::Guava, &new, &Limits::default())?;
/// assert_eq!((filter.num_bits(), filter.num_hashes()), (9_600, 7));
/// assert!(filter.insert(b"hello")? && filter.contains(b"hello") && !filter.contains(b"bye"));
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
pub fn create(
    format: Format,
    new: &NewFilter<'_>,
    limits: &Limits,
) -> Result<Box<dyn ForeignFilter>, Error> {
    new.check(format)?;
    (Row::of(format)?.create)(new, limits)
}

/// Creates an empty filter of a given m and k, of the formats whose systems take these:
/// [`Format::BitsAndBlooms`] (`New`), [`Format::MagnusS`] and [`Format::MagnusRedis`].
///
/// # Errors
///
/// [`Error::Unsupported`] for other formats; [`Error::Zero`], [`Error::BadField`],
/// [`Error::TooLarge`], [`Error::OutOfMemory`].
///
/// # Examples
///
/// ```
/// use mayhap_formats::{Format, Limits, Shape};
///
/// let (shape, limits) = (Shape { num_bits: 10_099, num_hashes: 7 }, Limits::default());
/// let filter = mayhap_formats::create_with(Format::MagnusS, shape, &limits)?;
/// assert_eq!((filter.num_bits(), filter.num_hashes(), filter.count_ones()), (10_099, 7, 0));
/// assert!(mayhap_formats::create_with(Format::Guava, shape, &limits).is_err());
/// # Ok::<(), mayhap_formats::Error>(())
/// ```
pub fn create_with(
    format: Format,
    shape: Shape,
    limits: &Limits,
) -> Result<Box<dyn ForeignFilter>, Error> {
    match format {
        Format::BitsAndBlooms => {
            let (num_bits, num_hashes) = (shape.num_bits, u64::from(shape.num_hashes));
            let Ok(num_bits) = u64::try_from(num_bits) else {
                return Err(Error::bad("m", "1 and more", num_bits));
            };
            boxed(BitsAndBloomsFilter::with_sizes(num_bits, num_hashes, limits))
        }
        Format::MagnusS | Format::MagnusRedis => open_with(format, &[], shape, limits),
        _ => Err(Error::Unsupported {
            format: format.name(),
            operation: "choosing m and k",
            reason: "its system computes them from n and p; give these",
        }),
    }
}

fn boxed<F: ForeignFilter + 'static>(created: Result<F, Error>) -> Created {
    Ok(Box::new(created?))
}

/// The coarsest preset that keeps p.
fn bloomfileter(new: &NewFilter<'_>, limits: &Limits) -> Result<BloomFileter, Error> {
    let fpp = check_fpp("p", new.target_fpp)?;
    let Some(rate) = BloomFileterRate::of_fpp(fpp) else {
        return Err(Error::bad("p", "4.3e-7 and more, which the preset HIGH has", fpp));
    };
    let class_name = new.class_name.unwrap_or(BLOOMFILETER_CLASS);
    let data_count = new.int()?;
    let auto_clear_rate = new.auto_clear_rate;
    let new_object = BloomFileterOptions::new(data_count, class_name);
    let options = BloomFileterOptions { rate, auto_clear_rate, ..new_object };
    let num_bits = u64::from(rate.num_hashes()) * new.expected_items;
    let limit = i32::MAX as u64;
    if num_bits > limit {
        // The product of the class wraps.
        return Err(Error::TooLarge { field: "number of bits", limit, found: num_bits });
    }
    BloomFileter::create(&options, limits)
}

fn pybloomfiltermmap(new: &NewFilter<'_>, limits: &Limits) -> Result<PyBloomFilterMmap, Error> {
    let fpp = check_fpp("p", new.target_fpp)?;
    let num_hashes = PyBloomFilterMmap::default_num_hashes(fpp);
    let seeds: Vec<u32> = match new.hash_seeds {
        Some(seeds) => seeds.to_vec(),
        None => (1..).take(num_hashes).collect(),
    };
    PyBloomFilterMmap::create(new.expected_items, fpp, &seeds, limits)
}

fn pybloom_live(new: &NewFilter<'_>, release: PyBloomLiveRelease, limits: &Limits) -> Created {
    boxed(PyBloomLiveFilter::create(new.expected_items, new.target_fpp, release, limits))
}

fn spark(new: &NewFilter<'_>, limits: &Limits) -> Result<SparkFilter, Error> {
    let version = match new.seed {
        None => SparkVersion::V1,
        Some(seed) => SparkVersion::V2 {
            seed: i32::try_from(seed).map_err(|_| Error::TooLarge {
                field: "seed",
                limit: i32::MAX as u64,
                found: seed,
            })?,
        },
    };
    let options = SparkOptions { fpp: new.target_fpp, version, ..SparkOptions::new(new.long()?) };
    let num_bits = u64::from(options.num_longs_and_hashes()?.0) * 64;
    if version == SparkVersion::V1 && num_bits > SPARK_V1_BITS {
        let field = "number of bits of version 1 (a seed chooses version 2)";
        return Err(Error::TooLarge { field, limit: SPARK_V1_BITS, found: num_bits });
    }
    SparkFilter::create(&options, limits)
}
