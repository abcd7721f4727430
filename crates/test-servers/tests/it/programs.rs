use std::env;
use std::process::{Command, Output};

/// Runs a test of this folder in a process that finds no Redis.
fn run_without_redis(required: &str) -> Output {
    Command::new(env::current_exe().unwrap())
        .args(["redis::an_answer_that_is_an_error_is_an_error", "--exact"])
        .env("MAYHAP_REDIS_SERVER", "/no/such/server")
        .env("MAYHAP_REQUIRE_SERVERS", required)
        .output()
        .unwrap()
}

#[test]
fn a_test_without_its_server_reports_it_and_passes() {
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

/// Runs `a_tool_that_is_missing` with this value of the variable that requires tools.
fn run_without_tool(required: Option<&str>) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["programs::a_tool_that_is_missing", "--exact"]).env(CHILD, "1");
    match required {
        Some(value) => command.env("MAYHAP_REQUIRE_TOOLS", value),
        None => command.env_remove("MAYHAP_REQUIRE_TOOLS"),
    };
    command.output().unwrap()
}

const CHILD: &str = "MAYHAP_TEST_OF_A_MISSING_TOOL";

/// Run by the two tests below as a process of its own.
#[test]
fn a_tool_that_is_missing() {
    assert!(test_servers::tool(true, "this computer"));
    if env::var_os(CHILD).is_some() {
        assert!(!test_servers::tool(false, "a time machine"));
    }
}

#[test]
fn a_test_without_its_tool_fails_unless_that_is_allowed() {
    for required in [None, Some("1")] {
        let output = run_without_tool(required);
        assert!(!output.status.success(), "{required:?}");
        let log = String::from_utf8(output.stdout).unwrap();
        assert!(log.contains("needs a time machine; with MAYHAP_REQUIRE_TOOLS=0"), "{log}");
    }
}

#[test]
fn a_test_that_may_do_without_its_tool_reports_it_and_passes() {
    let output = run_without_tool(Some("0"));
    assert!(output.status.success());
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors, "SKIPPED: needs a time machine\n");
}
