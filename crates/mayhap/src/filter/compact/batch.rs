//! Many keys at once, their cache lines fetched together.

use super::super::for_each_digest_chunk;
use super::bucket::Local;
use super::table::{Fingerprint, Found, Full, MAX_COPIES, Table, buckets};
use super::{CompactFilter, body_mut, is_removable};
use crate::simd::{
    Above, BUCKET_GROUP, BucketKernel, BucketTask, InFront, fits_cache, prefetch_write,
    with_buckets,
};
use crate::{Bitmap, Digest, Error, Key};

/// Keys whose lines are requested before the first is needed.
const GROUP: usize = 64;

impl CompactFilter {
    /// Stores a copy of many keys, in order: bit `i` of the result is the answer of
    /// [`CompactFilter::insert`] for `keys[i]`.
    ///
    /// # Errors
    ///
    /// [`Error::Full`]: the keys before the one for which there was no room are stored.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<Bitmap, Error> {
        let function = self.digest_function;
        let mut new = Bitmap::new();
        let mut result = Ok(());
        for_each_digest_chunk(&function, keys, &mut new, |digests, words| {
            if result.is_ok() {
                result = self.insert_each(digests, words, false);
            }
        });
        result.map_or_else(|(_, error)| Err(error), |()| Ok(new))
    }

    /// Like [`CompactFilter::insert_batch`], for keys that are already digests, into a reused
    /// bitmap.
    ///
    /// # Errors
    ///
    /// Same as [`CompactFilter::insert_batch`]: `new` then ends before the key for which there was
    /// no room, so its length is the number of keys that are done.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Bitmap, CompactFilter};
    ///
    /// let mut users = CompactFilter::builder().expected_items(2).target_fpp(1e-6).build()?;
    /// let (ann, ben) = (users.digest("ann"), users.digest("ben"));
    /// let mut new = Bitmap::new();
    /// assert!(users.insert_digests_into(&[ann, ann, ben], &mut new).is_err());
    /// assert_eq!(new.iter().collect::<Vec<_>>(), [true, false]);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn insert_digests_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        let result = self.insert_each(digests, new.reset(digests.len()), false);
        ended(result, new)
    }

    /// Stores, in order, the digests that are surely absent: bit `i` of `new` is set if
    /// `digests[i]` was stored.
    ///
    /// # Errors
    ///
    /// Same as [`CompactFilter::insert_digests_into`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Bitmap, CompactFilter};
    ///
    /// let mut users = CompactFilter::builder().expected_items(1000).target_fpp(1e-6).build()?;
    /// let (digest, mut new) = (users.digest_function().digest("ann"), Bitmap::new());
    /// users.insert_absent_digests_into(&[digest, digest], &mut new)?;
    /// assert_eq!(new.iter().collect::<Vec<_>>(), [true, false]);
    /// assert!(users.remove("ann") && !users.contains("ann"));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn insert_absent_digests_into(
        &mut self,
        digests: &[Digest],
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        let result = self.insert_each(digests, new.reset(digests.len()), true);
        ended(result, new)
    }

    /// Stores each digest, or only those that are surely absent. An error comes with the number of
    /// digests that are done.
    fn insert_each(
        &mut self,
        digests: &[Digest],
        new: &mut [u64],
        only_absent: bool,
    ) -> Result<(), (usize, Error)> {
        // Groups before this key are done.
        let mut done = 0;
        loop {
            let (digests, new) = (&digests[done..], &mut new[done / GROUP..]);
            let limit = self.params.expected_items();
            let (table, body) = (&self.table, body_mut(&mut self.blocks));
            let (stored, mut at) = (&mut self.inserted_items, 0);
            let task =
                InsertEach { table, body, digests, new, only_absent, stored, limit, at: &mut at };
            let Err(full) = with_buckets(task) else { return Ok(()) };
            self.make_room(full).map_err(|error| (done + at, error))?;
            // The rest of its group one by one.
            let end = (at + 1).next_multiple_of(GROUP).min(digests.len());
            for (i, &digest) in (at..end).zip(&digests[at..end]) {
                let is_new = if only_absent {
                    self.insert_absent_digest(digest)
                } else {
                    self.insert_digest(digest)
                };
                let is_new = is_new.map_err(|error| (done + i, error))?;
                new[i / GROUP] |= u64::from(is_new) << (i % GROUP);
            }
            done += end;
            if end == digests.len() {
                return Ok(());
            }
        }
    }

    /// Removes many keys, in order: bit `i` of the result is the answer of
    /// [`CompactFilter::remove`] for `keys[i]`.
    #[must_use = "zeros say that keys were absent or stay, and were not removed"]
    pub fn remove_batch<K: Key>(&mut self, keys: &[K]) -> Bitmap {
        let function = self.digest_function;
        let mut removed = Bitmap::new();
        for_each_digest_chunk(&function, keys, &mut removed, |digests, words| {
            self.remove_each(digests, words);
        });
        removed
    }

    /// Like [`CompactFilter::remove_batch`], for keys that are already digests, into a reused
    /// bitmap.
    pub fn remove_digests_into(&mut self, digests: &[Digest], removed: &mut Bitmap) {
        self.remove_each(digests, removed.reset(digests.len()));
    }

    fn remove_each(&mut self, digests: &[Digest], removed: &mut [u64]) {
        let (table, body) = (&self.table, body_mut(&mut self.blocks));
        with_buckets(RemoveEach { table, body, digests, removed });
        let count: u64 = removed.iter().map(|word| u64::from(word.count_ones())).sum();
        self.inserted_items = self.inserted_items.saturating_sub(count);
    }

    /// Queries many keys, as [`CompactFilter::contains`] does for each, but with their cache lines
    /// fetched together.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Bitmap {
        let mut found = Bitmap::new();
        for_each_digest_chunk(&self.digest_function, keys, &mut found, |digests, words| {
            self.contains_each(digests, words);
        });
        found
    }

    /// Like [`CompactFilter::contains_batch`], for keys that are already digests, into a reused
    /// bitmap.
    pub fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) {
        self.contains_each(digests, found.reset(digests.len()));
    }

    fn contains_each(&self, digests: &[Digest], found: &mut [u64]) {
        with_buckets(ContainsEach { table: &self.table, body: self.body(), digests, found });
    }
}

