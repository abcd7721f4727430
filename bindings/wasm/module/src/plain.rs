//! The plain filter of ours, in each layout.

use crate::Info;
use crate::native::Answers;
#[cfg(feature = "write")]
use crate::{
    Fault,
    contents::Contents,
    create::{Fill, New},
    native::Kept,
};
#[cfg(feature = "write")]
use mayhap::Layout;
use mayhap::{AnyFilter, Bitmap, Digest};

impl Answers for AnyFilter {
    fn contains(&self, digests: &[Digest], found: &mut Bitmap) {
        self.contains_digests_into(digests, found);
    }

    fn describe(&self, info: &mut Info) {
        info.kind = self.params().layout().name();
        info.fill_ratio = self.fill_ratio();
        // The smallest module has no estimates, and digest collisions are of as many keys as were
        // counted.
        #[cfg(not(feature = "write"))]
        {
            let counted = || self.inserted_items();
            info.estimated_fpp = mayhap::sizing::with_collisions_of(self.fpp_of_bits(), counted);
        }
        #[cfg(feature = "write")]
        {
            info.estimated_fpp = self.estimated_fpp();
            // By the bits alone: the model of the count would add a kilobyte.
            let estimate = self.estimated_items();
            info.health = estimate.health(self.params().expected_items()).name();
            info.estimated_items = estimate.items;
        }
    }
}

#[cfg(feature = "write")]
impl Fill for AnyFilter {
    fn fill(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Fault> {
        self.insert_digests_into(digests, new);
        Ok(())
    }

    fn unite(&mut self, other: &Self) -> Result<(), Fault> {
        Ok(self.union_with(other)?)
    }

    fn positions(&self, digest: Digest) -> Vec<f64> {
        self.params().positions(digest).map(|position| position as f64).collect()
    }

    fn bits(&self) -> &[u8] {
        bytemuck::cast_slice(self.blocks())
    }
}

/// An empty filter of the layout; of the default one for an empty name.
#[cfg(feature = "write")]
pub(crate) fn create(kind: &str, new: &New) -> Option<Result<Box<dyn Contents>, Fault>> {
    let layout = match kind {
        "" => None,
        "standard" => Some(Layout::Standard),
        "blocked" => Some(Layout::Blocked),
        "blocked128" => Some(Layout::Blocked128),
        "blocked64" => Some(Layout::Blocked64),
        _ => return None,
    };
    let builder = AnyFilter::builder().digest_function(new.function);
    let builder = builder.max_bytes(new.max_bytes);
    let mut builder = builder.expected_items(new.items).target_fpp(new.target_fpp);
    if let Some(layout) = layout {
        builder = builder.layout(layout);
    }
    Some(builder.build().map(|filter| Kept::boxed(filter, "")).map_err(Fault::from))
}
