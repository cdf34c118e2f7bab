//! Applies a recording to a `DeviceSet`, and compares.

use super::commands;
use super::recording::{Fields, Recording};
use sim_core::kernel::features::{
    BaseSpec, DevId, DeviceSet, Driver, Features, Release, Rules, Words,
};
use std::collections::BTreeMap;
use std::fmt;

/// How much was compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub steps: usize,
    pub devices: usize,
    pub values: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally {
            steps,
            devices,
            values,
        } = self;
        write!(f, "{steps} steps, {devices} devices, {values} values")
    }
}

/// The first thing in a file that is not as recorded.
#[derive(Clone, Debug)]
pub struct Found {
    pub step: String,
    pub device: String,
    what: String,
    commands: Vec<String>,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {}", self.step, self.what)?;
        if let Some((last, before)) = self.commands.split_last() {
            write!(f, ", after `{last}`")?;
            if !before.is_empty() {
                write!(f, " and {} commands before it in the step", before.len())?;
            }
        }
        Ok(())
    }
}

/// A field that is compared.
struct Field {
    name: &'static str,
    value: Value,
}

enum Value {
    Set(fn(&mut Words) -> &mut Features),
    Number(fn(&mut Words) -> &mut u32),
}

macro_rules! fields {
    ($($kind:ident $id:ident),* $(,)?) => {
        &[$(Field { name: stringify!($id), value: Value::$kind(|w| &mut w.$id) }),*]
    };
}

const FIELDS: &[Field] = fields![
    Set features,
    Set hw_features,
    Set wanted_features,
    Set vlan_features,
    Set hw_enc_features,
    Set mpls_features,
    Set gso_partial_features,
    Number mtu,
    Number hard_header_len,
    Number needed_headroom,
    Number needed_tailroom,
    Number gso_max_size,
    Number gso_max_segs,
    Number tso_max_size,
    Number tso_max_segs,
];

/// Limits that are read at the start and not compared.
const LIMITS: &[Field] = fields![Number min_mtu, Number max_mtu];

impl Field {
    fn get(&self, w: &Words, release: Release) -> u64 {
        let mut w = *w;
        match self.value {
            Value::Set(of) => of(&mut w).to_word(release),
            Value::Number(of) => u64::from(*of(&mut w)),
        }
    }

    fn set(&self, w: &mut Words, value: u64, release: Release) {
        match self.value {
            Value::Set(of) => *of(w) = Features::from_word(value, release),
            Value::Number(of) => *of(w) = u32::try_from(value).unwrap_or(u32::MAX),
        }
    }

    /// What differs, in words.
    fn difference(&self, expected: u64, got: u64, release: Release) -> String {
        let name = self.name;
        match self.value {
            Value::Number(_) => format!("{name} is {got}, recorded {expected}"),
            Value::Set(_) => {
                let [e, g] = [expected, got].map(|word| Features::from_word(word, release));
                let (missing, too_much) = (e - g, g - e);
                format!(
                    "{name} is {got:#018x}, recorded {expected:#018x} (missing: {missing}; too much: {too_much})"
                )
            }
        }
    }
}

fn base(fields: &Fields, driver: &str, release: Release) -> BaseSpec {
    let mut words = Words::default();
    for field in FIELDS.iter().chain(LIMITS) {
        if let Some(&value) = fields.get(field.name) {
            field.set(&mut words, value, release);
        }
    }
    let bit = |field: &str, bit: u32| fields.get(field).is_some_and(|word| word >> bit & 1 == 1);
    BaseSpec {
        words,
        driver: Driver::from_name(driver, words.features),
        loopback: bit("flags", 3),
        phony_headroom: bit("priv_flags", 24),
    }
}

/// Compares one device; the first difference.
fn device(host: &DeviceSet, id: DevId, expected: &Fields, tally: &mut Tally) -> Result<(), String> {
    let release = host.rules().release;
    let dev = host.dev(id);
    for field in FIELDS {
        let Some(&recorded) = expected.get(field.name) else {
            continue;
        };
        let got = field.get(&dev.words, release);
        tally.values += 1;
        if got != recorded {
            let difference = field.difference(recorded, got, release);
            return Err(format!("device {}, {difference}", dev.name));
        }
    }
    tally.devices += 1;
    Ok(())
}

/// Applies every step of a recording under `rules` and compares every device after each.
pub fn check(recording: &Recording, rules: Rules) -> Result<Tally, Found> {
    let mut host = DeviceSet::new(rules);
    let mut expected: BTreeMap<String, Fields> = BTreeMap::new();
    let mut tally = Tally::default();
    for (number, step) in recording.steps.iter().enumerate() {
        let mut done = Vec::new();
        let found = |device: &str, what: String, commands: &[String]| Found {
            step: step.name.clone(),
            device: device.to_owned(),
            what,
            commands: commands.to_vec(),
        };
        for (name, fields) in &step.words {
            let known = expected.entry(name.clone()).or_default();
            known.extend(fields.iter().map(|(key, &value)| (key.clone(), value)));
        }
        if number == 0 {
            for name in &step.devs {
                let fields = expected.entry(name.clone()).or_default();
                let spec = base(fields, &recording.driver, rules.release);
                let up = fields.get("flags").is_some_and(|flags| flags & 1 == 1);
                let started = host.adopt(name, spec).and_then(|id| match up {
                    true => host.set_up(id),
                    false => Ok(()),
                });
                started.map_err(|why| found(name, why.to_string(), &done))?;
            }
            continue;
        }
        for command in &step.commands {
            commands::apply(&mut host, command)
                .map_err(|why| found("", format!("`{}`: {why}", command.text), &done))?;
            done.push(command.text.clone());
        }
        tally.steps += 1;
        for name in &step.devs {
            let id = host.find(name);
            let id = id.map_err(|why| found(name, why.to_string(), &done))?;
            let fields = expected.entry(name.clone()).or_default();
            device(&host, id, fields, &mut tally).map_err(|what| found(name, what, &done))?;
        }
    }
    Ok(tally)
}
