//! Kernels: the hot loops per instruction set, chosen at run time, all bit-identical.
//!
//! `kernel.rs` is a table of functions, which each instruction set fills in a file of its own for
//! each k of `blocked`: `scalar.rs`, the definition, `avx2.rs`, `avx512.rs` and `neon.rs`, with
//! `batch.rs`, the loop around them, and `shared.rs`, which loads blocks that other threads write
//! to. `backend.rs` chooses among them, as far as `limit.rs` allows; `only_scalar.rs` replaces it
//! in WebAssembly. `tests.rs` compares every kernel of this machine with the scalar one and prints
//! which ran.
//!
//! `probes/` has the kernels of `standard`, `rows/` the kernels of windows, `buckets/` those of
//! compact filters, and `planes/` those of ribbon filters. `cpu.rs`, `digest.rs`, `fold.rs` and
//! `popcount.rs` are loops compiled for the detected CPU, `pair.rs` sets two lanes in one
//! locked instruction, and `prefetch.rs` requests cache lines.
#![expect(unsafe_code, reason = "intrinsics, and calls to functions with target features")]

/// Whether this CPU has all these features.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(loom, shuttle))))]
macro_rules! has_features {
    ($($feature:tt),*) => {{
        #[cfg(all(feature = "std", target_arch = "x86_64"))]
        let has = true $(&& std::arch::is_x86_feature_detected!($feature))*;
        #[cfg(all(feature = "std", target_arch = "aarch64"))]
        let has = true $(&& std::arch::is_aarch64_feature_detected!($feature))*;
        #[cfg(not(feature = "std"))]
        let has = true $(&& cfg!(target_feature = $feature))*;
        has
    }};
}

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod avx512;
#[cfg(not(target_family = "wasm"))]
mod backend;
mod batch;
mod buckets;
mod cpu;
mod digest;
mod fold;
#[cfg(not(target_family = "wasm"))]
mod kernel;
mod limit;
#[cfg(all(target_arch = "aarch64", not(any(loom, shuttle))))]
mod neon;
#[cfg(target_family = "wasm")]
mod only_scalar;
mod pair;
mod planes;
mod popcount;
mod prefetch;
mod probes;
mod rows;
mod scalar;
#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle))))]
mod shared;
#[cfg(test)]
mod tests;

#[cfg(not(target_family = "wasm"))]
pub(crate) use backend::Backend;
#[cfg(not(target_family = "wasm"))]
pub use backend::kernel_names;
pub(crate) use batch::{contains as for_each_block, insert as for_each_block_mut};
pub(crate) use buckets::{
    Above, BucketKernel, BucketTask, Fronts, GROUP as BUCKET_GROUP, InFront, Place, Words,
    with_buckets,
};
pub use cpu::on_this_cpu;
pub(crate) use digest::digest_batch;
pub(crate) use fold::{fold_bits, fold_groups};
pub use limit::InstructionSet;
#[cfg(target_family = "wasm")]
pub(crate) use only_scalar::Backend;
#[cfg(target_family = "wasm")]
pub use only_scalar::kernel_names;
pub(crate) use pair::Pairs;
pub(crate) use planes::{Lines, PLANES, PlaneKernel, PlaneTask, with_planes};
pub(crate) use popcount::with_popcount;
pub(crate) use prefetch::{fits_cache, prefetch, prefetch_far, prefetch_write};
pub(crate) use probes::{Probes, Word};
pub(crate) use rows::{FIRST as FIRST_ROWS, Row, Rows, place};