/// The result of a batch, after an error with the answers of the digests that are done alone.
fn ended(result: Result<(), (usize, Error)>, new: &mut Bitmap) -> Result<(), Error> {
    result.map_err(|(done, error)| {
        new.truncate(done);
        error
    })
}

/// Calls `answer` with each group of fingerprints. It has the next group placed key by key.
#[inline(always)]
fn for_each_group<E>(
    table: &Table,
    body: &mut [u64],
    digests: &[Digest],
    mut answer: impl FnMut(&mut [u64], usize, &[Fingerprint], &mut Next<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let is_near = fits_cache(body.len() / 8);
    let mut groups = digests.chunks(GROUP);
    let start = table.fingerprint(Digest::default());
    let (mut current, mut next) = ([start; GROUP], [start; GROUP]);
    let mut group = groups.next().unwrap_or_default();
    let mut first = Next { table, digests: group, placed: &mut current, is_near };
    (0..group.len()).for_each(|i| first.place(body, i));
    let mut i = 0;
    while !group.is_empty() {
        let digests = groups.next().unwrap_or_default();
        let mut placing = Next { table, digests, placed: &mut next, is_near };
        answer(body, i, &current[..group.len()], &mut placing)?;
        core::mem::swap(&mut current, &mut next);
        group = digests;
        i += 1;
    }
    Ok(())
}

/// The next group: its fingerprints, and requests for their lines.
struct Next<'a> {
    table: &'a Table,
    digests: &'a [Digest],
    placed: &'a mut [Fingerprint; GROUP],
    is_near: bool,
}

impl Next<'_> {
    /// Places key `i`, if there is one.
    #[inline(always)]
    fn place(&mut self, body: &[u64], i: usize) {
        let Some(&digest) = self.digests.get(i) else { return };
        let at = self.table.fingerprint(digest);
        self.placed[i] = at;
        if !self.is_near {
            prefetch_write(buckets(body), at.front);
            prefetch_write(body, at.front * 16 + 8);
        }
    }
}

struct ContainsEach<'a> {
    table: &'a Table,
    body: &'a [u64],
    digests: &'a [Digest],
    found: &'a mut [u64],
}

impl BucketTask for ContainsEach<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: BucketKernel>(self) {
        let above = Upper { table: self.table, body: self.body };
        let fronts = self.table.fronts();
        fronts.contains_each::<K>(buckets(self.body), self.digests, self.found, &above);
    }
}

