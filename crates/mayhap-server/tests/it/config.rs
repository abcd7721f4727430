//! Valid and refused configurations.

use mayhap_engine::durable::Policy;
use mayhap_server::Config;
use mayhap_server::config::{ConfigError, Loaded, Rights, SETTINGS, Sources, Users, hash_password};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// The configuration of a file with this text, the environment and flags.
fn load(
    text: &str,
    environment: &[(&str, &str)],
    flags: &[(&str, &str)],
) -> Result<Loaded, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mayhap.toml");
    std::fs::write(&path, text).unwrap();
    let owned = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    };
    let (environment, flags) = (owned(environment), owned(flags));
    Sources { file: Some(path), environment, flags, password_file: None }.load()
}

fn config(text: &str) -> Config {
    load(text, &[], &[]).unwrap().config
}

/// The error about a file, from its name on.
fn refusal(text: &str) -> String {
    let error = load(text, &[], &[]).unwrap_err().to_string();
    error[error.find("mayhap.toml").unwrap()..].to_owned()
}

#[test]
fn the_later_source_wins() {
    let file = "max_memory = \"1GiB\"\nport = 1\nthreads = 1\n";
    let environment = [("MAYHAP_PORT", "2"), ("MAYHAP_THREADS", "2"), ("PORT", "9")];
    let loaded = load(file, &environment, &[("threads", "3")]).unwrap();
    let config = loaded.config;
    let found = (config.max_memory, config.port, config.threads);
    assert_eq!(found, (Some(1 << 30), 2, Some(3)));
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
}

#[test]
fn every_setting_accepts_its_own_output_and_refuses_nonsense() {
    let mut file = String::new();
    for setting in SETTINGS {
        let value = (setting.get)(&Config::default());
        if !value.is_empty() {
            writeln!(file, "{} = {value:?}", setting.name).unwrap();
        }
        assert!(!setting.help.is_empty() && !setting.heading.is_empty());
        let is_text = matches!(setting.value, "DIR" | "FILE");
        if !is_text {
            let line = format!("\n{} = \"no | such\"", setting.name);
            let refused = refusal(&line);
            let place = format!("mayhap.toml:2: {} = \"no | such\": ", setting.name);
            assert!(refused.starts_with(&place), "{}: {refused}", setting.name);
        }
    }
    let again = config(&file);
    for setting in SETTINGS {
        assert_eq!((setting.get)(&again), (setting.get)(&Config::default()), "{}", setting.name);
    }
    assert!(SETTINGS.len() >= 35);
}

#[test]
fn values_are_of_the_commands_grammar() {
    let config = config(
        "max_memory = \"1.5GiB\"\nmax_clients = \"20k\"\nrequest_timeout = \"5min\"\n\
         default_error = \"1/1000\"\nappendfsync = \"always\"\nhttp = 0\n\
         http_hosts = [\"Filters.Example.org\", \"b\"]\ninsecure_no_password = true\n\
         bind = \"::\"\nmax_chunk_bytes = \"32MiB\"\n",
    );
    assert_eq!(config.max_memory, Some(3 << 29));
    assert_eq!((config.max_clients, config.request_timeout_ms), (20_000, 300_000));
    assert!((config.default_fpp - 0.001).abs() < 1e-15);
    assert_eq!(config.appendfsync, Policy::Always);
    assert_eq!(config.http_hosts, ["filters.example.org", "b"]);
    assert_eq!((config.http_port, config.max_chunk_bytes), (Some(0), 32 << 20));
}

