//! Lists in files: several one after another, and one that is searched where it lies.

mod several;
mod sorted;
