//! docs/containers.md and packaging/Dockerfile: the checks that need no Docker.

use crate::support::{folder, mayhap, succeed};
use mayhap_server::config::{SETTINGS, Sources};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const DOCKERFILE: &str = include_str!("../../../../packaging/Dockerfile");
const PAGE: &str = include_str!("../../../../docs/containers.md");
/// Variables of passwords, which are no settings.
const PASSWORDS: [&str; 2] = ["MAYHAP_PASSWORD", "MAYHAP_PASSWORD_FILE"];
/// Flags of Docker on the page and in the file.
const OF_DOCKER: [&str; 13] = [
    "--chown",
    "--locked",
    "--memory",
    "--profile",
    "--target",
    "--ulimit",
    "--interval",
    "--timeout",
    "--start-period",
    "--from",
    "--no-install-recommends",
    "--help",
    "--rm",
];

/// The fenced blocks of this kind.
fn blocks(kind: &str) -> Vec<String> {
    let (mut all, mut inside) = (Vec::new(), false);
    for line in PAGE.lines() {
        if inside && line == "```" {
            inside = false;
        } else if inside {
            let block: &mut String = all.last_mut().unwrap();
            block.push_str(line);
            block.push('\n');
        } else if line == format!("```{kind}") {
            inside = true;
            all.push(String::new());
        }
    }
    all
}

/// The documents of YAML, read by Python.
pub(crate) fn documents(yaml: &str) -> Option<Vec<Value>> {
    let python = |script: &str, input: &str| {
        let child = Command::new("python3")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        std::io::Write::write_all(&mut child.stdin.as_ref()?, input.as_bytes()).ok()?;
        Some(child.wait_with_output().unwrap())
    };
    let has_it = python("import yaml", "").is_some_and(|output| output.status.success());
    if !test_servers::tool(has_it, "a reader of YAML (python3-yaml)") {
        return None;
    }
    let script = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))";
    let output = python(script, yaml).unwrap();
    assert!(output.status.success(), "{yaml}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

pub(crate) fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list")).iter().map(text).collect()
}

/// `serve` with these arguments and variables, which has to accept them. Files of passwords,
/// certificates and settings are replaced here.
pub(crate) fn check_config(
    arguments: &[&str],
    environment: &[(String, String)],
    settings: Option<&str>,
) -> String {
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("password"), "a long enough password\n").unwrap();
    let tls = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-server/tests/data/tls");
    let here = |text: &str| {
        text.replace("/run/tls/tls.crt", tls.join("server.pem").to_str().unwrap())
            .replace("/run/tls/tls.key", tls.join("server.key").to_str().unwrap())
    };
    fs::write(folder.join("mayhap.toml"), here(settings.unwrap_or_default())).unwrap();
    let mut command = mayhap(folder);
    command.args(arguments.iter().map(|word| match *word {
        "/etc/mayhap/mayhap.toml" => "mayhap.toml",
        word => word,
    }));
    command.arg("--check-config");
    for (name, value) in environment {
        let is_password = PASSWORDS.contains(&name.as_str());
        let setting = name.strip_prefix("MAYHAP_").map(str::to_ascii_lowercase);
        let is_setting = SETTINGS.iter().any(|row| Some(row.name) == setting.as_deref());
        assert!(is_password || is_setting, "{name} is no setting");
        command.env(name, if is_password { "password" } else { value });
    }
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert!(status.success(), "{arguments:?}: {said}");
    assert!(!said.contains("not a setting"), "{said}");
    String::from_utf8(stdout).unwrap()
}

/// A health check has a URL that can be requested, at the port and a path of HTTP.
fn check_health(words: &[&str], port: &str) {
    assert!(words[0] == "/usr/bin/mayhap" && words[1] == "health", "{words:?}");
    assert!(words[2].starts_with(&format!("http://127.0.0.1:{port}/")), "{words:?}");
    assert!(words[2].ends_with("/healthz") || words[2].ends_with("/readyz"), "{words:?}");
    let folder = folder();
    let mut command = mayhap(folder.path());
    command.args(&words[1..]).args(["--timeout", "100ms"]);
    let output = command.output().unwrap();
    // No server is running, and the words are right.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{words:?}: {output:?}");
}

/// The instructions of a Dockerfile with their arguments, continued lines joined.
fn instructions(dockerfile: &str) -> Vec<(String, String)> {
    let whole = dockerfile.replace("\\\n", " ");
    let lines =
        whole.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, rest) = line.split_once(' ').unwrap();
            (name.to_owned(), rest.trim().to_owned())
        })
        .collect()
}

