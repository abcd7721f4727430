//! Absurd numbers are refused before memory is allocated: in a process of its own, whose memory it
//! checks.

use mayhap::SecretKey;
use mayhap_engine::keyspace::{Hash, Keyspace, Options, Shape, Spec, overhead_bytes};

/// Bytes of memory that the process has touched.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4_096
}

#[test]
fn absurd_numbers_are_refused_before_memory_is_asked_for() {
    let limit = 64 << 20;
    let options = Options {
        max_filter_bytes: limit,
        max_memory: 2 * limit,
        ..Options::new(SecretKey::new([7; 16]))
    };
    let keyspace = Keyspace::new(options);
    let (mut made, mut refused) = (0, 0);
    for capacity in [0, 1, 100, 1_000_000, 1 << 32, (1 << 53) + 1, 1 << 63, u64::MAX - 1, u64::MAX]
    {
        for target_fpp in [
            0.01,
            1e-6,
            1e-300,
            f64::MIN_POSITIVE,
            5e-324,
            1.0 - f64::EPSILON / 2.0,
            0.0,
            -0.0,
            1.0,
            -1.0,
            2.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ] {
            for shape in [
                Shape::Growing { capacity, target_fpp, expansion: 0 },
                Shape::Growing { capacity, target_fpp, expansion: 1 },
                Shape::Growing { capacity, target_fpp, expansion: 32_768 },
                Shape::Growing { capacity, target_fpp, expansion: u32::MAX },
                Shape::Fixed { capacity, target_fpp, layout: None },
                Shape::Fixed { capacity, target_fpp, layout: Some(mayhap::Layout::Standard) },
                Shape::Fixed { capacity, target_fpp, layout: Some(mayhap::Layout::Blocked) },
                Shape::Counting { capacity, target_fpp },
                Shape::Compact { capacity, target_fpp, expansion: 0 },
                Shape::Compact { capacity, target_fpp, expansion: 1 },
                Shape::Window { items: capacity, time_ms: 0, target_fpp, refresh: true },
                Shape::Window { items: capacity, time_ms: u64::MAX, target_fpp, refresh: false },
                Shape::Clearing { capacity, target_fpp, at: 0.5 },
                Shape::Clearing { capacity, target_fpp, at: f64::NAN },
                Shape::RedisBloom,
                Shape::Frozen,
                Shape::File,
            ] {
                let (used, resident) = (keyspace.used_bytes(), resident_bytes());
                let spec = Spec { shape, hash: Hash::Keyed };
                match keyspace.create(b"a", spec, 1, None) {
                    Ok(entry) => {
                        made += 1;
                        let bytes = entry.info().num_bytes;
                        assert!(bytes <= limit, "{shape:?}");
                        let more = keyspace.used_bytes() - bytes - overhead_bytes(1);
                        let is_window = matches!(shape, Shape::Window { .. });
                        assert!(more < 4_096 && (more > 0) == is_window, "{shape:?} {more}");
                        drop(entry);
                        keyspace.remove(b"a", 1, None).unwrap();
                    }
                    Err(why) => {
                        refused += 1;
                        assert!(!why.to_string().is_empty());
                        assert!(resident_bytes() < resident + (8 << 20), "{shape:?}");
                    }
                }
                assert_eq!(keyspace.used_bytes(), used, "{shape:?}");
            }
        }
    }
    println!("{made} filters made, {refused} refused");
    assert!(made > 30 && refused > 900 && keyspace.is_empty());
}
