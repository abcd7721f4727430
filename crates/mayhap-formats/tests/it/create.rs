//! New filters by the name of their format.

use mayhap_formats::{
    BitsAndBloomsFilter, Error, ForeignFilter, Format, Limits, NewFilter, Shape, create,
    create_with, needs_shape, open, open_with,
};

const LIMITS: Limits = Limits { max_bytes: 1 << 20, max_hashes: 100 };

#[test]
fn every_format_is_created_within_the_limits_and_opened_again() {
    let new = NewFilter::new(1_000, 0.01);
    for &format in Format::ALL {
        let mut filter = create(format, &new, &LIMITS).unwrap();
        assert_eq!((filter.format(), filter.count_ones()), (format, 0));
        assert!(filter.insert(b"k\0").unwrap() && filter.contains(b"k\0"), "{format:?}");
        let bytes = filter.encode();
        let again = if needs_shape(format) {
            let num_bits = filter.num_bits().try_into().unwrap();
            let shape = Shape { num_bits, num_hashes: filter.num_hashes() };
            open_with(format, &bytes, shape, &LIMITS).unwrap()
        } else {
            open(format, &bytes, &LIMITS).unwrap()
        };
        assert!(again.contains(b"k\0") && again.num_bits() == filter.num_bits(), "{format:?}");
        // One byte less than it needs.
        let max_bytes = filter.num_bits().div_ceil(8) - 1;
        let small = create(format, &new, &Limits { max_bytes, ..LIMITS });
        let Err(Error::TooLarge { limit, found, .. }) = small else {
            panic!("{format:?} is not too large");
        };
        assert!(limit == max_bytes * 8 && found > limit, "{format:?}: {found} of {limit}");
        for fpp in [0.0, 1.0, f64::NAN] {
            let refused = create(format, &NewFilter::new(1_000, fpp), &LIMITS).err();
            let is_p = matches!(refused, Some(Error::BadField { field: "p", .. }));
            assert!(is_p, "{format:?}: {refused:?}");
        }
        assert!(create(format, &NewFilter::new(u64::MAX, 0.01), &LIMITS).is_err(), "{format:?}");
    }
}

#[test]
fn parameters_of_one_system_are_refused_for_all_others() {
    let new = NewFilter::new(1_000, 0.01);
    for (given, of) in [
        (NewFilter { seed: Some(7), ..new }, Format::Spark),
        (NewFilter { hash_seeds: Some(&[7]), ..new }, Format::PyBloomFilterMmap),
        (NewFilter { class_name: Some("A"), ..new }, Format::BloomFileter),
    ] {
        for &format in Format::ALL {
            let plain = create(format, &new, &LIMITS).unwrap();
            match create(format, &given, &LIMITS) {
                Ok(filter) => {
                    assert_eq!(format, of);
                    assert_ne!(filter.encode(), plain.encode(), "{format:?}: it has no effect");
                }
                Err(error) => {
                    assert!(matches!(error, Error::Unsupported { .. }) && format != of, "{error}");
                }
            }
        }
    }
}

#[test]
fn m_and_k_are_taken_by_the_systems_that_take_them() {
    let shape = Shape { num_bits: 1_000, num_hashes: 3 };
    let mut taken = Vec::new();
    for &format in Format::ALL {
        match create_with(format, shape, &LIMITS) {
            Ok(filter) => {
                assert_eq!((filter.num_bits(), filter.num_hashes()), (1_000, 3));
                taken.push(format);
            }
            Err(error) => assert!(matches!(error, Error::Unsupported { .. }), "{error}"),
        }
    }
    assert_eq!(taken, [Format::MagnusS, Format::MagnusRedis, Format::BitsAndBlooms]);
    let created = create_with(Format::BitsAndBlooms, shape, &LIMITS).unwrap();
    let direct = BitsAndBloomsFilter::with_sizes(1_000, 3, &LIMITS).unwrap();
    assert_eq!(created.encode(), direct.encode());
    let negative = Shape { num_bits: -1_000, num_hashes: 3 };
    assert!(create_with(Format::BitsAndBlooms, negative, &LIMITS).is_err());
}

#[test]
fn a_size_that_overflows_in_its_system_is_refused() {
    let limit = |format, items, fpp| match create(format, &NewFilter::new(items, fpp), &LIMITS) {
        Err(Error::TooLarge { limit, .. }) => limit,
        Err(error) => panic!("{format:?}: {error}"),
        Ok(_) => panic!("{format:?} was created"),
    };
    let (of_system, of_memory) = (i32::MAX as u64, LIMITS.max_bytes * 8);
    for (format, most, fpp, of_system) in [
        // (2^31 − 1) ln 2 / 7 keys: with one more, the class cuts m off.
        (Format::MagnusS, 212_646_033_u64, 0.01, of_system),
        (Format::MagnusRedis, 212_646_033, 0.01, of_system),
        // 16 · 2^27 wraps.
        (Format::BloomFileter, 134_217_727, 1e-3, of_system),
        // 2^31 bits are all that version 1 uses.
        (Format::Spark, 224_044_921, 0.01, 1 << 31),
    ] {
        assert_eq!(limit(format, most, fpp), of_memory, "{format:?}");
        assert_eq!(limit(format, most + 1, fpp), of_system, "{format:?}");
    }
}