#[test]
fn errors_name_file_line_key_value_and_the_allowed_values() {
    for (text, expected) in [
        (
            "\nport = 70000",
            "mayhap.toml:2: port = \"70000\": is not a whole number from 0 to 65535",
        ),
        ("# a\n\nportt = 1", "mayhap.toml:3: portt: is not a setting; did you mean port?"),
        ("max-memory = 1", "mayhap.toml:1: max-memory: is not a setting; did you mean max_memory?"),
        ("zzz = 1", "mayhap.toml:1: zzz: is not a setting"),
        ("appendfsync = \"often\"", "allowed: always, everysec, no"),
        ("max_memory = \"1 lot\"", "max_memory = \"1 lot\": the size \"1 lot\" ends in \"lot\""),
        ("max_memory = 0", "mayhap.toml:1: max_memory = \"0\": is 0; allowed: from 1 B on"),
        ("default_fpp = 5", "did you mean 5%?"),
        ("default_fpp = nan", "is not a finite number"),
        ("idle_timeout = \"5m\"", "is not a duration; write it like 500ms, 30s"),
        ("data = \"\"", "data = \"\": is empty"),
        ("bind = \"example.org\"", "is not an address; allowed: IP addresses"),
        ("port = [1", "mayhap.toml:1: "),
        ("port = 1\nport = 2", "mayhap.toml:2: "),
        ("[port]\nx = 1", "port: is a table; write text, a number, true or false"),
        ("tls_cert = \"a\"", "tls_cert is given without tls_key"),
        ("tls_port = 1", "tls_port is given without tls_cert"),
        ("max_word_bytes = \"1GiB\"", "max_word_bytes is 1073741824, above max_request_bytes"),
        ("max_memory = 1\nmax_filter_bytes = 2", "max_filter_bytes is 2, above max_memory"),
        ("user = 1", "user: starts a table; write [[user]]"),
        ("[[user]]\nname = \"a\"", "\"a\" has no rights"),
        ("[[user]]\nname = \"a\"\nrights = \"read\"", "\"a\" has no password"),
        ("[[user]]\nrights = \"read\"\npassword = \"x\"", "has no name"),
        ("[[user]]\nname = \"a\"\nright = \"read\"", "mayhap.toml:3: right: is not a field"),
        ("[[user]]\nrights = \"root\"", "\"root\" is not a right; allowed: read, write, admin"),
        ("password = \"\"", "the password of user \"default\" is empty"),
        ("password_file = \"/none/such\"", "password_file: cannot be read"),
        ("password_env = \"MAYHAP_NO_SUCH\"", "which the environment does not have"),
    ] {
        let error = load(text, &[], &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}\nnot: {expected}");
    }
    let error = load("", &[("MAYHAP_PORT", "x")], &[]).unwrap_err().to_string();
    assert_eq!(error, "environment: MAYHAP_PORT = \"x\": is not a whole number from 0 to 65535");
    let error = load("", &[], &[("max_memory", "x")]).unwrap_err().to_string();
    assert!(error.starts_with("--max-memory = \"x\": the size \"x\""), "{error}");
    let loaded = load("", &[("MAYHAP_PROT", "1")], &[]).unwrap();
    assert_eq!(loaded.warnings, ["the environment has MAYHAP_PROT, which is not a setting"]);
}

#[test]
fn secrets_are_never_repeated() {
    let secret = "hunter2-hunter2";
    for text in [
        format!("[[user]]\nname = \"a\"\nrights = \"read\"\npassword_hash = \"{secret}\""),
        format!("password = [\"{secret}\"]"),
        format!("[[user]]\nname = \"a\"\nrights = \"read\"\npassword = {{ x = \"{secret}\" }}"),
        format!(
            "password = \"a\"\n[[user]]\nname = \"default\"\nrights = \"read\"\n\
                 password = \"{secret}\""
        ),
    ] {
        let error = load(&text, &[], &[]).unwrap_err();
        let all = format!("{error} {error:?}");
        assert!(!all.contains(secret), "{all}");
    }
    let loaded = load(&format!("password = \"{secret}\""), &[], &[]).unwrap();
    assert!(!format!("{loaded:?}").contains(secret));
}

/// T14: addresses that may be listened on with and without a password or the flag.
#[test]
fn nobody_else_is_let_in_without_a_password_or_the_flag() {
    let mut tried = 0;
    for bind in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "10.1.2.3"] {
        for (where_to, http) in [("bind", ""), ("http_bind", "http = 0\n"), ("http_bind", "")] {
            for password in ["", "password = \"a long password\"\n"] {
                for flag in ["", "insecure_no_password = true\n"] {
                    let text = format!("{where_to} = \"{bind}\"\n{http}{password}{flag}");
                    let listens = where_to == "bind" || !http.is_empty();
                    let is_loopback = bind.contains("127.") || bind == "::1";
                    let is_safe =
                        is_loopback || !listens || !password.is_empty() || !flag.is_empty();
                    let loaded = load(&text, &[], &[]);
                    assert_eq!(loaded.is_ok(), is_safe, "{text}: {loaded:?}");
                    if let Err(error) = loaded {
                        let error = error.to_string();
                        assert!(
                            error.ends_with("no password, nor insecure_no_password"),
                            "{error}"
                        );
                        assert!(error.starts_with(&format!("{where_to} = \"{bind}\"")), "{error}");
                    } else if !is_loopback && listens {
                        assert!(!loaded.unwrap().warnings.is_empty(), "{text}");
                    }
                    tried += 1;
                }
            }
        }
    }
    assert_eq!(tried, 84);
}

