//! Requests: from bytes that arrive to words.

/// The words of one request: places in the bytes that arrived.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    bytes: &'a [u8],
    places: &'a [(u32, u32)],
}

impl<'a> Words<'a> {
    /// Words at these places, each `(start, end)`, in these bytes.
    pub const fn new(bytes: &'a [u8], places: &'a [(u32, u32)]) -> Self {
        Self { bytes, places }
    }

    /// How many; the command's name counts.
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
        self.places.iter().map(move |&(start, end)| &bytes[start as usize..end as usize])
    }
}

/// The largest that a request may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a word.
    pub max_word_bytes: u32,
    /// Words of a request.
    pub max_words: u32,
    /// Bytes of all words of a request.
    pub max_request_bytes: u32,
}

/// Why bytes are no request; the connection is closed after it was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(pub String);

/// Finds requests in bytes that arrive in pieces of any size, looking at no byte twice.
#[derive(Debug, Default)]
pub struct Parser {}
