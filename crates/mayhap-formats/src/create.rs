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
    /// For [`Format::Spark`]: the seed of a filter of version 2; without it, version 1.
    pub seed: Option<u64>,
    /// For [`Format::PyBloomFilterMmap`]: one seed per hash function; without them 1, 2, 3, …, as
    /// many as the original would draw.
    pub hash_seeds: Option<&'a [u32]>,
    /// For [`Format::BloomFileter`]: the class that will read the file; without it `BloomFileter`.
    pub class_name: Option<&'a str>,
    /// For [`Format::BloomFileter`]: the share of marks of its bits at which it clears itself.
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

    /// Checks the parts that do not depend on n: p, and that no parameter belongs to another
    /// format.
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
        // The parameters that only one system has.
        let own = [
            (
                self.seed.is_some(),
                Format::Spark,
                "a seed",
                "only spark filters of version 2 have one",
            ),
            (
                self.hash_seeds.is_some(),
                Format::PyBloomFilterMmap,
                "choosing the seeds of its hash functions",
                "only pybloomfiltermmap has these",
            ),
            (
                self.class_name.is_some(),
                Format::BloomFileter,
                "naming its class",
                "only files of bloomfileter record one",
            ),
            (
                self.auto_clear_rate.is_some(),
                Format::BloomFileter,
                "clearing itself",
                "only filters of bloomfileter do",
            ),
        ];
        for (is_given, of, operation, reason) in own {
            if is_given && format != of {
                return Err(Error::Unsupported { format: format.name(), operation, reason });
            }
        }
        Ok(())
    }
}

/// Creates an empty filter with the m and k that its system computes from n and p; with the
/// defaults of its newest release where releases differ, except that a Spark filter without a seed
/// has version 1, which every release reads.
///
/// A size that the system itself would get wrong (a 32-bit product that wraps, bits that no
/// position reaches) is rejected.
///
/// # Errors
///
/// The errors of the format's own `create`, among them [`Error::Refused`] with the system's
/// message; [`Error::TooLarge`] for more keys or bits than the system or the limits allow, before
/// anything is allocated; [`Error::Unsupported`] for an own parameter of another format;
/// [`Error::BadField`] for a p below the finest preset of `BloomFileter`.
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
    let (items, fpp) = (new.expected_items, new.target_fpp);
    match format {
        Format::BloomFileter => boxed(bloomfileter(new, limits)),
        Format::Guava => {
            let options = GuavaOptions { fpp, ..GuavaOptions::new(new.long()?) };
            boxed(GuavaFilter::create(&options, limits))
        }
        Format::MagnusS => {
            let sizing = MagnusSizing::Rate { fpp, expected_items: new.int()? };
            sizing.check_overflow()?;
            boxed(MagnusFilter::create(&sizing, MagnusForm::BitSet, limits))
        }
        Format::MagnusRedis => {
            let sizing = MagnusSizing::RedisRate { fpp, expected_items: new.int()? };
            sizing.check_overflow()?;
            boxed(MagnusFilter::create(&sizing, MagnusForm::Redis, limits))
        }
        Format::Redisson => {
            let config = RedissonConfig::new(new.long()?, fpp, RedissonSpelling::Exponent)?;
            boxed(RedissonFilter::create(config, limits))
        }
        Format::BitsAndBlooms => boxed(BitsAndBloomsFilter::create(items, fpp, limits)),
        Format::WillfFnv => {
            let created = BitsAndBloomsFilter::create(items, fpp, limits);
            boxed(created.map(BitsAndBloomsFilter::of_willf))
        }
        Format::Dcso => boxed(DcsoFilter::create(items, fpp, limits)),
        Format::Parquet => {
            boxed(SplitBlockFilter::create(items, fpp, SplitBlockSize::PowerOfTwo, limits))
        }
        Format::PyBloomFilterMmap => boxed(pybloomfiltermmap(new, limits)),
        Format::PyBloomFilterMmap03 => {
            boxed(pybloomfiltermmap(new, limits).map(PyBloomFilterMmap::of_release_03))
        }
        Format::PyBloomLive3 => {
            boxed(PyBloomLiveFilter::create(items, fpp, PyBloomLiveRelease::V3, limits))
        }
        Format::PyBloomLive4 => {
            boxed(PyBloomLiveFilter::create(items, fpp, PyBloomLiveRelease::V4, limits))
        }
        Format::Rbloom => boxed(RbloomFilter::create(items, fpp, limits)),
        Format::RedisBloom => {
            boxed(RedisBloomFilter::create(&RedisBloomOptions::new(fpp, items), limits))
        }
        Format::Spark => boxed(spark(new, limits)),
    }
}

/// Creates an empty filter of a given m and k, for the formats whose systems take these:
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

fn boxed<F: ForeignFilter + 'static>(
    created: Result<F, Error>,
) -> Result<Box<dyn ForeignFilter>, Error> {
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
    // The product of the class wraps.
    Error::check_limit("number of bits", i32::MAX as u64, num_bits)?;
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

fn spark(new: &NewFilter<'_>, limits: &Limits) -> Result<SparkFilter, Error> {
    let version = match new.seed {
        None => SparkVersion::V1,
        Some(seed) => {
            Error::check_limit("seed", i32::MAX as u64, seed)?;
            SparkVersion::V2 { seed: seed as i32 }
        }
    };
    let options = SparkOptions { fpp: new.target_fpp, version, ..SparkOptions::new(new.long()?) };
    let num_bits = u64::from(options.num_longs_and_hashes()?.0) * 64;
    if version == SparkVersion::V1 && num_bits > SPARK_V1_BITS {
        let field = "number of bits of version 1 (a seed chooses version 2)";
        return Err(Error::TooLarge { field, limit: SPARK_V1_BITS, found: num_bits });
    }
    SparkFilter::create(&options, limits)
}
