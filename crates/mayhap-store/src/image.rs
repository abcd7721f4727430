//! An image: an open filter file, whatever its name refers to by now.

use crate::Error;
use crate::body::{Body, verify_body};
use crate::disk::{
    self, Disk, DiskFile, How, open_regular, read_exact_at, read_up_to, write_all_at,
};
use crate::short::ShortFile;
use mayhap::native::{
    self, HEADER_BYTES, Header, IDENTITY_OFFSET, Identity, Kind, MAGIC, Native, looks_like,
};
use mayhap::set::{Set, from_segments};
use mayhap::{AnyFilter, DigestFunction, OwnedBlocks, SecretKey};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The number of attempts to read an identity that may just be being rewritten, and the time in
/// between.
const MAX_READS: usize = 5;
const BETWEEN_READS: Duration = Duration::from_millis(1);

/// An open filter file with a sound header and the length given there.
#[derive(Debug)]
pub struct Image {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    header: Header,
    /// The length of a short file, which is read as if it had pages.
    short_bytes: Option<u64>,
}

/// The front of a file: its header, and all of it if it is short.
#[derive(Debug)]
pub(crate) struct Start {
    pub(crate) header: Header,
    /// The length of the file, and the file with pages for which it stands.
    pub(crate) short: Option<(u64, Vec<u8>)>,
}

impl Image {
    /// Opens a file and checks its header and length.
    pub(crate) fn open(disk: &dyn Disk, path: &Path) -> Result<Self, Error> {
        let file = open_regular(disk, path, How::Read)?;
        let Start { header, short } = read_start_at_rest(&*file, path, |time| disk.pause(time))?;
        let path = path.into();
        Ok(match short {
            None => Self { file, path, header, short_bytes: None },
            Some((bytes, pages)) => {
                let file = Box::new(ShortFile::new(file, pages));
                Self { file, path, header, short_bytes: Some(bytes) }
            }
        })
    }

    /// Whether it is a short file ([`mayhap::native::encode_short`]).
    pub const fn is_short(&self) -> bool {
        self.short_bytes.is_some()
    }

