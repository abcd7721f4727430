//! A sorted list, searched in place.

use crate::input::{Compression, Error, NotSearchable, Reading, SAMPLE_BYTES, Sample, sniff};
use mayhap_keys::{Cutter, KeyOptions};
use std::cmp::Ordering;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes that are read at once; a part of the file that is not longer is read line by line.
const WINDOW_BYTES: usize = 8 << 10;

/// Keys kept in memory, evenly spread over the file: they save the first steps of each search.
const INDEX_KEYS: u64 = 256;

/// Longer keys are not kept.
const MAX_INDEX_KEY_BYTES: usize = 1024;

/// A file of lines whose keys are sorted by their bytes, searched in place: a few reads for each
/// line that is looked up, in constant memory.
#[derive(Debug)]
pub struct SortedFile {
    file: File,
    name: String,
    len: u64,
    keys: Keys,
    max_line: usize,
    /// The start of the key of the first line: after a byte-order mark.
    start: u64,
    /// The start of the line of a key.
    index: Vec<(u64, Vec<u8>)>,
    /// The bytes from `window_start` on.
    window: Vec<u8>,
    window_start: u64,
    key: Vec<u8>,
}

impl SortedFile {
    /// Opens the file and checks its first lines and some lines spread over it. Keys are cut by
    /// these options.
    ///
    /// # Errors
    ///
    /// [`Error::NotSearchable`], [`Error::NotAList`], [`Error::Io`].
    pub fn open(path: &Path, options: &KeyOptions, reading: &Reading) -> Result<Self, Error> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(Error::io("open", &name))?;
        let metadata = file.metadata().map_err(Error::io("read", &name))?;
        if !metadata.is_file() {
            return Err(Error::NotSearchable { name, why: NotSearchable::NoRegularFile });
        }
        let mut sorted = Self {
            file,
            name,
            len: metadata.len(),
            keys: Keys {
                cutter: Cutter::new(options),
                strips_cr: options.strips_cr(),
                separator: options.separator(),
            },
            max_line: reading.max_line,
            start: 0,
            index: Vec::new(),
            window: Vec::new(),
            window_start: 0,
            key: Vec::new(),
        };
        if !reading.raw {
            sorted.sniff()?;
        }
        sorted.check_first_lines()?;
        sorted.look_around()?;
        Ok(sorted)
    }

    /// Judges the contents of the file, like lists that are read.
    fn sniff(&mut self) -> Result<(), Error> {
        self.fill(0, SAMPLE_BYTES)?;
        if Compression::of(&self.window).is_some() {
            return Err(self.not_searchable(NotSearchable::Compressed));
        }
        let mark_bytes = sniff(&Sample {
            bytes: &self.window,
            is_whole: self.window.len() as u64 == self.len,
            total_bytes: Some(self.len),
            separator: self.keys.separator,
        });
        let name = &self.name;
        let refused = |what| Error::NotAList { name: name.clone(), is_stdin: false, what };
        self.start = mark_bytes.map_err(refused)? as u64;
        Ok(())
    }

    /// Whether the file holds a key. It fails if two keys on the way are not in order.
    ///
    /// # Errors
    ///
    /// [`Error::NotSearchable`] if the file is seen not to be sorted; [`Error::Io`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_lists::{KeyOptions, Reading, SortedFile};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("sorted.txt");
    /// std::fs::write(&path, "apple\npear\n")?;
    /// let options = KeyOptions::default();
    /// let mut fruit = SortedFile::open(&path, &options, &Reading::default())?;
    /// assert!(fruit.holds(b"pear")? && !fruit.holds(b"plum")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn holds(&mut self, wanted: &[u8]) -> Result<bool, Error> {
        let slot = self.index.partition_point(|(_, key)| key.as_slice() < wanted);
        let (mut low, mut low_key) = match slot.checked_sub(1) {
            Some(before) => self.index[before].clone(),
            None => (self.start, Vec::new()),
        };
        let (mut high, mut high_key) = match self.index.get(slot) {
            Some((at, key)) => (*at, Some(key.clone())),
            None => (self.len, None),
        };
        while high - low > WINDOW_BYTES as u64 {
            let at = self.line_from(low + (high - low) / 2)?;
            if at >= high {
                // One line extends from the middle to the end.
                break;
            }
            let next = self.read_key(at)?;
            if self.key < low_key || high_key.as_ref().is_some_and(|high| self.key > *high) {
                return Err(self.not_sorted(at));
            }
            match self.key.as_slice().cmp(wanted) {
                Ordering::Equal => return Ok(true),
                Ordering::Less => (low, low_key) = (next, self.key.clone()),
                Ordering::Greater => (high, high_key) = (at, Some(self.key.clone())),
            }
        }
        let mut at = low;
        while at < high {
            let next = self.read_key(at)?;
            if self.key < low_key {
                return Err(self.not_sorted(at));
            }
            match self.key.as_slice().cmp(wanted) {
                Ordering::Equal => return Ok(true),
                Ordering::Less => std::mem::swap(&mut low_key, &mut self.key),
                Ordering::Greater => return Ok(false),
            }
            at = next;
        }
        Ok(high_key.is_some_and(|key| key == wanted))
    }

    /// All lines of the first window have to be sorted.
    fn check_first_lines(&mut self) -> Result<(), Error> {
        let (mut at, mut last) = (self.start, Vec::new());
        while at < self.len.min(WINDOW_BYTES as u64) {
            let next = self.read_key(at)?;
            if self.key < last {
                return Err(self.not_sorted(at));
            }
            std::mem::swap(&mut last, &mut self.key);
            at = next;
        }
        Ok(())
    }

    /// Fills the index, all of whose keys have to be sorted.
    fn look_around(&mut self) -> Result<(), Error> {
        let steps = (self.len / WINDOW_BYTES as u64).min(INDEX_KEYS);
        let (mut done, mut last) = (0, Vec::new());
        for step in 1..steps {
            let from = self.len / steps * step;
            if from < done {
                continue;
            }
            let at = self.line_from(from)?;
            if at >= self.len {
                break;
            }
            done = self.read_key(at)?;
            if self.key < last {
                return Err(self.not_sorted(at));
            }
            if self.key.len() <= MAX_INDEX_KEY_BYTES {
                self.index.push((at, self.key.clone()));
            }
            std::mem::swap(&mut last, &mut self.key);
        }
        Ok(())
    }

    /// Cuts the key of the line that begins at `at`; returns where the next line does.
    fn read_key(&mut self, at: u64) -> Result<u64, Error> {
        let (line, next) = self.line(at)?;
        if self.keys.cut(&self.window[line], &mut self.key) {
            return Ok(next);
        }
        Err(self.not_searchable(NotSearchable::NoKey { at }))
    }

    /// The start of the first line that begins at or after `at`.
    fn line_from(&mut self, at: u64) -> Result<u64, Error> {
        if at <= self.start { Ok(self.start) } else { Ok(self.line(at - 1)?.1) }
    }

    /// The bytes from `at` to the end of their line, in the window; where the next line begins.
    fn line(&mut self, at: u64) -> Result<(Range<usize>, u64), Error> {
        if at < self.window_start || at >= self.window_start + self.window.len() as u64 {
            self.fill(at, WINDOW_BYTES)?;
        }
        loop {
            let from = (at - self.window_start) as usize;
            let rest = &self.window[from..];
            if let Some(length) = memchr::memchr(self.keys.separator, rest) {
                return Ok((from..from + length, at + length as u64 + 1));
            }
            if at + rest.len() as u64 >= self.len {
                return Ok((from..self.window.len(), self.len));
            }
            if rest.len() > self.max_line {
                let limit = self.max_line;
                return Err(self.not_searchable(NotSearchable::LineTooLong { at, limit }));
            }
            let wanted = WINDOW_BYTES.max(rest.len() * 2);
            self.fill(at, wanted)?;
        }
    }

    /// Reads this many bytes from `at` on, or as many as there are.
    fn fill(&mut self, at: u64, bytes: usize) -> Result<(), Error> {
        let bytes = self.len.saturating_sub(at).min(bytes as u64) as usize;
        self.window.resize(bytes, 0);
        self.window_start = at;
        self.file.read_exact_at(&mut self.window, at).map_err(Error::io("read", &self.name))
    }

    fn not_sorted(&self, at: u64) -> Error {
        self.not_searchable(NotSearchable::NotSorted { at, separator: self.keys.separator })
    }

    fn not_searchable(&self, why: NotSearchable) -> Error {
        Error::NotSearchable { name: self.name.clone(), why }
    }
}

/// Cuts keys, with the lines that they are cut out of.
#[derive(Debug)]
struct Keys {
    /// Where a key is not the line itself.
    cutter: Option<Cutter>,
    strips_cr: bool,
    separator: u8,
}

impl Keys {
    /// Replaces `key` by the key of a line; returns whether it has one.
    fn cut(&mut self, line: &[u8], key: &mut Vec<u8>) -> bool {
        key.clear();
        if let Some(cutter) = &mut self.cutter {
            return cutter.cut(line, key).is_ok();
        }
        let line = if self.strips_cr { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
        key.extend_from_slice(line);
        true
    }
}
