//! Many sets with names, queried all at once.

use crate::error::Error;
use crate::io::messages::Reporter;
use crate::set::open::{self, Digests, Named, keyless_lines};
use mayhap::{AnyFilter, Bitmap, BloomMatrix, SecretKey};
use mayhap_keys::KeyOptions;
use mayhap_lists::Batch;
use mayhap_sets::KeySet;
use mayhap_store::MappedFilter;
use mayhap_units::line::printable;
use std::path::Path;

/// Fewer filters are queried one by one: each takes one cache line of a key, and a matrix the k
/// rows (about 8) of as many as 512 sets, of which it takes the memory even if there are fewer.
const MIN_MATRIX_SETS: usize = 64;

/// Sets with names, and their answers.
#[derive(Debug)]
pub struct NamedSets {
    names: Vec<String>,
    of: Sets,
    /// How many lines each set may hold.
    counts: Vec<u64>,
    digests: Digests,
    lines: u64,
    lines_without_key: u64,
    /// The sets of each line of the batch, one after another, and where the next line's begin.
    sets: Vec<u32>,
    ends: Vec<usize>,
}

#[derive(Debug)]
enum Sets {
    Filters {
        filters: Vec<Box<dyn KeySet>>,
        found: Vec<Bitmap>,
        /// Lines to query before a matrix pays for itself; `None` if it never does.
        lines_left: Option<u64>,
    },
    Matrix(BloomMatrix),
}

impl NamedSets {
    fn new(names: Vec<String>, of: Sets, options: &KeyOptions) -> Self {
        let counts = vec![0; names.len()];
        Self {
            names,
            of,
            counts,
            digests: Digests::of(options),
            lines: 0,
            lines_without_key: 0,
            sets: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// The sets of a matrix file, with their names, or numbers where they have none.
    ///
    /// # Errors
    ///
    /// [`Error::Store`], also for other kinds; [`Error::Keys`] for key options that contradict.
    pub fn open_matrix(
        path: &Path,
        key: Option<SecretKey>,
        given: &KeyOptions,
    ) -> Result<(Self, KeyOptions), Error> {
        let name = path.display().to_string();
        let header = mayhap_store::read_header(path)?;
        let options = KeyOptions::from_header(&name, header.key_options())?.agree(&name, given)?;
        let matrix: BloomMatrix = mayhap_store::load_as(path, key)?.filter;
        // A name comes from outside, and is not to begin a line of its own.
        let name = |set| match matrix.name(set) {
            None | Some("") => set.to_string(),
            Some(name) => printable(name).into_owned(),
        };
        let names = (0..matrix.num_sets()).map(name).collect();
        Ok((Self::new(names, Sets::Matrix(matrix), &options), options))
    }

    /// Filters with their names, for keys that are cut by these options; a matrix is built of them
    /// if it takes at most `max_bytes`.
    pub fn of_filters(filters: Vec<Named>, options: &KeyOptions, max_bytes: u64) -> Self {
        let (names, filters): (Vec<_>, Vec<_>) = filters.into_iter().unzip();
        let lines_left = matrix_bytes(&filters)
            .filter(|&bytes| bytes <= max_bytes)
            // Building it touches all its bytes, querying one by one a cache line of each filter:
            // go over when as much was spent on queries, which is at most twice the least.
            .map(|bytes| bytes / 64 / filters.len() as u64);
        let found = filters.iter().map(|_| Bitmap::new()).collect();
        Self::new(names, Sets::Filters { filters, found, lines_left }, options)
    }

    /// How the sets were queried in the end.
    pub fn queried_as(&self) -> &'static str {
        match self.of {
            Sets::Filters { .. } => "filters",
            Sets::Matrix(_) => "matrix",
        }
    }

    /// Lines queried whose text is no key of any of the sets.
    pub fn lines_without_key(&self) -> u64 {
        self.lines_without_key
    }

    /// Whether line `i` of the batch queried last is no key of one of the sets, so that nobody can
    /// say whether it is in that.
    pub fn is_unsure(&self, i: usize) -> bool {
        let Sets::Filters { filters, .. } = &self.of else { return false };
        self.digests.are_of_lines()
            && filters.iter().any(|filter| filter.not_keys().binary_search(&i).is_ok())
    }

    /// That all lines were answered.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for this many lines that are no keys of a set, and that no other one holds.
    pub fn check_answered(&self, unanswered: u64) -> Result<(), Error> {
        let Sets::Filters { filters, .. } = &self.of else { return Ok(()) };
        let filters = filters.iter().map(|filter| &**filter);
        open::check_answered(unanswered, self.names.iter().map(String::as_str).zip(filters))
    }

    /// Prints the warnings about the sets after the last line.
    pub fn warn(&self, talk: Reporter) {
        let Sets::Filters { filters, .. } = &self.of else { return };
        for (filter, (name, found)) in filters.iter().zip(self.counts()) {
            open::warn((name, &**filter), self.lines, found, talk);
        }
    }

    /// Each set's name, and how many lines it may hold.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.names.iter().map(String::as_str).zip(self.counts.iter().copied())
    }

