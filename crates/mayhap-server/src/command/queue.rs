//! The requests since `MULTI`.

use crate::resp::Words;

/// The requests since `MULTI`.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    bytes: Vec<u8>,
    places: Vec<(u32, u32)>,
    /// Where the places of each request end.
    ends: Vec<usize>,
    /// One was refused: nothing is carried out.
    pub(super) failed: bool,
    /// Nanoseconds that all of them take, about.
    pub(super) work: u64,
}

impl Queue {
    /// Bytes that it takes.
    pub(crate) const fn footprint(&self) -> usize {
        let (places, ends) = (self.places.capacity(), self.ends.capacity());
        self.bytes.capacity() + places * size_of::<(u32, u32)>() + ends * size_of::<usize>()
    }

    /// Its words.
    pub(super) const fn num_words(&self) -> usize {
        self.places.len()
    }

    /// Bytes of its words.
    pub(super) const fn num_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Its requests.
    pub(super) const fn len(&self) -> usize {
        self.ends.len()
    }

    /// That a request was refused.
    pub(crate) const fn fail(&mut self) {
        self.failed = true;
    }

    pub(super) fn push(&mut self, words: Words<'_>) {
        for word in words.iter() {
            // At most `max_request_bytes`, which is a u32.
            let start = self.bytes.len() as u32;
            self.bytes.extend_from_slice(word);
            self.places.push((start, self.bytes.len() as u32));
        }
        self.ends.push(self.places.len());
    }

    pub(super) fn requests(&self) -> impl Iterator<Item = Words<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let places = starts.zip(&self.ends).filter_map(|(start, &end)| self.places.get(start..end));
        places.map(|places| Words::new(&self.bytes, places))
    }
}
