//! Lists of keys, cut at every byte.
