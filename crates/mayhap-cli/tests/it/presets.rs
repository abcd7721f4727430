//! `--preset`: bits for each key in place of a rate.

use crate::support::{fail, file, folder, json, lines, run, stderr, succeed};

#[test]
fn a_preset_is_so_many_bits_for_each_key_and_the_rate_that_the_help_gives() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "keys", &lines("key", 0..100_000));
    for (layout, rates) in [
        ("blocked", [(0.16, 0.17), (0.025, 0.026), (9.0e-4, 9.3e-4), (5.5e-6, 6e-6)]),
        ("standard", [(0.14, 0.15), (0.021, 0.022), (4.5e-4, 4.7e-4), (2.0e-7, 2.2e-7)]),
    ] {
        for (bits, (least, most)) in ["4", "8", "16", "32"].into_iter().zip(rates) {
            let how = ["-q", "--force", "-o", "f", "--layout", layout, "--preset", bits];
            succeed(folder, &[&["build"], &how[..], &["keys"]].concat(), b"");
            let info = json(&succeed(folder, &["info", "--json", "f"], b""));
            let wanted = 100_000 * bits.parse::<u64>().unwrap();
            let has = info["num_bits"].as_u64().unwrap();
            assert!((wanted..wanted + 512).contains(&has), "{layout} {bits}: {has}");
            let fpp = info["target_fpp"].as_f64().unwrap();
            assert!((least..=most).contains(&fpp), "{layout} {bits}: {fpp}");
            succeed(folder, &["verify", "-q", "f", "--samples", "1M", "keys"], b"");
        }
    }
}

#[test]
fn what_is_sized_by_its_rate_refuses_a_preset() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "keys", &lines("key", 0..100));
    for words in [
        &["create", "f", "-n", "1k", "--layout", "counting"][..],
        &["create", "f", "-n", "1k", "--layout", "compact"],
        &["create", "f", "-n", "1k", "--layout", "scalable"],
        &["create", "f", "--layout", "window:1k"],
        &["create", "f", "-n", "1k", "--layout", "window:7d"],
        &["create", "f", "-n", "1k", "--format", "guava"],
        &["build", "-o", "f", "--layout", "fuse", "keys"],
        &["build", "-o", "f", "--layout", "matrix", "keys"],
        &["dedup", "--state", "f", "keys"],
    ] {
        let talk = fail(folder, &[words, &["--preset", "8"]].concat(), b"");
        assert!(talk.contains("--preset 8 does not size a"), "{words:?}: {talk}");
        assert!(talk.contains("give the rate with -p"), "{words:?}: {talk}");
    }
    for more in [["-p", "1%"], ["--mem", "1MiB"]] {
        fail(folder, &[&["create", "f", "-n", "1k", "--preset", "8"], &more[..]].concat(), b"");
    }
    let talk = fail(folder, &["create", "f", "-n", "1k", "--preset", "7"], b"");
    assert!(talk.contains("4, 8, 16, 32"), "{talk}");
    assert!(!folder.join("f").exists());
}

#[test]
fn a_state_of_a_preset_goes_on_with_the_same_words() {
    let folder = folder();
    let folder = folder.path();
    let dedup = ["dedup", "-q", "--state", "f", "-n", "1k", "--preset", "32"];
    assert_eq!(succeed(folder, &dedup, b"a\nb\na\n"), b"a\nb\n");
    assert_eq!(succeed(folder, &dedup, b"b\nc\n"), b"c\n");
    let other = ["dedup", "--state", "f", "-n", "1k", "--preset", "8"];
    let talk = fail(folder, &other, b"d\n");
    assert!(talk.contains("f was created with 32"), "{talk}");
}

#[test]
fn the_presets_of_bloomfileter_are_chosen_by_their_bits() {
    let folder = folder();
    let folder = folder.path();
    let new = ["create", "--force", "f", "--format", "bloomfileter", "-n", "1000"];
    for bits in ["4", "8", "16", "32"] {
        succeed(folder, &[&new[..], &["--preset", bits]].concat(), b"");
        let output = run(folder, &["info", "f"], b"");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(&format!("{bits} per key")), "{text}{}", stderr(&output));
    }
}
