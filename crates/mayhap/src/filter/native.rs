//! The native form of plain filters.

use crate::bits::{Block, OwnedBlocks};
use crate::layout::LayoutKind;
use crate::native::{Fields, Kind, Native, only_segment};
use crate::{AnyFilter, DigestFunction, Error, Filter};
use alloc::vec;
use alloc::vec::Vec;

macro_rules! native {
    ([$($generics:tt)*] $Filter:ty) => {
        impl<$($generics)*> Native for $Filter {
            const KIND: Kind = Kind::Bloom;

            fn digest_function(&self) -> &DigestFunction {
                self.digest_function()
            }

            fn fields(&self) -> Fields {
                Fields::new(self.params().layout().id(), self.params(), self.inserted_items())
            }

            fn segment_blocks(fields: &Fields) -> Result<Vec<u64>, Error> {
                Ok(vec![fields.bloom_params()?.num_blocks()])
            }

            fn segments(&self) -> Vec<&[Block]> {
                vec![self.storage().as_ref()]
            }

            fn from_segments(
                fields: &Fields,
                digest_function: DigestFunction,
                segments: Vec<OwnedBlocks>,
            ) -> Result<Self, Error> {
                let blocks = only_segment(segments)?;
                let params = fields.bloom_params()?;
                Self::from_parts(params, digest_function, blocks, fields.inserted_items)
            }
        }
    };
}

native!([] AnyFilter);
native!([L: LayoutKind] Filter<L, OwnedBlocks>);
