//! The causes of errors of filters on a server: a loss, damage, a misfit.

/// Why a filter, or a part of it, is gone.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// It expired, or somebody deleted it or gave it another name.
    #[error("it expired, was deleted or was renamed")]
    ExpiredOrDeleted,
    /// The same, of a filter that the server itself keeps.
    #[error("it expired, was evicted or was deleted; create it again")]
    CreateAgain,
    /// The same, of one of Redisson.
    #[error("it expired, was evicted or was deleted; initialise it again")]
    InitialiseAgain,
    /// It was deleted while it was changed.
    #[error("it was deleted")]
    Deleted,
    /// Some of its values are missing.
    #[error("part of it was evicted or deleted by another program")]
    Part,
    /// Some of its values are missing, and their number is known.
    #[error(
        "{missing} of {of} values, {key} among them, were evicted or deleted by another program; \
         delete the filter and fill it again"
    )]
    Values {
        /// How many are missing.
        missing: usize,
        /// Its values.
        of: usize,
        /// The first of them.
        key: String,
    },
    /// A value vanished as soon as it was made.
    #[error(
        "a shard that was made was gone at once; the server evicts keys (maxmemory-policy), or \
         another program deletes them"
    )]
    AtOnce,
    /// It was replaced by one with another digest function.
    #[error("it was made again with another digest function")]
    OtherDigest,
    /// It was replaced by another one.
    #[error("it is another one by now")]
    Replaced,
    /// Its config was replaced, by one of Redisson.
    #[error(
        "Bloom filter config has been changed: size is {}, hashIterations {}; they were {} and {}; \
         attach to it again",
        now.0, now.1, before.0, before.1
    )]
    ConfigChanged {
        /// The size and the hash iterations now.
        now: (i64, u32),
        /// The numbers at the time of attaching.
        before: (i64, u32),
    },
    /// Its bits are there, and its config is not.
    #[error("its bits are there, its config {config} is not")]
    NoConfig {
        /// The key of the config.
        config: String,
    },
    /// An upload took longer than its parts are kept.
    #[error("what was sent expired before it was whole")]
    Unfinished,
    /// A rebuilt filter was not put in place in time.
    #[error("what was rebuilt expired or was deleted")]
    Rebuilt,
    /// The same, or it is in its place.
    #[error("what was rebuilt expired, was deleted or is in its place already")]
    RebuiltOrInPlace,
}

/// Damage to the value of a key that belongs to a filter.
#[derive(Debug, thiserror::Error, Clone)]
#[non_exhaustive]
pub enum Damage {
    /// A field is missing.
    #[error("it has no {0}")]
    Missing(String),
    /// A field is longer than any.
    #[error("{field} has {found} bytes, at most {limit}")]
    TooLong {
        /// The field.
        field: String,
        /// Its bytes.
        found: usize,
        /// The most.
        limit: usize,
    },
    /// A field is not UTF-8.
    #[error("{0} is no UTF-8")]
    NotUtf8(String),
    /// A field that is a number is none.
    #[error("{0} is no number")]
    NotNumber(&'static str),
    /// A field has a value that no filter has.
    #[error("{field} is {value:?}")]
    Bad {
        /// The field.
        field: String,
        /// Its value.
        value: String,
    },
    /// A filter of another version or kind.
    #[error("{field} is {value:?}, and this version knows {known}")]
    Version {
        /// The field.
        field: String,
        /// Its value.
        value: String,
        /// The value that is known.
        known: &'static str,
    },
    /// Its numbers contradict each other.
    #[error(transparent)]
    Params(mayhap::Error),
    /// Its numbers are none of another system.
    #[error(transparent)]
    Format(mayhap_formats::Error),
    /// Its bits are not in shards that it can have.
    #[error("the filter does not fit: {0}")]
    Shards(Misfit),
    /// A standard filter that is larger than any value.
    #[error(transparent)]
    Value(crate::Error),
    /// The reply of a script of ours is none that it gives.
    #[error("a strange answer")]
    Strange,
    /// A number is written as Redisson would not write it.
    #[error("size or hashIterations is not in plain digits")]
    NotPlain,
    /// The bits of a bitmap are longer than its number of bits.
    #[error(
        "it is {found} bytes long, but m = {num_bits} fills {most}: it was created with another m"
    )]
    OtherSize {
        /// Its bytes.
        found: u64,
        /// The bits that it should have.
        num_bits: i32,
        /// The bytes of these.
        most: u64,
    },
    /// The bits are longer than the config says.
    #[error("it is {found} bytes long, and the {size} bits of its config {most}")]
    TooManyBits {
        /// Its bytes.
        found: u64,
        /// The bits of the config.
        size: i64,
        /// The bytes of these.
        most: u64,
    },
}

/// Why bits do not fit into values on a server, or a filter not into what a caller allows.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misfit {
    /// It is larger than allowed.
    #[error("it has more than the {0} bytes allowed")]
    MoreThan(u64),
    /// Shards are limited to less than a shard has.
    #[error("a shard of {limit} bytes, and the least is {least}")]
    SmallShards {
        /// The limit.
        limit: u64,
        /// The bytes of the smallest shard.
        least: u64,
    },
    /// A shard would be empty.
    #[error("a shard has no blocks")]
    EmptyShards,
    /// A filter of the layout standard is in more than one value.
    #[error("the bits of a key of the layout standard are in several shards")]
    SeveralShards,
    /// It needs more values than there are slots.
    #[error(
        "{bytes} bytes are more than {values} values of at most {max_bytes} bytes hold: allow \
         larger shards, up to {most_bytes}, or make several filters"
    )]
    TooLarge {
        /// Its bytes.
        bytes: u64,
        /// The most values.
        values: u16,
        /// The bytes of each.
        max_bytes: u64,
        /// The highest limit that can be set.
        most_bytes: u64,
    },
}

impl Damage {
    /// The error of the shards that a filter's parameters describe.
    pub(crate) fn of_cut(error: crate::Error) -> Self {
        match error {
            crate::Error::Layout { misfit } => Self::Shards(misfit),
            other => Self::Value(other),
        }
    }
}
