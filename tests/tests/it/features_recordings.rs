//! Feature words of whole stacks of devices, held against recordings of real kernels.
//!
//! `tests/data/features` has one file a base device, recorded from an unmodified Linux 6.1.192. Each starts from the
//! words that the driver had set, and goes on in steps of `ip link` and `ethtool` commands; the same
//! commands are applied to a `DeviceSet`, and every word of every device is compared after each step.
//! `SKBSIM_FEATURES` names another folder of files of the same form, to be read instead.

mod commands;
mod compare;
mod recording;

use compare::check;
use recording::Recording;
use sim_core::kernel::features::{Features, Intersect, Rules, VlanFeatures};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/features")
}

/// The folder that a user named: absolute, or relative to this package (where cargo runs tests) or the workspace.
fn named_folder(name: OsString) -> PathBuf {
    let folder = PathBuf::from(name);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(&folder);
    if folder.is_dir() || !workspace.is_dir() {
        folder
    } else {
        workspace
    }
}

/// The recordings of a folder, by name.
fn recordings(folder: &Path) -> Vec<(String, Result<Recording, String>)> {
    let entries = std::fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("cannot read the folder {}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("readable").path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "json"));
    files.retain(|p| p.file_name().is_some_and(|n| n != "feature-bits.json"));
    files.sort();
    let read = |path: PathBuf| {
        let name = path
            .file_name()
            .expect("a file")
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&path).map_err(|e| e.to_string());
        (name, text.and_then(|text| Recording::parse(&text)))
    };
    files.into_iter().map(read).collect()
}

fn named(name: &str) -> Recording {
    let all = recordings(&repository());
    let found = all.into_iter().find(|(file, _)| file == name);
    found
        .expect("is in the repository")
        .1
        .expect("is well formed")
}

/// Every word of every device equals the real kernel's after every step of every file.
#[test]
fn every_word_of_every_step_is_the_kernels() {
    let folder = std::env::var_os("SKBSIM_FEATURES").map_or_else(repository, named_folder);
    let files = recordings(&folder);
    assert!(!files.is_empty(), "no recordings in {}", folder.display());
    let mut wrong = Vec::new();
    for (name, recording) in &files {
        let outcome = match recording {
            Ok(recording) => {
                check(recording, Rules::new(recording.release)).map_err(|found| found.to_string())
            }
            Err(why) => Err(format!("is no recording of features: {why}")),
        };
        match outcome {
            Ok(tally) => eprintln!("{name}: equal, {tally}"),
            Err(found) => wrong.push(format!("{name}: {found}")),
        }
    }
    let count = files.len();
    assert!(
        wrong.is_empty(),
        "{} of {count} files differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The repository's copy is whole: 8 files, 1083 devices compared in each.
#[test]
fn the_copy_in_the_repository_is_whole() {
    let files = recordings(&repository());
    assert_eq!(files.len(), 8);
    for (name, recording) in files {
        let recording = recording.expect("is well formed");
        let tally = check(&recording, Rules::new(recording.release));
        let tally = tally.unwrap_or_else(|found| panic!("{name}: {found}"));
        assert_eq!((tally.steps, tally.devices), (117, 1083), "{name}");
    }
}

/// Every bit has the number and the names it has in the recorded kernel.
#[test]
fn bits_and_names_are_the_kernels() {
    let text = std::fs::read_to_string(repository().join("feature-bits.json")).expect("is there");
    let bits: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
    let bits = bits.as_array().expect("is a list");
    assert_eq!(bits.len(), 64);
    for entry in bits {
        let bit = Features::from_bits(1 << entry["bit"].as_u64().expect("a number"));
        if let Some(name) = entry["ethtool"].as_str() {
            assert_eq!(bit.to_string(), name);
            assert_eq!(Features::from_ethtool(name), Some(bit));
        }
        let name = entry["macro"].as_str().expect("a string");
        let unused = name.starts_with("__UNUSED");
        assert_eq!(
            Features::from_macro(name),
            (!unused).then_some(bit),
            "{name}"
        );
    }
}

/// A plain AND where the kernel lets HW_CSUM include the checksums by protocol is found, where it shows: on the
/// one base that has a checksum by protocol.
#[test]
fn a_plain_and_is_found() {
    for (name, recording) in recordings(&repository()) {
        let recording = recording.expect("is well formed");
        let wrong = Rules {
            intersect: Intersect::PlainAnd,
            ..Rules::new(recording.release)
        };
        let found = check(&recording, wrong).err();
        assert_eq!(found.is_some(), name == "8139cp.json", "{name}: {found:?}");
        if let Some(found) = found {
            assert_eq!(found.step, "stack");
            let text = found.to_string();
            // One level up it does not show yet: the VLAN on the base turns a checksum by protocol into HW_CSUM.
            assert!(text.contains("device v100.1, features"), "{text}");
            assert!(text.contains("missing: tx-checksum-ip-generic"), "{text}");
        }
    }
}

/// Both other answers to what a VLAN promises are found on every base that promises anything.
#[test]
fn other_vlan_promises_are_found() {
    for rule in [VlanFeatures::V3_7, VlanFeatures::ThreadPatch] {
        for name in ["e1000.json", "veth.json", "virtio_net.json"] {
            let recording = named(name);
            let wrong = Rules {
                vlan_features: rule,
                ..Rules::new(recording.release)
            };
            let found = check(&recording, wrong).expect_err("differs");
            assert_eq!((&*found.step, &*found.device), ("stack", "v100"), "{name}");
        }
    }
}

/// One wrong bit in one word of one step is found, and named.
#[test]
fn one_flipped_bit_is_found() {
    let mut recording = named("e1000.json");
    recording.flip("v100-sg-off", "v100", "features", 1 << 41);
    let found = check(&recording, Rules::new(recording.release)).expect_err("differs");
    assert_eq!(found.step, "v100-sg-off");
    let text = found.to_string();
    assert!(text.contains("missing: tx-nocache-copy"), "{text}");
    assert!(text.contains("after `ethtool -K v100 sg off`"), "{text}");
}

/// A command that is not understood fails the file by name; so does one that the kernel took and the model refuses.
#[test]
fn what_is_not_understood_is_said() {
    for (command, says) in [
        ("ip link add x0 type gre remote 192.0.2.1", "type `gre`"),
        ("ip link set eth2 colour red", "`colour`"),
        ("ethtool -K eth2 tx-teleport on", "tx-teleport"),
        ("ip link set eth7 up", "no device `eth7`"),
        ("rm -r /", "`rm -r /`"),
        ("ip link set", "device"),
        ("ip link add link eth2 name v type vlan id many", "many"),
        ("ethtool -K eth2 tso maybe", "maybe"),
        ("ip link set eth2 mtu", "mtu"),
    ] {
        let mut recording = named("e1000.json");
        recording.insert_command("stack", command);
        let found = check(&recording, Rules::new(recording.release)).expect_err("not understood");
        let text = found.to_string();
        assert!(text.contains("step stack") && text.contains(says), "{text}");
    }
}
