//! The settings of durability.

use crate::cores::num_cores;
use mayhap::DigestFunction;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// When an insertion is acknowledged.
///
/// | policy | acknowledged after | lost when the process dies | when the power fails |
/// |---|---|---|---|
/// | `always` | `fdatasync` | nothing | nothing |
/// | `everysec` | `write` | nothing | insertions acknowledged in the last 2 s |
/// | `no` | `write` | nothing | no promise; a prefix of the log remains |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Once it is on the disk; many answers wait for one `fdatasync`.
    Always,
    /// Once the kernel has it; it is on the disk a second later, and answers wait if the disk
    /// falls behind by more than two.
    #[default]
    EverySecond,
    /// Once the kernel has it.
    No,
}

impl Policy {
    /// `always`, `everysec` or `no`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::EverySecond => "everysec",
            Self::No => "no",
        }
    }

    /// The policy of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Always, Self::EverySecond, Self::No].into_iter().find(|policy| policy.name() == name)
    }
}

/// The settings of durability.
#[derive(Debug, Clone)]
pub struct Options {
    /// When an insertion is acknowledged.
    pub policy: Policy,
    /// A checkpoint is made once the log has more bytes than this and than all images.
    pub segment_bytes: u64,
    /// A checkpoint is made after this time, if anything changed.
    pub checkpoint_every: Option<Duration>,
    /// How keys become digests in this folder.
    pub digest_function: DigestFunction,
    /// Threads that read images at start.
    pub threads: usize,
    /// Images of at most this many bytes go into packs.
    pub(super) packed_bytes: usize,
    pub(super) clock: Clock,
}

impl Options {
    /// `everysec`, a checkpoint per 64 MiB of log or hour, for digests of this function.
    pub fn new(digest_function: DigestFunction) -> Self {
        Self {
            policy: Policy::default(),
            segment_bytes: 64 << 20,
            checkpoint_every: Some(Duration::from_secs(3600)),
            digest_function,
            threads: num_cores(),
            packed_bytes: super::pack::IMAGE_BYTES,
            clock: Clock::start(),
        }
    }
}

/// Milliseconds since an arbitrary moment, never going back.
#[derive(Clone)]
pub(super) struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    fn start() -> Self {
        let start = Instant::now();
        Self(Arc::new(move || start.elapsed().as_millis() as u64))
    }

    #[cfg(test)]
    pub(super) fn of(now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(super) fn now(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}
