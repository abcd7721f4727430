//! The environment: overridden by flags, and the variables of Kubernetes in it.

use mayhap_server::config::{ConfigError, Loaded, Sources};

/// The configuration of this environment and these flags.
fn load(environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Loaded, ConfigError> {
    let owned = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    };
    let (environment, flags) = (owned(environment), owned(flags));
    Sources { environment, flags, ..Sources::default() }.load()
}

/// The variables of Kubernetes for a Service with two ports, one of which has a name.
fn service(name: &str) -> Vec<(String, &'static str)> {
    [
        ("SERVICE_HOST", "10.96.0.12"),
        ("SERVICE_PORT", "6380"),
        ("SERVICE_PORT_HTTP", "8080"),
        ("PORT", "tcp://10.96.0.12:6380"),
        ("PORT_6380_TCP", "tcp://10.96.0.12:6380"),
        ("PORT_6380_TCP_PROTO", "tcp"),
        ("PORT_6380_TCP_PORT", "6380"),
        ("PORT_6380_TCP_ADDR", "10.96.0.12"),
        ("PORT_8080_UDP", "udp://10.96.0.12:8080"),
        ("PORT_8080_UDP_ADDR", "10.96.0.12"),
    ]
    .map(|(rest, value)| (format!("{name}_{rest}"), value))
    .to_vec()
}

#[test]
fn the_variables_of_a_service_are_no_settings_and_reported_in_one_line() {
    for (names, told) in [
        (&["MAYHAP"][..], "MAYHAP_PORT;"),
        (&["MAYHAP_TLS"], "MAYHAP_TLS_PORT;"),
        (&["MAYHAP", "MAYHAP_TLS"], "MAYHAP_PORT, MAYHAP_TLS_PORT;"),
        // No setting has this name.
        (&["MAYHAP_HTTP", "MAYHAP_A_B"], ""),
    ] {
        let all: Vec<_> = names.iter().flat_map(|name| service(name)).collect();
        let all: Vec<_> = all.iter().map(|(name, value)| (&**name, *value)).collect();
        let loaded = load(&all, &[]).unwrap();
        assert_eq!((loaded.config.port, loaded.config.tls_port), (6380, None));
        let expected = usize::from(!told.is_empty());
        assert_eq!(loaded.warnings.len(), expected, "{names:?}: {:?}", loaded.warnings);
        for warning in loaded.warnings {
            assert!(warning.contains(told), "{warning}");
            assert!(warning.contains("enableServiceLinks: false"), "{warning}");
        }
    }
}

#[test]
fn a_setting_of_the_environment_holds_beside_a_service() {
    let all = service("MAYHAP");
    let mut all: Vec<_> = all.iter().map(|(name, value)| (&**name, *value)).collect();
    all.retain(|(name, _)| *name != "MAYHAP_PORT");
    all.push(("MAYHAP_PORT", "7000"));
    let loaded = load(&all, &[]).unwrap();
    assert_eq!((loaded.config.port, loaded.warnings.len()), (7000, 0), "{:?}", loaded.warnings);
    // A variable that is nearly one of these is still reported as no setting.
    for name in ["MAYHAP_PORT_X_TCP", "MAYHAP_PORT_1_TCP_X", "MAYHAP_PORT_1_TCP_ADDR_X"] {
        let loaded = load(&[&all[..], &[(name, "1")]].concat(), &[]).unwrap();
        assert_eq!(loaded.warnings.len(), 1, "{name}: {:?}", loaded.warnings);
    }
}

#[test]
fn without_a_service_the_error_names_the_way_out() {
    for name in ["MAYHAP_PORT", "MAYHAP_TLS_PORT", "MAYHAP_HTTP"] {
        let error = load(&[(name, "tcp://10.96.0.12:6380")], &[]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("environment: {name} = \"tcp://")), "{error}");
        assert!(error.contains("enableServiceLinks: false"), "{error}");
    }
    let error = load(&[("MAYHAP_PORT", "x")], &[]).unwrap_err().to_string();
    assert!(!error.contains("enableServiceLinks"), "{error}");
}

#[test]
fn a_flag_beats_the_environment_before_that_is_read() {
    for value in ["tcp://10.96.0.12:6380", "nonsense", ""] {
        let loaded = load(&[("MAYHAP_PORT", value)], &[("port", "7001")]).unwrap();
        assert_eq!((loaded.config.port, loaded.warnings.len()), (7001, 0), "{value}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    std::fs::write(&file, "a password of the flag\n").unwrap();
    let environment = vec![("MAYHAP_PASSWORD_FILE".to_owned(), "/none/such".to_owned())];
    let sources = Sources { environment, password_file: Some(file), ..Sources::default() };
    let users = sources.load().unwrap().config.users;
    assert!(users.login(b"default", b"a password of the flag").is_some());
    let error = load(&[("MAYHAP_PASSWORD_FILE", "/none/such")], &[]).unwrap_err().to_string();
    assert!(error.starts_with("environment: MAYHAP_PASSWORD_FILE: cannot be read"), "{error}");
}
