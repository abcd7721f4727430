//! The info of a filter.

/// The parameters and fill of a filter. Counts are doubles; NaN is "not known".
///
/// It crosses to JavaScript as a row of numbers and a text: `package/info.js` names them, in the
/// same order. An object with a getter for each would be a twentieth of the module.
#[derive(Debug, Clone)]
pub(crate) struct Info {
    /// The system that the file is of: `mayhap`, `guava`, …
    pub(crate) format: &'static str,
    /// Which kind, and of plain filters which layout: `blocked`, `standard`, `counting`, …
    pub(crate) kind: &'static str,
    /// The hash of keys: `xxh3`, `sip13`; empty for other systems.
    pub(crate) digest: &'static str,
    /// The library's name of the health; empty where no number of keys was promised.
    pub(crate) health: &'static str,
    /// The seed, or the id of the secret key, in 16 hexadecimal digits.
    pub(crate) seed: String,
    /// How keys are cut out of lines, as the file records it.
    pub(crate) key_options: String,
    /// Bytes of memory.
    pub(crate) num_bytes: f64,
    /// m.
    pub(crate) num_bits: f64,
    /// k.
    pub(crate) num_hashes: f64,
    /// n, the number of keys that the filter was created for.
    pub(crate) expected_items: f64,
    /// p, as promised.
    pub(crate) target_fpp: f64,
    /// Insertions that were new.
    pub(crate) inserted_items: f64,
    /// Distinct keys, estimated from the bits.
    pub(crate) estimated_items: f64,
    /// The rate now, from the bits.
    pub(crate) estimated_fpp: f64,
    /// The share of the bits that are set.
    pub(crate) fill_ratio: f64,
    /// Layers of a growing filter, sets of a matrix; else 1.
    pub(crate) num_parts: f64,
}

impl Info {
    /// Nothing known yet.
    pub(crate) const fn unknown() -> Self {
        Self {
            format: "",
            kind: "",
            digest: "",
            health: "",
            seed: String::new(),
            key_options: String::new(),
            num_bytes: f64::NAN,
            num_bits: f64::NAN,
            num_hashes: f64::NAN,
            expected_items: f64::NAN,
            target_fpp: f64::NAN,
            inserted_items: f64::NAN,
            estimated_items: f64::NAN,
            estimated_fpp: f64::NAN,
            fill_ratio: f64::NAN,
            num_parts: 1.0,
        }
    }

    /// The texts, a line each; the key options are last, and may have more lines.
    pub(crate) fn texts(&self) -> String {
        [self.format, self.kind, self.digest, self.health, &self.seed, &self.key_options].join("\n")
    }

    /// The numbers, in the order of the fields.
    pub(crate) fn numbers(&self) -> [f64; 10] {
        [
            self.num_bytes,
            self.num_bits,
            self.num_hashes,
            self.expected_items,
            self.target_fpp,
            self.inserted_items,
            self.estimated_items,
            self.estimated_fpp,
            self.fill_ratio,
            self.num_parts,
        ]
    }
}
