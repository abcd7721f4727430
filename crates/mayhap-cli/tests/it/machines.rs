//! The commands of `docs/machines.md`, run as they are.

use crate::pages::{judge, recipes, shell};
use crate::support::folder;
use std::path::Path;
use test_servers::{
    ClusterOptions, RedisCluster, RedisOptions, RedisSentinels, RedisServer, ready,
};

#[test]
fn every_command_of_the_page_prints_what_it_says() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/machines.md");
    let recipes = recipes(&std::fs::read_to_string(page).unwrap());
    let single = RedisServer::start(&RedisOptions::default()).unwrap();
    let master = RedisServer::start(&RedisOptions::default()).unwrap();
    let config = vec![format!("replicaof 127.0.0.1 {}", master.port())];
    let replica = RedisServer::start(&RedisOptions { config, ..RedisOptions::default() }).unwrap();
    let sentinels = RedisSentinels::start(&master, "main").unwrap();
    let cluster = RedisCluster::start(&ClusterOptions::default()).unwrap();
    let nodes = cluster.nodes();
    let places = [
        ("127.0.0.1:6379", format!("127.0.0.1:{}", single.port())),
        ("127.0.0.1:26379", sentinels.addresses()[0].clone()),
        ("127.0.0.1:7000", format!("127.0.0.1:{}", nodes[0].port())),
        ("127.0.0.1:7001", format!("127.0.0.1:{}", nodes[1].port())),
    ];
    let folder = folder();
    let mut wrong = Vec::new();
    for recipe in &recipes {
        let script = places
            .iter()
            .fold(recipe.script.clone(), |script, (on_page, here)| script.replace(on_page, here));
        let output = shell(folder.path(), &script);
        // A cluster of tests keeps nothing, and says so.
        let lines = output.lines().filter(|line| !line.contains("keeps nothing when it is killed"));
        let output = lines.collect::<Vec<_>>().join("\n");
        wrong.extend(judge(recipe, &recipe.expected, &output).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(recipes.len() >= 6, "only {} blocks were found", recipes.len());
    drop(replica);
}
