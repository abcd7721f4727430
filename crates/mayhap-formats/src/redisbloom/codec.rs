//! The chunks of `BF.SCANDUMP`, and a file of them.

use super::filter::RedisBloomFilter;
use super::layer::{LAYER_BYTES, Layer, LayerHeader};
use crate::limits::{not_zero, try_room};
use crate::{Bits, Error, Format, Limits, Reader};

/// The start of files of this crate.
pub(crate) const MAGIC: &[u8; 16] = b"RedisBloom dump\n";
/// The server sends at most this many bytes at once.
const MAX_CHUNK_BYTES: usize = 16 << 20;
const HEADER_BYTES: u64 = 20;
/// The server answers with a signed number.
const MAX_ITEMS: u64 = i64::MAX as u64;

/// A reply of `BF.SCANDUMP`, which is the argument of `BF.LOADCHUNK`.
pub type Chunk<B> = (i64, B);

impl RedisBloomFilter {
    /// Assembles the replies of `BF.SCANDUMP` in order, with or without the last, empty one. The
    /// bits may be split anywhere within a layer.
    ///
    /// # Errors
    ///
    /// [`Error::BadField`] for numbers that disagree or a cursor out of order; [`Error::TooLarge`],
    /// [`Error::Truncated`] before anything is allocated; [`Error::TrailingBytes`],
    /// [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_formats::{ForeignFilter, Limits, RedisBloomFilter, RedisBloomOptions};
    ///
    /// let (options, limits) = (RedisBloomOptions::new(0.01, 100), Limits::default());
    /// let mut filter = RedisBloomFilter::create(&options, &limits)?;
    /// filter.insert(b"hello")?;
    /// let chunks = filter.to_chunks();
    /// assert_eq!((chunks[0].0, chunks[0].1.len()), (1, 73));
    /// assert_eq!(RedisBloomFilter::from_chunks(&chunks, &limits)?, filter);
    /// # Ok::<(), mayhap_formats::Error>(())
    /// ```
    pub fn from_chunks<B: AsRef<[u8]>>(
        chunks: &[Chunk<B>],
        limits: &Limits,
    ) -> Result<Self, Error> {
        let Some(((1, header), chunks)) = chunks.split_first() else {
            let found = chunks.first().map_or(0, |&(cursor, _)| cursor);
            return Err(Error::bad("first cursor", "1, with the header", found));
        };
        let (headers, options, growth) = decode_header(header.as_ref(), limits)?;
        let chunks = match chunks {
            [chunks @ .., (0, last)] if last.as_ref().is_empty() => chunks,
            chunks => chunks,
        };
        let needed: u64 = headers.iter().map(|header| header.num_bytes).sum();
        let left: u64 = chunks.iter().map(|(_, bytes)| bytes.as_ref().len() as u64).sum();
        Error::check_length("bits of the layers", needed, left)?;
        let mut rest = chunks.iter();
        let mut cursor = 1;
        let layer = |header: LayerHeader| {
            let bits = read_bits(&header, &mut rest, &mut cursor, limits)?;
            Ok(Layer::new(header, bits))
        };
        let layers = headers.into_iter().map(layer).collect::<Result<_, Error>>()?;
        Ok(Self::of(layers, options, growth, limits))
    }

    /// The replies of `BF.SCANDUMP`, without the last, empty one.
    pub fn to_chunks(&self) -> Vec<Chunk<Vec<u8>>> {
        let mut chunks = vec![(1, self.to_header())];
        let mut cursor = 1;
        for layer in &self.layers {
            for bytes in layer.bits.to_lsb_bytes().chunks(MAX_CHUNK_BYTES) {
                cursor += bytes.len().cast_signed() as i64;
                chunks.push((cursor, bytes.to_vec()));
            }
        }
        chunks
    }

