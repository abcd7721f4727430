//! Whatever kernel a filter uses, it has the same bits and gives the same answers.

use mayhap::{
    AnyFilter, BlockedBloomFilter, BloomFilter, Build, Builder, ConcurrentBlockedBloomFilter,
    ConcurrentBloomFilter, Digest, InstructionSet, Layout, native,
};

const SETS: [InstructionSet; 4] =
    [InstructionSet::Scalar, InstructionSet::Neon, InstructionSet::Avx2, InstructionSet::Avx512];

/// Small, and beyond the size up to which memory is taken to be in a near cache.
const SIZES: [u64; 2] = [1_000, 3_000_000];

fn builder<F: Build>(items: u64, num_hashes: u32, set: InstructionSet) -> Builder<F> {
    let builder = F::builder().expected_items(items).num_bits(items * 16).num_hashes(num_hashes);
    builder.instruction_set(set)
}

fn digests(from: u64, count: u64) -> Vec<Digest> {
    let function = mayhap::DigestFunction::xxh3(5);
    (from..from + count).map(|i| function.digest(&i)).collect()
}

/// The file of a filter filled one by one and in a batch, and its answers one by one, in a batch
/// and shared.
macro_rules! used {
    ($owned:ty, $shared:ty, $items:expr, $k:expr, $set:expr) => {{
        let (members, queried) = (digests(0, 700), digests(350, 2_000));
        let mut filter: $owned = builder($items, $k, $set).build().unwrap();
        let shared: $shared = builder($items, $k, $set).build().unwrap();
        let mut new: Vec<bool> = members[..330].iter().map(|&d| filter.insert_digest(d)).collect();
        new.extend(filter.insert_digests(&members[330..]).iter());
        let also_new: Vec<bool> = members.iter().map(|&d| shared.insert_digest(d)).collect();
        assert_eq!(new, also_new);
        let found: Vec<bool> = queried.iter().map(|&d| filter.contains_digest(d)).collect();
        assert!(found[..350].iter().all(|&found| found));
        assert!(filter.contains_digests(&queried).iter().eq(found.iter().copied()));
        assert!(shared.contains_digests(&queried).iter().eq(found.iter().copied()));
        assert!(queried.iter().map(|&d| shared.contains_digest(d)).eq(found.iter().copied()));
        let name = filter.kernel_name();
        assert_eq!(shared.kernel_name(), name);
        (name, (new, found, native::encode(&filter, "")))
    }};
}

#[test]
fn filters_are_alike_whatever_instructions_they_are_limited_to() {
    for items in SIZES {
        let is_small = items == SIZES[0];
        for k in [7, 1, 2, 3, 8, 13, 20, 21, 32].into_iter().take(if is_small { 9 } else { 1 }) {
            let of = |set| used!(BloomFilter, ConcurrentBloomFilter, items, k, set);
            let scalar = of(InstructionSet::Scalar);
            assert_eq!(scalar.0, "scalar");
            for (name, used) in SETS.map(of) {
                assert!(used == scalar.1, "standard, k = {k}, n {items}, {name}");
            }
        }
        for k in [8, 4, 16].into_iter().take(if is_small { 3 } else { 1 }) {
            let of = |set| used!(BlockedBloomFilter, ConcurrentBlockedBloomFilter, items, k, set);
            let scalar = of(InstructionSet::Scalar);
            assert_eq!(scalar.0, "scalar");
            for (name, used) in SETS.map(of) {
                assert!(used == scalar.1, "blocked, k = {k}, n {items}, {name}");
            }
        }
    }
}

#[test]
fn each_kernel_of_the_machine_can_be_chosen() {
    for layout in [Layout::Standard, Layout::Blocked] {
        let names = SETS.map(|set| {
            let filter = AnyFilter::builder().layout(layout).expected_items(9).target_fpp(0.1);
            filter.instruction_set(set).build().unwrap().kernel_name()
        });
        for name in
            mayhap::kernel_names().filter(|name| layout == Layout::Blocked || *name != "neon")
        {
            assert!(names.contains(&name), "{layout:?}: {names:?} have no {name}");
        }
        println!("{layout:?}: {names:?}");
    }
}