fn check_dockerfile(dockerfile: &str) {
    const KNOWN: [&str; 12] = [
        "FROM",
        "RUN",
        "COPY",
        "WORKDIR",
        "USER",
        "VOLUME",
        "EXPOSE",
        "ENV",
        "STOPSIGNAL",
        "HEALTHCHECK",
        "ENTRYPOINT",
        "CMD",
    ];
    let all = instructions(dockerfile);
    assert_eq!(all[0].0, "FROM");
    for (name, _) in &all {
        assert!(KNOWN.contains(&name.as_str()), "{name} is no instruction");
    }
    let said = |name: &str| {
        let found = all.iter().rev().find(|(other, _)| other == name);
        &*found.unwrap_or_else(|| panic!("{name} is missing")).1
    };
    let words = |json: &str| -> Vec<String> {
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
    };
    let environment: Vec<(String, String)> = said("ENV")
        .split_whitespace()
        .map(|pair| pair.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned())).unwrap())
        .collect();
    let entry = words(said("ENTRYPOINT"));
    assert_eq!(entry, ["/usr/bin/mayhap"]);
    let command = words(said("CMD"));
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let with_password = [environment.clone(), vec![("MAYHAP_PASSWORD".into(), String::new())]];
    let effective = check_config(&command, &with_password.concat(), None);
    let has = |line: &str| effective.lines().any(|other| other == line);
    let ports: Vec<&str> = said("EXPOSE").split_whitespace().collect();
    assert!(
        has(&format!("port = {}", ports[0])) && has(&format!("http = {}", ports[1])),
        "{effective}"
    );
    assert!(has(&format!("data = {:?}", said("VOLUME"))), "{effective}");
    let (options, health) = said("HEALTHCHECK").split_once(" CMD ").unwrap();
    for option in options.split_whitespace() {
        let known = ["--interval=", "--timeout=", "--start-period="];
        assert!(
            known.iter().any(|name| option.starts_with(name)) && option.ends_with('s'),
            "{option}"
        );
    }
    let health = words(health);
    check_health(&health.iter().map(String::as_str).collect::<Vec<_>>(), ports[1]);
    assert_eq!(said("STOPSIGNAL"), "SIGTERM");
    assert!(said("USER") == "6380:6380" && dockerfile.contains("--chown=6380:6380 /data"));
}

#[test]
fn dockerfiles_start_what_there_is() {
    check_dockerfile(DOCKERFILE);
    let shown = blocks("dockerfile");
    assert_eq!(shown.len(), 1);
    check_dockerfile(&shown[0]);
    // The last stage is the one of the page, except for the source of the binary.
    let last = |text: &str| {
        let from = text.rfind("\nFROM").map_or(text, |at| &text[at..]);
        instructions(from.trim()).into_iter().filter(|(name, _)| name != "COPY").collect::<Vec<_>>()
    };
    assert_eq!(last(DOCKERFILE), last(&shown[0]));
}

#[test]
fn the_compose_file_starts_what_there_is() {
    let Some(found) = documents(&blocks("yaml")[0]) else { return };
    let service = &found[0]["services"]["mayhap"];
    let environment: Vec<(String, String)> = service["environment"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.clone(), text(value).to_owned()))
        .collect();
    check_config(&texts(&service["command"]), &environment, None);
    let secret = texts(&service["secrets"])[0];
    let path = format!("/run/secrets/{secret}");
    assert!(environment.contains(&("MAYHAP_PASSWORD_FILE".into(), path)));
    assert!(found[0]["secrets"][secret]["file"].is_string());
    let volume = texts(&service["volumes"])[0].split_once(':').unwrap();
    assert!(found[0]["volumes"].get(volume.0).is_some() && volume.1 == "/data");
    for (port, inside) in texts(&service["ports"]).iter().zip(["6380", "8080"]) {
        assert!(port.ends_with(&format!(":{inside}")), "{port}");
    }
    let health = texts(&service["healthcheck"]["test"]);
    assert_eq!(health[0], "CMD");
    check_health(&health[1..], "8080");
    assert_eq!(service["stop_signal"], "SIGTERM");
}

