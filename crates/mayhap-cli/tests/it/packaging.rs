//! packaging/ and the doors beside it: the chart, the formula, the hooks and the action name what
//! there is.

use crate::containers::{check_config, documents, text, texts};
use crate::support::{folder, run};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A template of the chart with these values in the places that name them.
fn render(template: &str, values: &Value) -> String {
    let mut rendered = template
        .replace("{{ .Release.Name }}", "mayhap")
        .replace("{{ .Release.Namespace }}", "filters");
    for (name, value) in values.as_object().unwrap() {
        let place = format!("{{{{ .Values.{name} | quote }}}}");
        rendered = rendered.replace(&place, &value.to_string());
    }
    assert!(!rendered.contains("{{"), "a place without a value: {rendered}");
    rendered
}

#[test]
fn the_chart_starts_what_there_is() {
    let Some(values) = documents(&read("packaging/helm/mayhap/values.yaml")) else { return };
    let values = &values[0];
    let chart = &documents(&read("packaging/helm/mayhap/Chart.yaml")).unwrap()[0];
    assert_eq!((text(&chart["version"]), text(&chart["appVersion"])), (VERSION, VERSION));
    assert_eq!(text(&values["image"]), format!("mayhap:{VERSION}"));
    let templates = ["settings", "service", "server"]
        .map(|name| read(&format!("packaging/helm/mayhap/templates/{name}.yaml")));
    for name in values.as_object().unwrap().keys() {
        let place = format!(".Values.{name} ");
        assert!(templates.iter().any(|template| template.contains(&place)), "{name} is not used");
    }
    let [settings, service, server] =
        templates.map(|template| documents(&render(&template, values)).unwrap().remove(0));
    let pod = &server["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let environment: Vec<(String, String)> = container["env"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| (text(&pair["name"]).to_owned(), text(&pair["value"]).to_owned()))
        .collect();
    let settings = text(&settings["data"]["mayhap.toml"]);
    let effective = check_config(&texts(&container["args"]), &environment, Some(settings));
    // Clients of the Service send its name, which is refused (421) unless it is a setting.
    let hosts = effective.lines().find_map(|line| line.strip_prefix("http_hosts = "));
    let hosts: Vec<&str> = hosts.unwrap_or_default().trim_matches('"').split(',').collect();
    for name in ["mayhap", "mayhap.filters", "mayhap.filters.svc"] {
        assert!(hosts.contains(&name), "{name}: {effective}");
    }
    for line in ["data = \"/data\"", "port = 6380", "http = 8080"] {
        assert!(effective.lines().any(|other| other == line), "{line}: {effective}");
    }
    for (probe, path) in
        [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]
    {
        assert_eq!(text(&container[probe]["httpGet"]["path"]), path);
    }
    assert_eq!(service["spec"]["selector"], server["spec"]["selector"]["matchLabels"]);
    // Each mount has its volume, and each volume is mounted.
    let names = |list: &Value| -> Vec<String> {
        let names = list.as_array().unwrap().iter();
        names
            .map(|item| text(item.get("name").unwrap_or(&item["metadata"]["name"])).to_owned())
            .collect()
    };
    let mut mounted = names(&container["volumeMounts"]);
    let mut volumes = names(&pod["volumes"]);
    volumes.extend(names(&server["spec"]["volumeClaimTemplates"]));
    mounted.sort();
    volumes.sort();
    assert_eq!(mounted, volumes);
}

#[test]
fn the_formula_runs_verbs_that_there_are() {
    let formula = read("packaging/homebrew/mayhap.rb");
    let starts = |word: &str| formula.lines().filter(|line| line.trim().starts_with(word)).count();
    let opened = starts("class ") + starts("def ") + starts("service do") + starts("test do");
    assert_eq!(opened, starts("end"));
    assert!(formula.contains("mayhap-cli-@VERSION@.crate") && formula.contains("@SHA256@"));
    let folder = folder();
    for verb in ["man", "completions", "serve"] {
        assert!(formula.contains(&format!("mayhap\", \"{verb}\"")), "{verb}");
        assert!(run(folder.path(), &[verb, "--help"], b"").status.success());
    }
    assert_eq!(run(folder.path(), &["dedup", "-q"], b"a\nb\na\n").stdout, b"a\nb\n");
}

/// A line of the shell in this folder, with the command in the path: its exit code and output.
fn shell(folder: &Path, line: &str, environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let binary = Path::new(env!("CARGO_BIN_EXE_mayhap"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-e", "-o", "pipefail", "-c", line])
        .current_dir(folder)
        .env("PATH", path)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// Lists with and without a repeat, and a filter that has `bad`.
fn lists() -> tempfile::TempDir {
    let folder = folder();
    fs::write(folder.path().join("once"), "a\nb\n").unwrap();
    fs::write(folder.path().join("twice"), "c\nbad\nc\n").unwrap();
    assert!(run(folder.path(), &["build", "-o", "filter"], b"bad\n").status.success());
    folder
}

#[test]
fn hooks_refuse_repeats_and_lines_of_a_filter() {
    let Some(hooks) = documents(&read(".pre-commit-hooks.yaml")) else { return };
    let folder = lists();
    let hook = |at: usize, files: &str| {
        let line = format!("{} {files}", text(&hooks[0][at]["entry"]));
        shell(folder.path(), &line, &[])
    };
    assert_eq!(hook(0, "once"), (Some(0), String::new()));
    assert_eq!(hook(0, "once twice"), (Some(1), "c\n".to_owned()));
    assert_eq!(hook(0, "missing").0, Some(2));
    assert_eq!(hook(0, ""), (Some(2), String::new()), "no file is no list without repeats");
    assert_eq!(hook(1, "filter once"), (Some(0), String::new()));
    assert_eq!(hook(1, "filter once twice"), (Some(1), "bad\n".to_owned()));
    assert_eq!(hook(1, "missing once").0, Some(2));
    assert_eq!(hook(1, "filter"), (Some(2), String::new()));
}

#[test]
fn the_action_refuses_repeats_and_lines_of_a_filter() {
    let Some(action) = documents(&read("action.yml")) else { return };
    let action = &action[0];
    let steps = action["runs"]["steps"].as_array().unwrap();
    // The command that is beside the action, so that both have one version.
    let install = text(&steps[0]["run"]);
    let (_, package) = install.split_once("--path \"$GITHUB_ACTION_PATH/").expect("a path");
    let package = root().join(package.trim_end().trim_end_matches('"'));
    assert!(install.starts_with("cargo install --locked "), "{install}");
    assert_eq!(package.canonicalize().unwrap(), Path::new(env!("CARGO_MANIFEST_DIR")));
    let step = &steps[1];
    for value in step["env"].as_object().unwrap().values() {
        let name = text(value).trim_start_matches("${{ inputs.").trim_end_matches(" }}");
        assert!(action["inputs"].get(name).is_some(), "{name} is no input");
    }
    let folder = lists();
    let act = |filter: &str, files: &str| {
        shell(folder.path(), text(&step["run"]), &[("FILTER", filter), ("FILES", files)])
    };
    assert_eq!(act("", "once"), (Some(0), String::new()));
    assert_eq!(act("", "once twice"), (Some(1), "c\n".to_owned()));
    assert_eq!(act("", "missing").0, Some(2));
    assert_eq!(act("filter", "once"), (Some(0), String::new()));
    assert_eq!(act("filter", "once twice"), (Some(1), "bad\n".to_owned()));
    assert_ne!(act("missing", "once").0, Some(0));
    for files in ["", " \n"] {
        assert_eq!(act("", files), (Some(2), String::new()), "no file is no list without repeats");
        assert_eq!(act("filter", files), (Some(2), String::new()));
    }
}

/// The compiler's name of a crate of the clone is that of its package wherever the clone is; other
/// crates' names, and all other arguments, are as Cargo gives them.
#[test]
fn crates_are_named_without_the_folder_of_the_clone() {
    let given =
        ["--crate-name", "one", "-C", "metadata=0123", "-C", "extra-filename=-45", "a b", ""];
    let named = |crate_in: &dyn Fn(&Path) -> PathBuf| {
        let folder = folder();
        let script = folder.path().join("packaging/crate-ids.sh");
        fs::create_dir(script.parent().unwrap()).unwrap();
        fs::write(&script, read("packaging/crate-ids.sh")).unwrap();
        let mut command = Command::new("sh");
        command.arg(&script).args(["printf", "%s|"]).args(given);
        command.env("CARGO_MANIFEST_DIR", crate_in(&folder.path().canonicalize().unwrap()));
        command.env("CARGO_PKG_NAME", "pack-one").env("CARGO_PKG_VERSION", "1.2.3");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let ours = given.join("|").replace("metadata=0123", "metadata=pack-one-1.2.3-one") + "|";
    assert_eq!(named(&|clone| clone.join("crates/one")), ours);
    assert_eq!(named(&|clone| clone.join("bindings/one")), ours);
    assert_eq!(named(&|_| "/elsewhere/crates/one".into()), given.join("|") + "|");
}
