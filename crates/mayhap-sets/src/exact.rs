//! The keys themselves as a set: exact, and as large as they are.

use hashbrown::HashTable;
use mayhap::{DigestFunction, Error};

/// Bytes of keys that are allocated at once; a longer key gets a piece of its own.
const PIECE_BYTES: usize = 1 << 20;

/// Where a key is: its length, 7 bits a byte, and then its bytes.
#[derive(Debug, Clone, Copy)]
struct Place {
    piece: u32,
    start: u32,
}

/// A set of byte strings that costs each its bytes, one or two for the length, and 10 to 21 in a
/// hash table, for a moment 31 while that grows.
#[derive(Debug)]
pub struct ExactSet {
    function: DigestFunction,
    table: HashTable<Place>,
    pieces: Vec<Vec<u8>>,
    piece_bytes: u64,
    max_bytes: u64,
}

impl ExactSet {
    /// An empty set that refuses to take more than `max_bytes`. The function should have a random
    /// seed, so that nobody can prepare keys that collide.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::DigestFunction;
    /// use mayhap_sets::ExactSet;
    ///
    /// let mut set = ExactSet::new(4 << 20, DigestFunction::xxh3(7));
    /// assert!(set.insert(b"one")? && !set.insert(b"one")?);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn new(max_bytes: u64, function: DigestFunction) -> Self {
        Self { function, table: HashTable::new(), pieces: Vec::new(), piece_bytes: 0, max_bytes }
    }

    /// The number of keys.
    pub fn len(&self) -> u64 {
        self.table.len() as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Bytes of memory.
    pub fn num_bytes(&self) -> u64 {
        let pieces = self.pieces.capacity() * size_of::<Vec<u8>>();
        self.piece_bytes + (pieces + self.table.allocation_size()) as u64
    }

    /// Inserts a key; `true` if it was not there.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`], with the key not inserted; [`Error::OutOfMemory`] where the system has
    /// no more.
    pub fn insert(&mut self, key: &[u8]) -> Result<bool, Error> {
        let digest = self.function.digest(key).get();
        let is_key = |place: &Place| read(&self.pieces, *place) == key;
        if self.table.find(digest, is_key).is_some() {
            return Ok(false);
        }
        self.make_room_in_table()?;
        let place = self.store(key)?;
        let (pieces, function) = (&self.pieces, self.function);
        self.table
            .insert_unique(digest, place, |place| function.digest(read(pieces, *place)).get());
        Ok(true)
    }

    fn make_room_in_table(&mut self) -> Result<(), Error> {
        if self.table.len() < self.table.capacity() {
            return Ok(());
        }
        // Twice as many buckets, beside the old ones until all are moved.
        let wanted = (2 * self.table.allocation_size()).max(1 << 10) as u64;
        self.check(wanted)?;
        let (pieces, function) = (&self.pieces, self.function);
        self.table
            .try_reserve(1, |place| function.digest(read(pieces, *place)).get())
            .map_err(|_| Error::OutOfMemory { bytes: wanted })?;
        Ok(())
    }

    /// Appends a key to the last piece, or to a new one if it does not fit.
    fn store(&mut self, key: &[u8]) -> Result<Place, Error> {
        let (mut length, mut rest) = ([0; 10], key.len());
        let mut used = 0;
        while rest >= 0x80 {
            length[used] = rest as u8 | 0x80;
            (rest, used) = (rest >> 7, used + 1);
        }
        length[used] = rest as u8;
        let length = &length[..=used];
        let needed = length.len() + key.len();
        let fits = |piece: &Vec<u8>| piece.capacity() - piece.len() >= needed;
        if !self.pieces.last().is_some_and(fits) {
            let wanted = needed.max(PIECE_BYTES);
            self.check(wanted as u64)?;
            let no_memory = |_| Error::OutOfMemory { bytes: wanted as u64 };
            let mut piece = Vec::new();
            piece.try_reserve_exact(wanted).map_err(no_memory)?;
            self.pieces.try_reserve(1).map_err(no_memory)?;
            self.piece_bytes += piece.capacity() as u64;
            self.pieces.push(piece);
        }
        let last = self.pieces.len() - 1;
        let piece = &mut self.pieces[last];
        let place = Place { piece: last as u32, start: piece.len() as u32 };
        piece.extend_from_slice(length);
        piece.extend_from_slice(key);
        Ok(place)
    }

    fn check(&self, more: u64) -> Result<(), Error> {
        let (limit, found) = (self.max_bytes, self.num_bytes() + more);
        if found > limit {
            return Err(Error::TooLarge { field: "key bytes", limit, found });
        }
        Ok(())
    }
}

fn read(pieces: &[Vec<u8>], place: Place) -> &[u8] {
    let bytes = &pieces[place.piece as usize][place.start as usize..];
    let (mut length, mut used) = (0, 0);
    loop {
        length |= usize::from(bytes[used] & 0x7F) << (7 * used);
        used += 1;
        if bytes[used - 1] & 0x80 == 0 {
            return &bytes[used..used + length];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn it_is_the_set_of_the_standard_library() {
        let (mut exact, mut expected) =
            (ExactSet::new(u64::MAX, DigestFunction::default()), HashSet::new());
        let mut seed = 1u64;
        for _ in 0..300_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = (seed >> 40) % 100_000;
            // Lengths around those at which the length takes another byte, and an empty key.
            let length = [0, 1, 127, 128, 129, 300][(number % 6) as usize];
            let mut key = number.to_string().into_bytes();
            key.resize(length.max(usize::from(number > 9) * key.len()), b'.');
            assert_eq!(exact.insert(&key).unwrap(), expected.insert(key.clone()));
        }
        assert_eq!(exact.len(), expected.len() as u64);
    }

    #[test]
    fn a_key_longer_than_a_piece_is_kept_whole() {
        let mut exact = ExactSet::new(u64::MAX, DigestFunction::default());
        let long = vec![b'x'; 3 * PIECE_BYTES];
        assert!(exact.insert(&long).unwrap() && exact.insert(b"a").unwrap());
        assert!(exact.insert(&long[1..]).unwrap());
        assert!(!exact.insert(&long).unwrap() && !exact.insert(b"a").unwrap());
        assert!(exact.num_bytes() > 6 * PIECE_BYTES as u64);
    }

    #[test]
    fn it_never_takes_more_than_its_limit_and_holds_what_it_said_was_new() {
        let mut exact = ExactSet::new(8 << 20, DigestFunction::default());
        let mut inserted = 0u64;
        let error = loop {
            match exact.insert(format!("key-{inserted}").as_bytes()) {
                Ok(new) => assert!(new),
                Err(error) => break error,
            }
            inserted += 1;
            assert!(exact.num_bytes() <= 8 << 20);
        };
        assert!(matches!(error, Error::TooLarge { limit: 8_388_608, .. }), "{error}");
        assert!(inserted > 100_000 && exact.len() == inserted);
        assert!((0..inserted).all(|i| !exact.insert(format!("key-{i}").as_bytes()).unwrap()));
    }
}
