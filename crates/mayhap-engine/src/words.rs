//! The words of one request, its keys among them.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

/// The words of one request: places in the received bytes.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    bytes: &'a [u8],
    places: &'a [(u32, u32)],
}

impl<'a> Words<'a> {
    /// Words at these places, each `(start, end)`, in these bytes.
    ///
    /// A place that is not inside the bytes is an empty word.
    pub const fn new(bytes: &'a [u8], places: &'a [(u32, u32)]) -> Self {
        Self { bytes, places }
    }

    /// The number of words, including the command's name.
    pub const fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The word at this place.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        let &(start, end) = self.places.get(index)?;
        self.bytes.get(start as usize..end as usize)
    }

    /// The words from this place on.
    #[must_use]
    pub fn from(&self, first: usize) -> Self {
        Self { bytes: self.bytes, places: self.places.get(first..).unwrap_or(&[]) }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone + use<'a> {
        let bytes = self.bytes;
        let places = self.places.iter();
        places.map(move |&(start, end)| bytes.get(start as usize..end as usize).unwrap_or(&[]))
    }
}