/// The levels above the first.
struct Upper<'a> {
    table: &'a Table,
    body: &'a [u64],
}

impl Above for Upper<'_> {
    #[inline(always)]
    fn request(&self, front: usize) {
        self.table.request_above(self.body, front);
    }

    #[inline(always)]
    fn contains<K: BucketKernel>(&self, key: InFront, is_long: bool) -> bool {
        let InFront { front, run, remainder } = key;
        let at = Fingerprint { front, local: Local { run, remainder } };
        if is_long {
            self.table.contains::<K>(self.body, at)
        } else {
            self.table.is_above::<K>(self.body, at)
        }
    }
}

struct InsertEach<'a> {
    table: &'a Table,
    body: &'a mut [u64],
    digests: &'a [Digest],
    new: &'a mut [u64],
    only_absent: bool,
    stored: &'a mut u64,
    /// The most copies that the filter holds.
    limit: u64,
    /// The key for which there is no room, after an error.
    at: &'a mut usize,
}

impl BucketTask for InsertEach<'_> {
    type Output = Result<(), Full>;

    #[inline(always)]
    fn run<K: BucketKernel>(mut self) -> Result<(), Full> {
        let table = *self.table;
        let (new, stored) = (&mut self.new, self.stored);
        let Self { only_absent, limit, at: refused, .. } = self;
        for_each_group(
            &table,
            self.body,
            self.digests,
            #[inline(always)]
            |body, i, group, next| {
                let mut ahead = Ahead::of::<K>(&table, body, group);
                for (bit, &at) in group.iter().enumerate() {
                    next.place(body, bit);
                    *refused = i * GROUP + bit;
                    if only_absent && table.contains::<K>(body, at) {
                        continue;
                    }
                    let copies = match ahead.take(bit, at) {
                        Some(found) if *stored < limit => table.insert_found::<K>(body, at, found),
                        _ => table.insert::<K>(body, at, *stored < limit),
                    }?;
                    *stored += u64::from(copies < MAX_COPIES);
                    new[i] |= u64::from(copies == 0) << bit;
                }
                Ok(())
            },
        )
    }
}

/// What was found for a group of fingerprints before any of them changed a bucket, so that the
/// searches do not wait for the changes.
struct Ahead {
    found: [Found; GROUP],
    /// Buckets that have been changed since, by the last bits of their numbers.
    changed: [u64; 8],
}

impl Ahead {
    #[inline(always)]
    fn of<K: BucketKernel>(table: &Table, body: &[u64], group: &[Fingerprint]) -> Self {
        let mut found = [Found::default(); GROUP];
        let (chunks, _) = found.as_chunks_mut();
        for (found, group) in chunks.iter_mut().zip(group.chunks(BUCKET_GROUP)) {
            table.find_each::<K>(body, group, found);
        }
        Self { found, changed: [0; 8] }
    }

    /// What was found for a fingerprint whose bucket is about to be changed, if that still holds.
    #[inline(always)]
    fn take(&mut self, i: usize, at: Fingerprint) -> Option<Found> {
        let (word, bit) = (at.front / 64 % 8, 1 << (at.front % 64));
        let is_known = self.changed[word] & bit == 0;
        self.changed[word] |= bit;
        is_known.then(|| self.found[i])
    }
}

struct RemoveEach<'a> {
    table: &'a Table,
    body: &'a mut [u64],
    digests: &'a [Digest],
    removed: &'a mut [u64],
}

impl BucketTask for RemoveEach<'_> {
    type Output = ();

    #[inline(always)]
    fn run<K: BucketKernel>(mut self) {
        let table = *self.table;
        let removed = &mut self.removed;
        let answered = for_each_group::<core::convert::Infallible>(
            &table,
            self.body,
            self.digests,
            #[inline(always)]
            |body, i, group, next| {
                let mut word = 0;
                let mut ahead = Ahead::of::<K>(&table, body, group);
                for (bit, &at) in group.iter().enumerate() {
                    next.place(body, bit);
                    let copies = match ahead.take(bit, at) {
                        Some(found) => table.remove_found::<K>(body, at, found),
                        None => table.remove::<K>(body, at),
                    };
                    word |= u64::from(is_removable(copies)) << bit;
                }
                removed[i] = word;
                Ok(())
            },
        );
        let Ok(()) = answered;
    }
}