    /// Queries the lines of a batch.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn query(&mut self, batch: &Batch<'_>) -> Result<&Self, Error> {
        self.sets.clear();
        self.ends.clear();
        if batch.is_keyless() {
            self.ends.resize(batch.len(), 0);
            return Ok(self);
        }
        self.lines += batch.len() as u64;
        self.build_matrix(batch.len() as u64);
        self.digests.clear();
        match &mut self.of {
            Sets::Matrix(matrix) if !self.digests.are_of_lines() => {
                let Some(expressions) = self.digests.expressions(batch) else { return Ok(self) };
                let mut found: Vec<Vec<u32>> = Vec::new();
                matrix.which_digests(expressions.digests(matrix.digest_function()), |_, sets| {
                    found.push(sets.iter().map(|set| set as u32).collect());
                });
                for all in expressions.lines() {
                    let mut sets = found[all].concat();
                    sets.sort_unstable();
                    sets.dedup();
                    self.sets.extend(sets);
                    self.ends.push(self.sets.len());
                }
            }
            Sets::Matrix(matrix) => {
                let mut others = sets_with_cr(matrix, &mut self.digests, batch).peekable();
                let digests = self.digests.by(matrix.digest_function(), batch);
                matrix.which_digests(digests, |i, sets| {
                    let start = self.sets.len();
                    self.sets.extend(sets.iter().map(|set| set as u32));
                    if let Some((_, more)) = others.next_if(|(line, _)| *line == i) {
                        let mut all = self.sets.split_off(start);
                        all.extend(more);
                        all.sort_unstable();
                        all.dedup();
                        self.sets.extend(all);
                    }
                    self.ends.push(self.sets.len());
                });
            }
            Sets::Filters { filters, found, .. } => {
                for (filter, found) in filters.iter_mut().zip(&mut *found) {
                    open::query(&mut **filter, batch, &mut self.digests, found)?;
                    filter.check_unchanged()?;
                }
                if self.digests.are_of_lines() {
                    self.lines_without_key += keyless_lines(filters.iter().map(|filter| &**filter));
                }
                for i in 0..batch.len() {
                    let holds = |set: &usize| found[*set].get(i);
                    let sets = (0..found.len()).filter(holds).map(|set| set as u32);
                    self.sets.extend(sets);
                    self.ends.push(self.sets.len());
                }
            }
        }
        for &set in &self.sets {
            self.counts[set as usize] += 1;
        }
        Ok(self)
    }

    /// Appends the names of the sets that may hold line `i` of the batch queried last; whether
    /// there is any.
    pub fn of_line(&self, i: usize, line: &mut Vec<u8>) -> bool {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        let sets = &self.sets[start..self.ends[i]];
        for (at, &set) in sets.iter().enumerate() {
            if at > 0 {
                line.push(b',');
            }
            line.extend_from_slice(self.names[set as usize].as_bytes());
        }
        !sets.is_empty()
    }

    /// Goes over to a matrix when the next lines make it worth it.
    fn build_matrix(&mut self, lines: u64) {
        let Sets::Filters { filters, lines_left, .. } = &mut self.of else { return };
        let Some(left) = lines_left else { return };
        if let Some(left) = left.checked_sub(lines) {
            *lines_left = Some(left);
            return;
        }
        *lines_left = None;
        if let Some(matrix) = matrix_of(filters) {
            self.of = Sets::Matrix(matrix);
        }
    }
}

/// The lines of a batch that may be in a matrix by another key, each with the sets that hold it.
fn sets_with_cr(
    matrix: &BloomMatrix,
    digests: &mut Digests,
    batch: &Batch<'_>,
) -> impl Iterator<Item = (usize, Vec<u32>)> + use<> {
    let mut others: Vec<(usize, Vec<u32>)> = Vec::new();
    if let Some(with_cr) = digests.with_cr(batch) {
        let lines = with_cr.lines().to_vec();
        matrix.which_digests(with_cr.digests(matrix.digest_function()), |i, sets| {
            others.push((lines[i], sets.iter().map(|set| set as u32).collect()));
        });
    }
    others.into_iter()
}

/// The filters, if all are mapped and of one shape and digest.
fn of_one_shape(filters: &[Box<dyn KeySet>]) -> Option<Vec<&MappedFilter>> {
    let mapped: Option<Vec<_>> = filters.iter().map(|filter| filter.mapped()).collect();
    mapped.filter(|all| all.iter().all(|filter| all[0].is_blocked_like(filter)))
}

/// The filters as a matrix, for which every page of them is read.
fn matrix_of(filters: &[Box<dyn KeySet>]) -> Option<BloomMatrix> {
    let blocked = of_one_shape(filters)?.into_iter().map(|mapped| match mapped.whole() {
        AnyFilter::Blocked(filter) => Some(filter),
        _ => None,
    });
    // Where there is too little memory after all, the filters go on.
    let matrix = BloomMatrix::from_filters(&blocked.collect::<Option<Vec<_>>>()?).ok()?;
    // If a file is damaged or was changed meanwhile, it says so when it is queried next.
    filters.iter().all(|filter| filter.check_unchanged().is_ok()).then_some(matrix)
}

/// The bytes of a matrix of these filters; `None` if there are too few, or of several shapes.
fn matrix_bytes(filters: &[Box<dyn KeySet>]) -> Option<u64> {
    let len = filters.len();
    if !(MIN_MATRIX_SETS..=BloomMatrix::MAX_SETS).contains(&len) {
        return None;
    }
    let rows = of_one_shape(filters)?.first()?.params().num_bits();
    rows.checked_mul(64)?.checked_mul(len.div_ceil(512) as u64)
}
