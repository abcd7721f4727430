//! The golden files of all systems in `import/`, each with its keys: they are found, or the name is
//! an error.

use crate::keyspace::{keyspace, turn, with_words};
use mayhap_engine::keyspace::{FileState, Files};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use test_data::golden::{Golden, Key};

const SYSTEMS: [&str; 10] = [
    "bits-and-blooms",
    "bloomfileter",
    "dcso",
    "guava",
    "magnuss",
    "parquet",
    "python",
    "redisbloom",
    "redisson",
    "spark",
];

/// The keys listed as members in a description, as texts; keys without a text are left out.
fn members(json: &Value) -> Vec<Vec<u8>> {
    let rows = json["members_explicit"].as_array().into_iter().flatten();
    let is_old = |row: &&Value| row.get("positions").is_some() && row["key"].is_string();
    let explicit = rows.filter(|row| !is_old(row)).map(|row| match row.as_str() {
        Some(text) => Key::Bytes(text.as_bytes().to_vec()),
        None => Key::explicit(row),
    });
    // For systems that may clear themselves: the operations after the last clear.
    let operations = json["ops"].as_array().into_iter().flatten();
    let added = operations.filter(|row| row["op"].as_str().is_some_and(|op| op.starts_with("add")));
    let keys = explicit.chain(added.map(Key::explicit)).chain(Key::of_rule(&json["members_rule"]));
    let text = |key: Key| match key {
        Key::Utf16(units) => String::from_utf16(&units).ok().map(String::into_bytes),
        Key::Bytes(bytes) => Some(bytes),
        Key::Number(number) => Some(number.to_string().into_bytes()),
    };
    keys.filter_map(text).collect()
}

/// The keys of each described file, by its name.
fn described(golden: &Golden) -> BTreeMap<String, (Value, Vec<Vec<u8>>)> {
    let is_json = |name: &String| name.split('.').next_back() == Some("json");
    let jsons = golden.names().into_iter().filter(is_json);
    let all = jsons.filter_map(|name| {
        let json = golden.json(&name);
        let file = json["file"].as_str()?.to_owned();
        let keys = members(&json);
        Some((file, (json, keys)))
    });
    all.collect()
}

/// The result for a file under this name: how many of the keys are found, or why it is not served.
fn served(name: &str, bytes: &[u8], keys: &[Vec<u8>]) -> Result<usize, String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    let keyspace = keyspace();
    Files::serve_folder(&keyspace, folder.path()).unwrap();
    let entry = keyspace.get(b"f", 0).unwrap();
    if let Err(why) = entry.check_file() {
        assert_eq!(keyspace.files().count(FileState::Unusable), 1);
        return Err(format!("{why}: {}", keyspace.files().troubles()[0].problem));
    }
    let mut turn = turn();
    with_words(keys, |words| {
        entry.check_keys(words.iter()).map_err(|why| why.to_string())?;
        entry.contains_many(words, &mut turn);
        Ok(turn.answers.count_ones())
    })
}

#[test]
fn a_golden_file_answers_for_all_of_its_keys_or_for_none() {
    let (mut right, mut refused) = (0, 0);
    for system in SYSTEMS {
        let golden = Golden::of(system);
        for (file, (json, keys)) in described(&golden) {
            if json["auto_clear_rate"].is_string() {
                continue;
            }
            let extension = Path::new(&file).extension().unwrap().to_str().unwrap();
            for (suffix, form) in [(".bloom.json", "json"), (".gob", "gob")] {
                // The same filter in other forms of its system.
                let other = file.replace(".bin", suffix);
                if system == "bits-and-blooms" && golden.names().contains(&other) {
                    let found = served(&format!("f.{form}"), &golden.bytes(&other), &keys);
                    assert_eq!(found, Ok(keys.len()), "{system}/{other}");
                }
            }
            match served(&format!("f.{extension}"), &golden.bytes(&file), &keys) {
                Ok(found) => {
                    assert_eq!(found, keys.len(), "{system}/{file}");
                    right += usize::from(!keys.is_empty());
                }
                Err(why) => {
                    println!("{system}/{file}: {why}");
                    refused += 1;
                }
            }
        }
    }
    println!("{right} answer right, {refused} are refused");
    assert!(right >= 20 && refused >= 60, "{right}, {refused}");
}

/// Under the names suggested by their errors.
#[test]
fn golden_files_whose_keys_have_a_type_answer_once_their_names_say_which() {
    let mut right = 0;
    for (system, types) in [
        (
            "guava",
            &[
                ("long", "long"),
                ("integer", "int"),
                ("byteArray", "bytes"),
                ("string:UTF-8", "bytes"),
                ("string:ISO-8859-1", "latin1"),
                ("string:UTF-16LE", "utf16"),
                ("unencodedChars", "utf16"),
            ][..],
        ),
        ("spark", &[("long", "long"), ("string", "bytes"), ("binary", "bytes")][..]),
        ("python", &[("3.1.0", "pybloom-live3"), ("4.0.0", "pybloom-live4")][..]),
    ] {
        let golden = Golden::of(system);
        for (file, (json, keys)) in described(&golden) {
            let rule = json["members_rule"]["kind"].as_str();
            let said = if system == "python" { &json["version"] } else { &json["funnel"] };
            let Some(kind) = said.as_str().or(rule) else { continue };
            let Some((_, key_type)) = types.iter().find(|(name, _)| *name == kind) else {
                continue;
            };
            let name = match system {
                "python" => format!("f.{key_type}"),
                _ => format!("f.{key_type}.{system}"),
            };
            let found = served(&name, &golden.bytes(&file), &keys);
            assert_eq!(found, Ok(keys.len()), "{system}/{file} as {key_type}");
            right += 1;
        }
    }
    assert!(right >= 32, "{right}");
}
