//! Filter files that somebody put into the data folder: served by name, read only.

use super::contents::limits;
use super::filter::{Filter, charge, locked};
use super::{Entry, Hash, Keyspace, Shape, Spec};
use mayhap::native::Kind;
use mayhap::{DigestFunction, ScalableBloomFilter};
use mayhap_store::{load_as, open_mapped, read_bytes, read_header};
use std::path::Path;
use std::sync::Arc;

impl Keyspace {
    /// Serves a file under its name without extension: a plain filter of ours where it lies,
    /// mapped, a growing one or a filter of another system from memory. Nothing can be inserted,
    /// and the log knows nothing of it. A filter of another system is asked for the bytes that it
    /// hashes.
    ///
    /// # Errors
    ///
    /// A sentence with the path: no filter, not of this key, above a limit, or the name is taken.
    pub fn serve_file(&self, path: &Path) -> Result<Arc<Entry>, String> {
        let at = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
        let name = path.file_stem().ok_or_else(|| at(&"no file name"))?;
        let name: Arc<[u8]> = name.as_encoded_bytes().into();
        self.check_name(&name).map_err(|error| at(&error))?;
        let filter = self.open_file(path).map_err(|error| {
            // Errors of the store name the path themselves.
            if error.contains(&path.display().to_string()) { error } else { at(&error) }
        })?;
        let hash = match filter.digest_function() {
            Some(DigestFunction::Xxh3 { seed }) => Hash::Plain { seed },
            Some(_) => Hash::Keyed,
            None => Hash::Plain { seed: 0 },
        };
        let spec = Spec { shape: Shape::File, hash };
        let mut next_id = locked(&self.changing);
        if self.get(&name, 0).is_some() {
            return Err(at(&"there is a filter of this name; rename the file"));
        }
        let entry = self.entry(*next_id, spec, 0, filter);
        *next_id += 1;
        let entry = Arc::new(entry);
        self.add_to_index(&name, &entry);
        self.put(name, entry.clone());
        Ok(entry)
    }

    fn open_file(&self, path: &Path) -> Result<Filter, String> {
        let key = Some(self.options.secret_key);
        match read_header(path) {
            Ok(header) => {
                super::contents::check_native(&header, &self.options)?;
                match header.kind() {
                    Kind::Bloom => {
                        let mapped = open_mapped(path, key).map_err(|error| error.to_string())?;
                        Ok(Filter::Mapped(mapped))
                    }
                    Kind::Scalable => {
                        let charge = charge(header.body_bytes(), &self.options, &self.budget)
                            .map_err(|error| error.to_string())?;
                        let loaded = load_as::<ScalableBloomFilter>(path, key);
                        let filter = loaded.map_err(|error| error.to_string())?.filter;
                        Ok(Filter::growing(filter, &self.options, charge))
                    }
                    other => Err(format!("a {} filter cannot be served from a file", other.name())),
                }
            }
            Err(
                error @ (mayhap_store::Error::Foreign { .. }
                | mayhap_store::Error::Format { source: mayhap::Error::NotAFilter, .. }),
            ) => self.open_foreign(path)?.ok_or_else(|| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// `None` if it is of no system that is known.
    fn open_foreign(&self, path: &Path) -> Result<Option<Filter>, String> {
        let limits = limits(&self.options);
        let text = |error: mayhap::Error| error.to_string();
        // What is read is charged, and then what is kept of it.
        let length = path.metadata().map_err(|error| error.to_string())?.len();
        let charge = charge(length, &self.options, &self.budget).map_err(text)?;
        let bytes = read_bytes(path, length).map_err(|error| error.to_string())?;
        let mut last = None;
        for candidate in mayhap_formats::detect(&bytes) {
            match mayhap_formats::open(candidate.format, &bytes, &limits) {
                Ok(filter) => {
                    drop(bytes);
                    charge.add(filter.num_bits() / 8).map_err(text)?;
                    charge.give_back(length);
                    return Ok(Some(Filter::Foreign(filter, charge)));
                }
                Err(error) => last = last.or(Some(error.to_string())),
            }
        }
        last.map_or(Ok(None), Err)
    }
}
