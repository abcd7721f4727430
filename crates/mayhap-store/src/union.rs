//! A filter file that is put together from others: pages and their checksums as they come, the
//! header at the end.

use crate::Error;
use crate::body::CHUNK_BYTES;
use crate::disk::{DiskFile, write_all_at};
use mayhap::native::{HEADER_BYTES, Header, PAGE_BYTES};
use mayhap::sizing::{estimated_fpp, with_collisions_of};
use mayhap::{AnyFilter, Block, DigestFunction, Estimate, FilterParams, Layout};
use std::path::Path;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// A file that was put together from others, with its facts known without reading it again.
#[derive(Debug, Clone)]
pub struct Assembled {
    /// The header of the new file.
    pub header: Header,
    /// The number of keys estimated from the bits.
    pub estimated_items: Estimate,
    /// The share of bits that are set.
    pub fill_ratio: f64,
    /// The current false-positive probability, as [`mayhap::Filter::estimated_fpp`].
    pub estimated_fpp: f64,
}

/// A body in progress, with the counts of the bits written so far.
pub(crate) struct Union<'a> {
    params: FilterParams,
    output: &'a Path,
    /// The bytes of the new file, and of its body.
    file_bytes: u64,
    body_bytes: u64,
    ones: u64,
    /// The sum over all 512-bit blocks of the rate in each; not kept for `standard`.
    block_fpps: f64,
}

impl<'a> Union<'a> {
    /// Begins one; of the header only the sizes are used.
    pub(crate) fn new(params: FilterParams, output: &'a Path, header: &Header) -> Self {
        let (file_bytes, body_bytes) = (header.file_bytes(), header.body_bytes());
        Self { params, output, file_bytes, body_bytes, ones: 0, block_fpps: 0.0 }
    }

    pub(crate) const fn params(&self) -> &FilterParams {
        &self.params
    }

    /// The set bits that were counted.
    pub(crate) const fn ones(&self) -> u64 {
        self.ones
    }

    /// Writes pages and their checksums where they belong, so that the table takes no memory.
    pub(crate) fn write_pages(
        &self,
        file: &dyn DiskFile,
        pages: &[u8],
        done: u64,
        table: &mut Xxh3,
    ) -> Result<(), Error> {
        let mut checksums = [[0; 8]; CHUNK_BYTES / PAGE_BYTES];
        for (page, checksum) in pages.chunks(PAGE_BYTES).zip(&mut checksums) {
            *checksum = xxh3_64(page).to_le_bytes();
        }
        let checksums = checksums[..pages.len() / PAGE_BYTES].as_flattened();
        table.update(checksums);
        let table_start = HEADER_BYTES as u64 + self.body_bytes;
        let table_at = table_start + done / PAGE_BYTES as u64 * 8;
        write_all_at(file, pages, HEADER_BYTES as u64 + done)
            .and_then(|()| write_all_at(file, checksums, table_at))
            .map_err(Error::write(self.output, self.file_bytes))
    }

    /// Counts the bits of these blocks while they are in the cache.
    pub(crate) fn count(&mut self, blocks: &[Block]) -> Result<(), Error> {
        // Including the zeros after the last bit, which add nothing.
        let bits = blocks.len() as u64 * Block::BITS;
        // A filter with only these blocks: the core knows how to count and evaluate them.
        let (layout, k) = (self.params.layout(), self.params.num_hashes());
        let part = FilterParams::new(layout, bits, k, 1, self.params.target_fpp())
            .and_then(|params| AnyFilter::from_parts(params, DigestFunction::default(), blocks, 0))
            .map_err(Error::format(self.output))?;
        self.ones += part.count_ones();
        if layout != Layout::Standard {
            self.block_fpps += part.fpp_of_bits() * bits as f64;
        }
        Ok(())
    }

    /// How many keys the bits speak of.
    pub(crate) fn estimated_items(&self) -> Estimate {
        Estimate::from_ones(&self.params, self.ones)
    }

    fn estimated_fpp(&self) -> f64 {
        let of_bits = match self.params.layout() {
            Layout::Standard => {
                estimated_fpp(self.ones, self.params.num_bits(), self.params.num_hashes())
            }
            _ => self.block_fpps / self.params.num_bits() as f64,
        };
        with_collisions_of(of_bits, || self.estimated_items().rounded())
    }

    /// Writes the header before the body and the table, whose checksum it has; returns it as it is
    /// in the file, with the facts of the bits.
    pub(crate) fn finish(
        &self,
        file: &dyn DiskFile,
        header: &Header,
        table: u64,
    ) -> Result<Assembled, Error> {
        let bytes = header.encode(table);
        let header = Header::decode(&bytes).map_err(Error::format(self.output))?;
        write_all_at(file, &bytes, 0).map_err(Error::write(self.output, header.file_bytes()))?;
        Ok(Assembled {
            header,
            estimated_items: self.estimated_items(),
            fill_ratio: self.ones as f64 / self.params.num_bits() as f64,
            estimated_fpp: self.estimated_fpp(),
        })
    }
}

/// The values that have to agree, with their names.
fn meaning(header: &Header) -> [(&'static str, String); 6] {
    let fields = header.fields();
    let digest = if header.digest_id() == 1 { "xxh3" } else { "sip13" };
    let layout = Layout::from_id(fields.layout).map_or("unknown", Layout::name);
    let made_for = format!("capacity {}, rate {}", fields.expected_items, fields.target_fpp);
    [
        ("layout", layout.into()),
        ("size", format!("{} bits ({made_for})", fields.num_bits)),
        ("bits per key", format!("{} ({made_for})", fields.num_hashes)),
        ("digest function", digest.into()),
        ("digest seed or key", format!("{:#x}", header.digest_parameter())),
        ("key options", format!("{:?}", header.key_options())),
    ]
}

/// The first value in which the filters of two headers differ: its name, left and right.
pub(crate) fn difference(left: &Header, right: &Header) -> Option<(&'static str, String, String)> {
    let same = [
        left.fields().layout == right.fields().layout,
        left.fields().num_bits == right.fields().num_bits,
        left.fields().num_hashes == right.fields().num_hashes,
        left.digest_id() == right.digest_id(),
        left.digest_parameter() == right.digest_parameter(),
        left.key_options() == right.key_options(),
    ];
    let values = meaning(left).into_iter().zip(meaning(right)).zip(same);
    for (((parameter, left), (_, right)), same) in values {
        if !same {
            return Some((parameter, left, right));
        }
    }
    None
}
