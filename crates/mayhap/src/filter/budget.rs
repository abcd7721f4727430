//! One limit for the memory of many filters.

use crate::Error;
use crate::sync::{AtomicU64, Ordering};
use alloc::sync::Arc;

/// A limit on the bytes that several filters may take together.
///
/// Memory is charged before it is allocated, so the sum never exceeds the limit, with any number of
/// threads.
///
/// # Examples
///
/// ```
/// use mayhap::{Budget, ConcurrentScalableBloomFilter, DigestFunction, Error};
///
/// let budget = Budget::new(20_000);
/// let mut filter = ConcurrentScalableBloomFilter::new(1_000, 0.01, DigestFunction::default())?;
/// filter.set_charge(budget.charge(filter.num_bytes())?);
/// let refused = (0..100_000u64).find_map(|key| filter.insert(&key).err());
/// assert!(matches!(refused, Some(Error::TooLarge { field: Budget::FIELD, .. })));
/// assert_eq!(budget.used(), filter.num_bytes());
/// drop(filter);
/// assert_eq!(budget.used(), 0);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct Budget {
    used: AtomicU64,
    /// Not of the model checker: it orders nothing.
    limit: core::sync::atomic::AtomicU64,
}

impl Budget {
    /// The field of [`Error::TooLarge`] when this limit is exceeded.
    pub const FIELD: &'static str = "bytes of all filters";

    /// A budget of this many bytes.
    pub fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self { used: AtomicU64::new(0), limit: limit.into() })
    }

    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        // ORDERING: Relaxed. A bound that guards no memory; a charge at the moment of a change is
        // held against either.
        self.limit.load(Ordering::Relaxed)
    }

    /// Changes the limit. Bytes that are charged stay so; if they are above it, nothing is granted
    /// until enough has been released.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::Budget;
    ///
    /// let budget = Budget::new(10);
    /// let charge = budget.charge(8)?;
    /// budget.set_limit(5);
    /// assert!(budget.charge(1).is_err() && budget.used() == 8);
    /// budget.set_limit(9);
    /// assert!(charge.add(1).is_ok());
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn set_limit(&self, limit: u64) {
        // ORDERING: Relaxed, as in `limit`.
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Bytes currently charged.
    pub fn used(&self) -> u64 {
        // ORDERING: Relaxed. A number for display; it guards no memory.
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that can still be charged.
    pub fn left(&self) -> u64 {
        self.limit().saturating_sub(self.used())
    }

    /// Charges bytes, which are released when the [`Charge`] is dropped.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] with [`Budget::FIELD`], the limit, and the total that would have been
    /// charged.
    pub fn charge(self: &Arc<Self>, bytes: u64) -> Result<Charge, Error> {
        self.take(bytes)?;
        Ok(Charge { budget: self.clone(), bytes: AtomicU64::new(bytes) })
    }

    /// A charge of nothing, granted even where more than the limit is charged already: for
    /// [`Charge::force`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::Budget;
    ///
    /// let budget = Budget::new(10);
    /// let (first, second) = (budget.empty(), budget.empty());
    /// first.force(100);
    /// second.force(1);
    /// assert_eq!(budget.used(), 101);
    /// assert!(budget.charge(0).is_err());
    /// assert_eq!(budget.empty().bytes(), 0);
    /// ```
    pub fn empty(self: &Arc<Self>) -> Charge {
        Charge { budget: self.clone(), bytes: AtomicU64::new(0) }
    }

    fn take(&self, bytes: u64) -> Result<(), Error> {
        // ORDERING: Relaxed. A first guess; the exchange below decides.
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let found = used.saturating_add(bytes);
            Error::check_limit(Self::FIELD, self.limit(), found)?;
            // ORDERING: Relaxed. The number guards no memory; a read-modify-write sees the last
            // value, so bytes are never granted twice.
            match self.used.compare_exchange_weak(used, found, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Ok(()),
                Err(now) => used = now,
            }
        }
    }
}

/// Bytes of a [`Budget`] in use; released when this is dropped.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    bytes: AtomicU64,
}

impl Charge {
    /// The number of bytes charged.
    pub fn bytes(&self) -> u64 {
        // ORDERING: Relaxed. A number that guards no memory. In `drop` no other thread has the
        // charge: additions by other threads were handed over with it.
        self.bytes.load(Ordering::Relaxed)
    }

    /// Charges more.
    ///
    /// # Errors
    ///
    /// Same as [`Budget::charge`]; nothing is charged then.
    pub fn add(&self, bytes: u64) -> Result<(), Error> {
        self.budget.take(bytes)?;
        // ORDERING: Relaxed. The bytes are granted already; a read-modify-write loses none of them.
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Charges more even above the limit: for memory already in use, as after a restart with a
    /// lower limit. Nothing else is granted until enough has been released.
    pub fn force(&self, bytes: u64) {
        // ORDERING: Relaxed. Read-modify-writes of two sums, neither of which guards memory: `used`
        // covers all charges whenever no call is in progress.
        self.budget.used.fetch_add(bytes, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The budget that it is charged to.
    pub const fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Gives some back.
    ///
    /// # Panics
    ///
    /// If more is released than was charged.
    pub fn give_back(&self, bytes: u64) {
        // ORDERING: Relaxed. The first one decides which caller gives these bytes back, so that no
        // two do; the memory itself was freed by its owner, which needs no ordering with a number.
        let before = self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        assert!(before >= bytes, "{bytes} bytes released of {before}");
        self.budget.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.give_back(self.bytes());
    }
}
