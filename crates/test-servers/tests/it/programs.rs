use std::env;
use std::process::{Command, Output};

/// Runs a test of this file's neighbours in a process that finds no Redis.
fn run_without_redis(required: &str) -> Output {
    Command::new(env::current_exe().unwrap())
        .args(["redis::an_answer_that_is_an_error_is_an_error", "--exact"])
        .env("MAYHAP_REDIS_SERVER", "/no/such/server")
        .env("MAYHAP_REQUIRE_SERVERS", required)
        .output()
        .unwrap()
}

#[test]
fn a_test_without_its_server_says_so_and_passes() {
    let output = run_without_redis("0");
    assert!(output.status.success());
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        errors,
        "SKIPPED: redis-server not found: install redis-server \
         (MAYHAP_REDIS_SERVER is /no/such/server)\n"
    );
}

#[test]
fn a_test_without_its_server_fails_where_servers_are_required() {
    let output = run_without_redis("1");
    assert!(!output.status.success());
    let log = String::from_utf8(output.stdout).unwrap();
    assert!(log.contains("redis-server not found"), "{log}");
}
