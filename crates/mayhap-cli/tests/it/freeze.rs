//! `mayhap freeze`: the smallest filter of a set that no longer changes, from whatever has its
//! keys.

use crate::support::{fail, folder, held, json, lines, run, stderr, succeed};
use std::fs;

#[test]
fn a_list_is_frozen_as_build_does_it() {
    let folder = folder();
    let folder = folder.path();
    let keys = lines("key", (0..30_000).map(|key| key % 20_000));
    fs::write(folder.join("keys"), &keys).unwrap();
    for (more, layout) in [(&[][..], "ribbon"), (&["--fuse"], "fuse")] {
        let words = [&["freeze", "--json", "-p", "0.1%", "-o", "f", "--force", "keys"], more];
        let frozen = json(&succeed(folder, &words.concat(), b""));
        assert!(frozen["layout"] == layout && frozen["items"] == 20_000, "{frozen}");
        let build = ["build", "-q", "--force", "-p", "0.1%", "-o", "g", "--layout", layout, "keys"];
        succeed(folder, &build, b"");
        let [f, g] = ["f", "g"].map(|name| fs::read(folder.join(name)).unwrap());
        assert!(f == g, "{layout}");
        // Of a pipe, in another order.
        let words = [&["freeze", "-q", "-p", "0.1%", "-o", "h", "--force"], more].concat();
        succeed(folder, &words, &lines("key", (0..20_000).rev()));
        assert!(fs::read(folder.join("h")).unwrap() == f, "{layout}");
        assert_eq!(held(folder, "f", &lines("key", 0..20_000)), lines("key", 0..20_000));
        let wrong =
            held(folder, "f", &lines("other", 0..20_000)).split(|&byte| byte == b'\n').count() - 1;
        // 20 are expected, within four deviations.
        assert!((3..38).contains(&wrong), "{layout}: {wrong}");
        assert!(stderr(&run(folder, &["add", "f"], b"x\n")).contains(layout));
    }
    let ribbon = ["freeze", "--json", "-o", "n", "-p", "1e-6", "--lower", "--key-file", "key"];
    fs::write(folder.join("key"), "00112233445566778899aabbccddeeff\n").unwrap();
    let frozen = json(&succeed(folder, &ribbon, b"One\nTWO\n"));
    assert_eq!(frozen["items"], 2);
    let check = ["check", "-c", "--key-file", "key", "n"];
    assert_eq!(succeed(folder, &check, b"two\nthree\n"), b"1\n");
}

#[test]
fn a_filter_with_its_digests_is_frozen_without_its_keys() {
    let folder = folder();
    let folder = folder.path();
    let all = lines("key", 0..5_000);
    for layout in ["blocked", "standard", "scalable"] {
        let build = ["build", "-q", "--force", "--keep-digests", "-p", "0.1%", "--layout", layout];
        succeed(folder, &[&build[..], &["--seed", "7", "-o", "f"]].concat(), &all);
        succeed(folder, &["add", "-q", "--overfill", "f"], &lines("more", 0..50));
        let before = fs::read(folder.join("f")).unwrap();
        let words = ["freeze", "--json", "--force", "-o", "g", "f"];
        let frozen = json(&succeed(folder, &words, b""));
        assert_eq!(frozen["distinct_items"], 5_050);
        assert_eq!(frozen["after"]["layout"], "ribbon");
        // Its own rate is just below the requested one.
        let fpp = frozen["after"]["target_fpp"].as_f64().unwrap();
        assert!((0.000_999..=0.001).contains(&fpp), "{fpp}");
        assert!(fs::read(folder.join("f")).unwrap() == before, "{layout}");
        // The same set as a list, with the digests of the filter.
        let list = [&all[..], &lines("more", 0..50)].concat();
        let build = ["freeze", "-q", "--force", "-p", "0.1%", "--seed", "7", "-o", "h"];
        succeed(folder, &build, &list);
        let [g, h] = ["g", "h"].map(|name| fs::read(folder.join(name)).unwrap());
        assert!(g[4096..] == h[4096..], "{layout}");
        assert_eq!(held(folder, "g", &list), list);
        // At another rate.
        let other = ["freeze", "--json", "--force", "--fuse", "-p", "1e-6", "-o", "g", "f"];
        let fuse = json(&succeed(folder, &other, b""));
        let after = &fuse["after"];
        assert!(after["layout"] == "fuse" && after["target_fpp"].as_f64().unwrap() <= 1e-6);
        assert_eq!(held(folder, "g", &list), list);
        assert!(!folder.join("g.digests").exists());
    }
}

#[test]
fn what_has_no_keys_is_refused_by_name_and_nothing_is_written() {
    let folder = folder();
    let folder = folder.path();
    for (make, problem) in [
        (&["--layout", "blocked"][..], "no digests of its keys are kept beside it"),
        (&["--layout", "scalable"], "no digests of its keys"),
        (&["--layout", "compact", "-n", "9"], "keeps a part of each digest"),
        (&["--layout", "counting", "-n", "9"], "has counters and no digests"),
        (&["--layout", "window:1k"], "forgets its keys"),
        (&["--layout", "matrix"], "has many sets"),
        (&["--frozen"], "it is frozen already"),
        (&["--layout", "fuse"], "it is frozen already"),
        (&["--segment", "1/2", "-n", "10k"], "bits and no digests"),
    ] {
        fs::write(folder.join("list"), "a\nb\n").unwrap();
        let words = [&["build", "-q", "--force", "-o", "f"], make, &["list"]].concat();
        succeed(folder, &words, b"");
        let talk = fail(folder, &["freeze", "-o", "g", "f"], b"");
        assert!(
            talk.contains("f cannot be frozen: ") && talk.contains(problem),
            "{make:?}: {talk}"
        );
        assert!(talk.contains("freeze the list of its keys"), "{talk}");
    }
    let build = ["build", "-q", "--force", "--keep-digests", "-o", "f", "list"];
    succeed(folder, &build, b"");
    for (more, problem) in [
        (&["f", "list"][..], "given together with other files"),
        (&["list", "f"], "f is a filter, and is given together"),
        (&["--lower", "f"], "whose keys are digests already"),
        (&["--seed", "3", "f"], "whose keys are digests already"),
        (&["-p", "1e-12", "list"], "cannot keep the rate"),
        (&["-p", "1e-12", "f"], "cannot keep the rate"),
        (&["--max-memory", "40", "list"], "above the limit"),
        (&["--max-memory", "40", "f"], "above the limit"),
        (&["none"], "none"),
    ] {
        let talk = fail(folder, &[&["freeze", "-o", "g"], more].concat(), b"");
        assert!(talk.contains(problem), "{more:?}: {talk}");
        assert!(!folder.join("g").exists(), "{more:?}");
    }
    let before = fs::read(folder.join("f")).unwrap();
    for output in ["f", "list"] {
        fail(folder, &["freeze", "-o", output, "list"], b"");
        fail(folder, &["freeze", "-o", output, "--force", output], b"");
        assert!(fs::read(folder.join("f")).unwrap() == before);
    }
}
