//! Other systems' files, one bit of their header flipped.