#[test]
fn the_manifests_of_kubernetes_start_what_there_is() {
    let Some(found) = documents(&blocks("yaml")[1]) else { return };
    let of_kind = |kind: &str| found.iter().find(|document| document["kind"] == kind).unwrap();
    let pod = &of_kind("StatefulSet")["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let settings = text(&of_kind("ConfigMap")["data"]["mayhap.toml"]);
    let environment: Vec<(String, String)> = container["env"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| (text(&pair["name"]).to_owned(), text(&pair["value"]).to_owned()))
        .collect();
    let effective = check_config(&texts(&container["args"]), &environment, Some(settings));
    // Every file that is named is mounted, and every mount has its volume.
    let mounts = container["volumeMounts"].as_array().unwrap();
    let files = ["/etc/mayhap/mayhap.toml", "/run/tls/tls.crt", "/run/tls/tls.key", "/data"];
    let files = files.into_iter().chain(environment.iter().map(|(_, value)| value.as_str()));
    for file in files {
        let is_inside = |mount: &Value| Path::new(file).starts_with(text(&mount["mountPath"]));
        assert!(mounts.iter().any(is_inside), "{file} is not mounted");
    }
    let claims = &of_kind("StatefulSet")["spec"]["volumeClaimTemplates"];
    let volumes = pod["volumes"].as_array().unwrap().iter().map(|volume| &volume["name"]);
    let claims = claims.as_array().unwrap().iter().map(|claim| &claim["metadata"]["name"]);
    let volumes: Vec<&Value> = volumes.chain(claims).collect();
    assert!(mounts.iter().all(|mount| volumes.contains(&&mount["name"])));
    for volume in pod["volumes"].as_array().unwrap() {
        if let Some(secret) = volume.get("secret") {
            assert_eq!(secret["defaultMode"], 0o440, "{secret}");
        }
    }
    // Ports and probes match the settings.
    for (port, setting) in container["ports"].as_array().unwrap().iter().zip(["port", "http"]) {
        let line = format!("{setting} = {}", port["containerPort"]);
        assert!(effective.lines().any(|other| other == line), "{line}: {effective}");
    }
    for (probe, path) in
        [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]
    {
        let get = &container[probe]["httpGet"];
        assert_eq!((text(&get["path"]), text(&get["port"])), (path, "http"));
    }
    let service = &of_kind("Service")["spec"];
    assert_eq!(service["ports"][0]["port"], 6380);
    assert_eq!(service["selector"], of_kind("StatefulSet")["spec"]["selector"]["matchLabels"]);
    assert_eq!(pod["enableServiceLinks"], false);
    assert_eq!(pod["securityContext"]["fsGroup"], 6380);
    assert_eq!(container["resources"]["limits"]["memory"], "2Gi");
    assert!(found.iter().all(|document| document["metadata"]["name"] == "mayhap"));
}

#[test]
fn every_flag_and_variable_of_the_page_exists() {
    let folder = folder();
    let help = |verb| String::from_utf8(succeed(folder.path(), &[verb, "--help"], b"")).unwrap();
    let known = help("serve") + &help("health");
    let words = |start: &str, is_part: fn(char) -> bool| -> BTreeSet<String> {
        let all = [PAGE, DOCKERFILE].concat();
        let found = all.match_indices(start).map(|(at, _)| {
            let rest = &all[at..];
            let end = rest.find(|char: char| !is_part(char)).unwrap_or(rest.len());
            rest[..end].to_owned()
        });
        found.collect()
    };
    let flags = words("--", |char| char.is_ascii_lowercase() || char == '-');
    for flag in flags.iter().filter(|flag| flag.len() > 3 && !OF_DOCKER.contains(&flag.as_str())) {
        assert!(
            known.contains(&format!("{flag} ")) || known.contains(&format!("{flag}[")),
            "{flag}"
        );
    }
    assert!(flags.contains("--insecure-key-file"));
    // Settings in code are spelled correctly.
    for name in ["max_memory", "max_buffer_bytes", "key_file", "checkpoint_on_exit", "log_format"] {
        assert!(PAGE.contains(&format!("`{name}")) && SETTINGS.iter().any(|row| row.name == name));
    }
    let variables = words("MAYHAP_", |char| char.is_ascii_uppercase() || char == '_');
    let others = ["MAYHAP_SERVICE_HOST"];
    for variable in variables.iter().filter(|name| !others.contains(&name.as_str())) {
        let environment = vec![(variable.clone(), "tcp://".to_owned())];
        let loaded = Sources { environment, ..Sources::default() }.load();
        let is_unknown = loaded
            .is_ok_and(|loaded| loaded.warnings.iter().any(|text| text.contains("not a setting")));
        assert!(!is_unknown, "{variable}");
    }
}
