//! A window as a file: `crates/mayhap/NATIVE-FORMAT.md`, kind 4.

use super::even::EvenWindow;
use super::spans::{LAYOUT, SpanWindow};
use super::{Form, WindowBloomFilter};
use crate::bits::{Block, OwnedBlocks};
use crate::native::{Fields, Kind, Native};
use crate::{DigestFunction, Error};
use alloc::vec::Vec;

impl Native for WindowBloomFilter {
    const KIND: Kind = Kind::Window;

    fn digest_function(&self) -> &DigestFunction {
        self.digest_function()
    }

    fn fields(&self) -> Fields {
        with_form!(&self.form, window => window.fields(self.target_fpp))
    }

    fn segment_blocks(fields: &Fields) -> Result<Vec<u64>, Error> {
        if fields.layout == LAYOUT {
            SpanWindow::segment_blocks(fields)
        } else {
            EvenWindow::segment_blocks(fields)
        }
    }

    fn segments(&self) -> Vec<&[Block]> {
        with_form!(&self.form, window => window.segments())
    }

    fn from_segments(
        fields: &Fields,
        digest_function: DigestFunction,
        segments: Vec<OwnedBlocks>,
    ) -> Result<Self, Error> {
        let expected = Self::segment_blocks(fields)?;
        let found = segments.len() as u64;
        let Ok(segments) = <[OwnedBlocks; 2]>::try_from(segments) else {
            return Err(Error::WrongLength { field: "segments", expected: 2, found });
        };
        for (segment, expected) in segments.iter().zip(expected) {
            Error::check_length("body", expected, segment.as_ref().len() as u64)?;
        }
        let form = if fields.layout == LAYOUT {
            Form::Spans(SpanWindow::from_segments(fields, segments)?)
        } else {
            Form::Even(EvenWindow::from_segments(fields, segments)?)
        };
        Ok(Self { form, target_fpp: fields.target_fpp, digest_function })
    }
}