#[test]
fn users_have_their_rights_and_prefix() {
    let hash = hash_password(b"correct horse").unwrap();
    let config = config(&format!(
        "password = \"for the default user\"\n\
         [[user]]\nname = \"shop\"\npassword_hash = \"{hash}\"\nrights = [\"read\", \"write\"]\n\
         prefix = \"shop:\"\n\
         [[user]]\nname = \"eye\"\npassword = \"plain enough\"\nrights = \"read\"\n"
    ));
    let users = &config.users;
    assert_eq!(users.names(), ["default", "shop", "eye"]);
    assert_eq!(users.anonymous(), Rights::NONE);
    assert_eq!(users.login(b"default", b"for the default user"), Some(Rights::ALL));
    for _ in 0..2 {
        // The second time from the remembered password.
        let shop = users.login(b"shop", b"correct horse").unwrap();
        assert!(shop.read && shop.write && !shop.admin);
        assert!(shop.covers(b"shop:1") && !shop.covers(b"shop") && !shop.covers(b"other"));
    }
    assert_eq!(users.login(b"eye", b"plain enough").map(|rights| rights.write), Some(false));
    for (name, password) in [
        (&b"shop"[..], &b"correct horsE"[..]),
        (b"shop", b""),
        (b"eye", b"plain enough "),
        (b"default", b"correct horse"),
        (b"", b"for the default user"),
        (b"nobody", b"correct horse"),
        (b"Shop", b"correct horse"),
    ] {
        assert_eq!(users.login(name, password), None, "{name:?}");
    }
    assert_eq!(Users::new().unwrap().anonymous(), Rights::ALL);
}

#[test]
fn guessing_is_throttled_but_known_passwords_are_not() {
    let mut users = Users::new().unwrap();
    let hash = hash_password(b"right").unwrap();
    users.add_hashed("a", &hash, Rights::ALL).unwrap();
    users.add_hashed("b", &hash, Rights::ALL).unwrap();
    users.add_hashed("c", &hash, Rights::ALL).unwrap();
    let now = Instant::now();
    let login = |name: &str, password: &str, seconds| {
        let at = now + Duration::from_secs(seconds);
        users.login_at(name.as_bytes(), password.as_bytes(), at).is_some()
    };
    // Each costs one of ten checks.
    assert!(login("a", "right", 0));
    for _ in 0..9 {
        assert!(!login("nobody", "guess", 0));
    }
    assert!(!login("b", "right", 0), "right, but never seen before, and no check is left");
    assert!(login("a", "right", 0), "was right before");
    assert!(login("b", "right", 1));
    for _ in 0..9 {
        assert!(!login("b", "wrong", 1));
    }
    assert!(login("b", "right", 1));
    assert!(!login("c", "right", 1), "a second adds ten, and no more");
}

#[test]
fn hashes_that_would_cost_too_much_are_refused() {
    let mut users = Users::new().unwrap();
    for hash in [
        "$argon2id$v=19$m=4194304,t=3,p=1$c2FsdHNhbHRzYWx0$dGhpcyBpcyBhIGhhc2ggb2YgMzIgYnl0ZXM",
        "$argon2id$v=19$m=4096,t=1000,p=1$c2FsdHNhbHRzYWx0$dGhpcyBpcyBhIGhhc2ggb2YgMzIgYnl0ZXM",
    ] {
        let refused = users.add_hashed("a", hash, Rights::ALL).unwrap_err();
        assert!(refused.to_string().contains("above the limits"), "{refused}");
    }
    assert!(users.add_hashed("a", "$2b$12$abc", Rights::ALL).is_err());
    assert!(!users.asks_password());
}
