//! Methods of the face that are the same for many kinds.

/// Methods of the face that call the filter's own.
macro_rules! own {
    (any) => {
        fn as_any(&self) -> &dyn Any {
            self
        }

        fn as_any_mut(&mut self) -> &mut dyn Any {
            self
        }
    };
    (contains) => {
        fn contains_digest(&self, digest: Digest, _now: u64) -> bool {
            self.contains_digest(digest)
        }

        fn contains_into(&self, digests: &[Digest], _now: u64, found: &mut Bitmap) {
            self.contains_digests_into(digests, found);
        }
    };
    (insert) => {
        fn insert_digest(&mut self, digest: Digest, _repeats: Repeats) -> Result<bool, Error> {
            Ok(self.insert_digest(digest))
        }

        fn insert_into(
            &mut self,
            digests: &[Digest],
            _repeats: Repeats,
            new: &mut Bitmap,
        ) -> Result<(), Error> {
            self.insert_digests_into(digests, new);
            Ok(())
        }
    };
    (renew) => {
        fn insert_into(
            &mut self,
            digests: &[Digest],
            repeats: Repeats,
            new: &mut Bitmap,
        ) -> Result<(), Error> {
            match repeats {
                Repeats::Renew => self.insert_digests_into(digests, new),
                Repeats::Ignore => self.insert_absent_digests_into(digests, new),
            }
            Ok(())
        }
    };
    (clear) => {
        fn clear(&mut self) -> Result<(), Error> {
            self.clear();
            Ok(())
        }
    };
    (union) => {
        fn union_with(&mut self, other: &dyn Set) -> Result<(), Error> {
            self.union_with(same_kind(self, other)?)
        }
    };
    ($($what:ident),+) => {
        $(own!($what);)+
    };
}

/// The part of the face that is the same for every kind of the native format, and the name of its
/// method that counts keys.
macro_rules! as_native {
    ($items:ident) => {
        fn inserted_items(&self) -> u64 {
            self.$items()
        }

        fn kind(&self) -> Kind {
            <Self as Native>::KIND
        }

        fn digest_function(&self) -> &DigestFunction {
            Native::digest_function(self)
        }

        fn fields(&self) -> Fields {
            Native::fields(self)
        }

        fn segments(&self) -> Vec<&[Block]> {
            Native::segments(self)
        }

        fn copy(&self) -> Result<Box<dyn Set>, Error> {
            let segments = Native::segments(self).into_iter().map(OwnedBlocks::copy_of);
            let segments = segments.collect::<Result<_, _>>()?;
            let function = *Native::digest_function(self);
            Ok(Box::new(Self::from_segments(&Native::fields(self), function, segments)?))
        }

        own!(any);
    };
}

pub(super) use {as_native, own};
