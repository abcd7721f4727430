//! The recipes of `docs/cookbook.md`, run as they are.

use crate::pages::{Recipe, judge, recipes, shell};
use crate::support::folder;
use std::path::Path;
use test_servers::{RedisOptions, RedisServer, ready, skipped};

/// The server that recipes name: one is started for each section.
const SERVER: &str = "redis://127.0.0.1:6379";

#[test]
fn every_recipe_prints_what_the_page_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/cookbook.md")).unwrap();
    let recipes = recipes(&page);
    let lists = folder();
    let fetch = root.join("demo/fetch.sh");
    shell(lists.path(), &format!("sh {} .", fetch.display()));
    let (mut ran, mut wrong) = (0, Vec::new());
    for section in recipes.chunk_by(|left, right| left.section == right.section) {
        let folder = folder();
        let names_server = section.iter().any(|recipe| recipe.script.contains(SERVER));
        if names_server && !ready(&["redis-server"]) {
            ran += section.len();
            continue;
        }
        let options = RedisOptions { appendonly: true, ..RedisOptions::default() };
        let server = names_server.then(|| RedisServer::start(&options).unwrap());
        for list in ["urls.txt", "passwords.txt", "domains.txt", "words.txt"] {
            std::fs::copy(lists.path().join(list), folder.path().join(list)).unwrap();
        }
        for recipe in section {
            let Recipe { section, line, script, expected, is_pending } = recipe;
            if *is_pending {
                skipped(&format!("pending recipe at line {line}: {section}"));
                continue;
            }
            ran += 1;
            let at = |text: &str| match &server {
                Some(server) => text.replace(SERVER, &server.url()),
                None => text.into(),
            };
            let (output, expected) = (shell(folder.path(), &at(script)), at(expected));
            wrong.extend(judge(recipe, &expected, &output).err());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran >= 33, "only {ran} recipes were found");
}