    fn to_header(&self) -> Vec<u8> {
        let mut out = self.num_items().to_le_bytes().to_vec();
        out.extend((self.layers.len() as u32).to_le_bytes());
        out.extend(self.options.to_le_bytes());
        out.extend(self.growth.to_le_bytes());
        self.layers.iter().for_each(|layer| layer.header.encode(&mut out));
        out
    }

    /// Reads this crate's file of chunks. It is written back with chunks of the server's size.
    ///
    /// # Errors
    ///
    /// [`Error::NotThisFormat`]; the errors of [`RedisBloomFilter::from_chunks`].
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let Some(bytes) = bytes.strip_prefix(MAGIC) else {
            let reason = "it does not start with \"RedisBloom dump\"";
            return Err(Error::NotThisFormat { format: Format::RedisBloom.name(), reason });
        };
        let mut reader = Reader::new(bytes);
        let mut chunks = Vec::new();
        while !reader.left().is_empty() {
            let cursor = reader.i64_le("cursor")?;
            let len = reader.u64_le("bytes of a chunk")?;
            chunks.push((cursor, reader.take("chunk", len)?));
        }
        Self::from_chunks(&chunks, limits)
    }

    pub(super) fn to_container(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        for (cursor, bytes) in self.to_chunks() {
            out.extend(cursor.to_le_bytes());
            out.extend((bytes.len() as u64).to_le_bytes());
            out.extend(bytes);
        }
        out
    }
}

/// Layers, options and growth.
fn decode_header(bytes: &[u8], limits: &Limits) -> Result<(Vec<LayerHeader>, u32, u32), Error> {
    let mut reader = Reader::new(bytes);
    let num_items = reader.u64_le("items")?;
    // So that no insertion makes the sum over the layers overflow.
    Error::check_limit("items", MAX_ITEMS, num_items)?;
    let num_layers = reader.u32_le("number of layers")?;
    not_zero("number of layers", u64::from(num_layers))?;
    let options = reader.u32_le("options")?;
    Error::check(options <= 15, "options", "0 to 15", options)?;
    let growth = reader.u32_le("growth")?;
    let needed = u64::from(num_layers) * LAYER_BYTES;
    Error::check_length("layers", needed, reader.left().len() as u64)?;
    debug_assert_eq!(reader.position() as u64, HEADER_BYTES);
    let mut max_bytes = limits.max_bytes;
    let mut items = 0u64;
    let mut layers = Vec::new();
    for _ in 0..num_layers {
        let layer = LayerHeader::decode(&mut reader, &Limits { max_bytes, ..*limits })?;
        max_bytes -= layer.num_bytes;
        items = items.saturating_add(layer.num_items);
        layers.push(layer);
    }
    Error::check(items == num_items, "items", "the sum over the layers", num_items)?;
    Ok((layers, options, growth))
}

/// The bits of a layer from the chunks that hold them; all bytes are known to be present.
fn read_bits<'a, B: AsRef<[u8]> + 'a>(
    header: &LayerHeader,
    chunks: &mut impl Iterator<Item = &'a Chunk<B>>,
    cursor: &mut i64,
    limits: &Limits,
) -> Result<Bits, Error> {
    let mut bytes = try_room(header.num_bytes)?;
    let len = header.num_bytes as usize;
    while bytes.len() < len {
        let Some((next, chunk)) = chunks.next() else {
            let (needed, left) = (header.num_bytes, bytes.len() as u64);
            return Err(Error::Truncated { field: "bits of a layer", needed, left });
        };
        let chunk = chunk.as_ref();
        *cursor += chunk.len().cast_signed() as i64;
        let allowed = "1 + the bytes of bits up to its chunk's end";
        Error::check(next == cursor && !chunk.is_empty(), "cursor", allowed, next)?;
        let fits = chunk.len() <= len - bytes.len();
        Error::check(fits, "chunk", "bits of one layer", "one across two layers")?;
        bytes.extend_from_slice(chunk);
    }
    let bits = Bits::from_lsb_bytes(&bytes, header.num_bytes * 8, limits)?;
    Ok(bits)
}
