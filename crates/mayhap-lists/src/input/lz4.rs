//! LZ4 frames one after another.
//!
//! The crate decodes one frame. It accepts a file that ends between two blocks as complete, so here
//! the end mark of a frame is distinguished from the end of the file; and it does not support
//! skippable frames.

use lz4_flex::frame::FrameDecoder;
use std::io::{self, Cursor, ErrorKind, Read};

/// The magic of a skippable frame, without its last four bits.
const SKIPPABLE: u32 = 0x184D_2A50;

type Whole<R> = io::Chain<Cursor<[u8; 4]>, R>;

/// The contents of all frames of a file.
pub(super) struct Lz4Frames<R: Read> {
    /// Between two frames the rest of the file, in one its decoder; neither after an error.
    state: Step<R>,
}

enum Step<R: Read> {
    Between(R),
    In(FrameDecoder<Watched<Whole<R>>>),
    Failed,
}

impl<R: Read> Lz4Frames<R> {
    /// At the beginning of a file.
    pub(super) fn new(file: R) -> Self {
        Self { state: Step::Between(file) }
    }

    /// Continues with the next frame; `None` at the end of the file.
    fn begin(mut file: R) -> io::Result<Result<FrameDecoder<Watched<Whole<R>>>, R>> {
        loop {
            let mut magic = [0; 4];
            match io::copy(&mut file.by_ref().take(4), &mut magic.as_mut_slice())? {
                0 => return Ok(Err(file)),
                4 => {}
                _ => return Err(ErrorKind::UnexpectedEof.into()),
            }
            if u32::from_le_bytes(magic) & !0xF != SKIPPABLE {
                let whole = Cursor::new(magic).chain(file);
                return Ok(Ok(FrameDecoder::new(Watched { reader: whole, has_ended: false })));
            }
            let mut length = [0; 4];
            file.read_exact(&mut length)?;
            let length = u64::from(u32::from_le_bytes(length));
            if io::copy(&mut file.by_ref().take(length), &mut io::sink())? < length {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl<R: Read> Read for Lz4Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(&mut self.state, Step::Failed) {
                Step::Failed => return Err(ErrorKind::InvalidData.into()),
                Step::Between(file) => match Self::begin(file)? {
                    Ok(decoder) => self.state = Step::In(decoder),
                    Err(file) => {
                        self.state = Step::Between(file);
                        return Ok(0);
                    }
                },
                Step::In(mut decoder) => match decoder.read(buffer) {
                    // After the end mark nothing more was requested.
                    Ok(0) if decoder.get_ref().has_ended => {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                    Ok(0) => {
                        self.state = Step::Between(decoder.into_inner().reader.into_inner().1);
                    }
                    result => {
                        // A signal is tried again.
                        let is_over =
                            matches!(&result, Err(e) if e.kind() != ErrorKind::Interrupted);
                        if !is_over {
                            self.state = Step::In(decoder);
                        }
                        return result;
                    }
                },
            }
        }
    }
}

/// A reader that knows whether its end was reached.
struct Watched<R> {
    reader: R,
    has_ended: bool,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.has_ended |= length == 0 && !buffer.is_empty();
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    use std::io::Write;

    fn frame(bytes: &[u8], info: FrameInfo) -> Vec<u8> {
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn decode(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut decoded = Vec::new();
        Lz4Frames::new(bytes).read_to_end(&mut decoded)?;
        Ok(decoded)
    }

    /// Frames of all block sizes, linked and not, with a skippable one between.
    fn frames() -> (Vec<u8>, Vec<u8>) {
        let text: Vec<u8> =
            (0..40_000u32).flat_map(|i| format!("line {i}\n").into_bytes()).collect();
        let (mut file, mut all) = (Vec::new(), Vec::new());
        for size in [BlockSize::Max4MB, BlockSize::Max64KB, BlockSize::Max256KB] {
            for mode in [BlockMode::Linked, BlockMode::Independent] {
                let info =
                    FrameInfo::new().block_size(size).block_mode(mode).content_checksum(true);
                file.extend(frame(&text, info));
                file.extend([0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3]);
                all.extend_from_slice(&text);
            }
        }
        (file, all)
    }

    #[test]
    fn all_frames_of_a_file_are_read_and_skippable_ones_left_out() {
        let (file, all) = frames();
        assert!(decode(&file).unwrap() == all);
        assert_eq!(decode(b"").unwrap(), b"");
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_an_error_and_never_a_shorter_list() {
        let text = b"one\ntwo\nthree\n".repeat(20_000);
        for checksum in [false, true] {
            let info = FrameInfo::new().block_size(BlockSize::Max64KB).content_checksum(checksum);
            let file = frame(&text, info);
            assert!(decode(&file).unwrap() == text);
            for end in 1..file.len() {
                assert!(decode(&file[..end]).is_err(), "{end} of {} bytes", file.len());
            }
        }
    }
}