    /// The length of the file.
    ///
    /// # Examples
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = &folder.path().join("seen.mayhap");
    /// use mayhap_store::{Snapshot, save, save_short};
    ///
    /// let filter = mayhap::AnyFilter::builder().expected_items(100).target_fpp(0.01).build()?;
    /// for (short, file_bytes) in [(true, 200), (false, 8200)] {
    ///     if short { save_short(path, &filter, "", false)? } else { save(path, &filter, "")? }
    ///     let file = Snapshot::open(path)?;
    ///     assert_eq!((file.image().is_short(), file.image().file_bytes()), (short, file_bytes));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file_bytes(&self) -> u64 {
        self.short_bytes.unwrap_or_else(|| self.header.file_bytes())
    }

    /// The header of the file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The name by which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The checksum of the header, which covers all of the file but its identity: two images with
    /// the same fingerprint hold the same filter.
    pub(crate) fn fingerprint(&self) -> Result<u64, Error> {
        let mut bytes = [0; 8];
        read_exact_at(&*self.file, &mut bytes, (HEADER_BYTES - 8) as u64)
            .map_err(Error::io("read", &self.path))?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub(crate) fn file(&self) -> &dyn DiskFile {
        &*self.file
    }

    /// Another handle of the file, of this machine.
    pub(crate) fn try_clone_file(&self) -> Result<File, Error> {
        let unsupported = || io::Error::from(io::ErrorKind::Unsupported);
        let file = self.file.as_file().ok_or_else(unsupported).and_then(File::try_clone);
        file.map_err(Error::io("open", &self.path))
    }

    /// Reads the filter into memory (in huge pages if it is large) and checks every byte of it;
    /// `progress` is given the bytes done and the bytes in all, several times a millisecond.
    ///
    /// # Errors
    ///
    /// Same as [`crate::load_as`].
    pub fn load<F: Native>(
        &self,
        secret_key: Option<SecretKey>,
        progress: impl FnMut(u64, u64),
    ) -> Result<F, Error> {
        let path = &self.path;
        self.header.check_kind(F::KIND).map_err(Error::format(path))?;
        let (function, segments) = self.read_segments(secret_key, progress)?;
        F::from_segments(self.header.fields(), function, segments).map_err(Error::format(path))
    }

    /// Like [`Image::load`], for a filter of any kind that is one set.
    ///
    /// # Errors
    ///
    /// Same as [`Image::load`]; [`mayhap::Error::NotOfKind`] for a matrix and a segment.
    pub fn load_set(&self, secret_key: Option<SecretKey>) -> Result<Box<dyn Set>, Error> {
        let kind = self.header.kind();
        if kind.capabilities().many_sets || kind == Kind::Segment {
            let refused = mayhap::Error::NotOfKind { operation: "set", kind: kind.name() };
            return Err(Error::format(&self.path)(refused));
        }
        let (function, segments) = self.read_segments(secret_key, |_, _| {})?;
        from_segments(&self.header, function, segments).map_err(Error::format(&self.path))
    }

    /// The digest function, and the segments of the body.
    fn read_segments(
        &self,
        secret_key: Option<SecretKey>,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<(DigestFunction, Vec<OwnedBlocks>), Error> {
        let digest_function = self.header.digest_function(secret_key);
        Ok((digest_function.map_err(Error::format(&self.path))?, self.read_body(&mut progress)?))
    }

    /// A plain filter with these bits and this count, for work on bits alone, which needs no key:
    /// the digest function is any.
    ///
    /// # Errors
    ///
    /// Same as [`crate::load()`], except for the key.
    pub(crate) fn load_bits(&self) -> Result<AnyFilter, Error> {
        let params = self.header.params().map_err(Error::format(&self.path))?;
        let blocks = self.read_body(|_, _| {})?.swap_remove(0);
        let (function, items) = (DigestFunction::default(), self.header.inserted_items());
        AnyFilter::from_parts(params, function, blocks, items).map_err(Error::format(&self.path))
    }

    /// The segments of the body.
    fn read_body(&self, mut progress: impl FnMut(u64, u64)) -> Result<Vec<OwnedBlocks>, Error> {
        let Self { file, path, header, .. } = self;
        let mut body = Body::new(&**file, path, header);
        let mut segments = Vec::new();
        for &num_blocks in header.segment_blocks() {
            let mut blocks = OwnedBlocks::zeroed(num_blocks).map_err(Error::format(path))?;
            body.read_segment(blocks.as_mut(), &mut progress)?;
            native::body_from_le(blocks.as_mut());
            segments.push(blocks);
        }
        body.finish()?;
        Ok(segments)
    }

    /// Checks every byte without keeping it, in constant memory; `progress` as for [`Image::load`].
    ///
    /// # Errors
    ///
    /// Same as [`crate::verify()`].
    pub fn verify(&self, progress: impl FnMut(u64, u64)) -> Result<(), Error> {
        verify_body(&*self.file, &self.path, &self.header, progress)
    }

    /// The file in which to rewrite the identity; `None` if the image must be replaced instead: a
    /// file of an earlier version, a short one, one with several names, which would all get the
    /// identity, or one that is not writable.
    pub(crate) fn open_to_rewrite(
        &self,
        disk: &dyn Disk,
    ) -> Result<Option<Box<dyn DiskFile>>, Error> {
        let ours = self.file.look().map_err(Error::io("look at", &self.path))?;
        if self.header.version() < native::VERSION || self.is_short() || ours.links > 1 {
            return Ok(None);
        }
        let Ok(file) = disk.open(&self.path, How::Change) else { return Ok(None) };
        if !file.look().map_err(Error::io("look at", &self.path))?.is_same_file(&ours) {
            return Err(Error::Replaced { path: self.path.clone() });
        }
        Ok(Some(file))
    }

    /// Rewrites the identity in place, synced, with the lock of the filter held.
    pub(crate) fn rewrite_identity(
        &mut self,
        file: &dyn DiskFile,
        identity: Identity,
    ) -> Result<(), Error> {
        let header = self.header.clone().with_identity(Some(identity));
        let header = header.map_err(Error::format(&self.path))?;
        let bytes = Identity::encode(Some(identity));
        write_all_at(file, &bytes, IDENTITY_OFFSET as u64)
            .map_err(Error::write(&self.path, bytes.len() as u64))?;
        file.sync_data().map_err(Error::io("sync", &self.path))?;
        self.header = header;
        Ok(())
    }
}

/// [`read_start`], repeated while the identity is being rewritten.
pub(crate) fn read_start_at_rest(
    file: &dyn DiskFile,
    path: &Path,
    pause: impl Fn(Duration),
) -> Result<Start, Error> {
    for _ in 1..MAX_READS {
        match read_start(file, path) {
            // A reader sees this while the identity is being rewritten.
            Err(Error::Format { source: mayhap::Error::IdentityDamaged, .. }) => {
                pause(BETWEEN_READS);
            }
            start => return start,
        }
    }
    read_start(file, path)
}

/// Reads and checks a header, and checks the length of the file against it.
fn read_start(file: &dyn DiskFile, path: &Path) -> Result<Start, Error> {
    let mut start = [0; HEADER_BYTES];
    let found = read_up_to(file, &mut start, 0).map_err(Error::io("read", path))?;
    let start = &start[..found];
    // A short file ends before the first page does.
    if native::is_short(start) {
        let pages = native::lengthen(start).map_err(Error::format(path))?;
        let header = Header::decode(&pages).map_err(Error::format(path))?;
        return Ok(Start { header, short: Some((found as u64, pages)) });
    }
    let header = Header::decode(start).map_err(|source| match source {
        // Too short for a whole magic, but the existing part is right.
        mayhap::Error::NotAFilter if found > 0 && MAGIC.starts_with(start) => {
            let (field, expected) = ("header", HEADER_BYTES as u64);
            Error::format(path)(mayhap::Error::WrongLength { field, expected, found: found as u64 })
        }
        mayhap::Error::NotAFilter => match looks_like(start) {
            Some(name) => Error::Foreign { path: path.into(), looks_like: name },
            None => Error::format(path)(source),
        },
        _ => Error::format(path)(source),
    })?;
    let file_bytes = file.look().map_err(Error::io("look at", path))?.bytes;
    header.check_file_bytes(file_bytes).map_err(Error::format(path))?;
    Ok(Start { header, short: None })
}

/// Like [`Image::open`], for a file of this machine.
pub(crate) fn open(path: &Path) -> Result<Image, Error> {
    Image::open(&disk::Real, path)
}
