//! Every library scenario and machine profile is right, and says where it comes from.

use scenarios::{Loader, ProfileFile, Registry, library};

/// Every library scenario passes every rule, and opens with question, expectation and source.
#[test]
fn library_scenarios_are_right() {
    let registry = Registry::new();
    for name in library::names() {
        let scenario = Loader::new(&registry)
            .load_library(name)
            .unwrap_or_else(|r| panic!("{r}"));
        assert_eq!(scenario.name(), name);
        let text = library::text(name).unwrap();
        assert!(
            library::question(text).ends_with('?'),
            "{name} opens with no question"
        );
        let comments: Vec<&str> = text.lines().take_while(|l| l.starts_with("//")).collect();
        assert!(
            comments.iter().any(|l| l.starts_with("// Expect: ")),
            "{name}"
        );
        assert!(
            comments.iter().any(|l| l.starts_with("// Source: ")),
            "{name}"
        );
    }
}

/// The scenario with its defaults filled in is the same scenario, also point by point.
#[test]
fn effective_is_the_same_scenario() {
    let registry = Registry::new();
    for name in library::names() {
        let once = Loader::new(&registry).load_library(name).unwrap();
        let again = Loader::new(&registry)
            .load_str(name, once.effective())
            .unwrap_or_else(|r| panic!("{r}"));
        assert_eq!(
            format!("{:?}", once.config()),
            format!("{:?}", again.config())
        );
        assert_eq!(
            format!("{:?}", once.points()),
            format!("{:?}", again.points())
        );
        assert_eq!(
            (once.measure(), once.expect(), once.axes()),
            (again.measure(), again.expect(), again.axes())
        );
        assert_eq!(once.effective(), again.effective());
    }
}

/// A file that gives nothing but what it must, with its defaults filled in.
#[test]
fn defaults() {
    let text = r#"(version: 1, name: "small", machine: "oracle", stop: At("1us"), hosts: [(name: "h0",
        devices: [(name: "d0"), (name: "e0", kind: Nic)],
        workloads: [Paced(dev: "d0", cpus: 1, every: "1us")])])"#;
    let registry = Registry::new();
    let scenario = Loader::new(&registry)
        .load_str("small.ron", text)
        .unwrap_or_else(|r| panic!("{r}"));
    insta::assert_snapshot!(scenario.effective());
}

/// Built-in profiles parse, and S3's fits no more configurations than its paper trail allows.
#[test]
fn profiles_are_right() {
    let registry = Registry::new();
    for name in registry.profile_names() {
        let file = ProfileFile::parse(name, registry.profile_text(name).unwrap())
            .unwrap_or_else(|r| panic!("{r}"));
        assert_eq!(file.profile.name, name);
        assert!(
            file.fitted_rows().len() <= 4,
            "{name}: {:?}",
            file.fitted_rows()
        );
    }
    let cpus = |name| {
        ProfileFile::parse(name, registry.profile_text(name).unwrap())
            .unwrap()
            .profile
            .topology
            .cpus()
    };
    assert_eq!(
        (cpus("kunpeng-920"), cpus("x86-skylake"), cpus("oracle")),
        (16, 16, 8)
    );
}

/// The published table has 5 x 6 points, threads changing slowest.
#[test]
fn sweep_points() {
    let scenario = Loader::new(&Registry::new())
        .load_library("lockless-table")
        .unwrap();
    let points = scenario.points();
    assert_eq!(points.len(), 30);
    assert_eq!(points[0].label, "threads=1 variant=v0");
    assert_eq!(points[29].label, "threads=16 variant=rfc_bypass");
    assert_eq!(
        points[29].config.hosts[0].kernel.lockless.name(),
        "rfc_bypass"
    );
}
