//! One recording: a base device, and steps of commands and words.

use serde_json::Value;
use sim_core::kernel::features::Release;
use std::collections::BTreeMap;

/// Words of one device by field.
pub type Fields = BTreeMap<String, u64>;

/// A command of a step.
#[derive(Clone, Debug)]
pub struct Command {
    pub text: String,
    /// It ended with status 0.
    pub ok: bool,
}

/// Commands, and what the kernel had afterwards. Words are only those that differ from the last ones recorded
/// of a device of that name.
#[derive(Clone, Debug)]
pub struct Step {
    pub name: String,
    pub devs: Vec<String>,
    pub commands: Vec<Command>,
    pub words: BTreeMap<String, Fields>,
}

/// A file.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What `ethtool -i` calls the driver of the base device.
    pub driver: String,
    pub release: Release,
    pub steps: Vec<Step>,
}

fn text(value: &Value, key: &str) -> Result<String, String> {
    let found = value[key].as_str().map(str::to_owned);
    found.ok_or_else(|| format!("`{key}` is not a string"))
}

fn list<'v>(value: &'v Value, key: &str) -> Result<&'v Vec<Value>, String> {
    let found = value[key].as_array();
    found.ok_or_else(|| format!("`{key}` is not a list"))
}

/// A number, or a hexadecimal word as a string.
fn number(value: &Value) -> Option<u64> {
    match value.as_str() {
        Some(hex) => u64::from_str_radix(hex.strip_prefix("0x")?, 16).ok(),
        None => value.as_u64(),
    }
}

fn command(value: &Value) -> Result<Command, String> {
    Ok(Command {
        text: text(value, "cmd")?,
        ok: value["rc"].as_i64().unwrap_or(0) == 0,
    })
}

fn step(value: &Value) -> Result<Step, String> {
    let name = text(value, "step")?;
    let within = |why| format!("step {name}: {why}");
    let devs = list(value, "devs").map_err(within)?;
    let devs = devs.iter().filter_map(|d| d.as_str().map(str::to_owned));
    let commands = list(value, "cmds").map_err(within)?.iter().map(command);
    let mut words = BTreeMap::new();
    for (dev, fields) in value["words"].as_object().into_iter().flatten() {
        let fields = fields.as_object().into_iter().flatten();
        let numbers = fields.filter_map(|(key, value)| Some((key.clone(), number(value)?)));
        words.insert(dev.clone(), numbers.collect());
    }
    Ok(Step {
        devs: devs.collect(),
        commands: commands.collect::<Result<_, _>>().map_err(within)?,
        words,
        name: name.clone(),
    })
}

/// The driver as `ethtool -i` says it, else the name of the base.
fn driver(file: &Value) -> Option<String> {
    let said = file["driver_info"].as_array().into_iter().flatten();
    let mut lines = said.filter_map(|c| c["out"].as_array()).flatten();
    let line = lines.find_map(|line| line.as_str()?.strip_prefix("driver: "));
    line.or(file["base"].as_str()).map(str::to_owned)
}

/// Whose rules: by version, and by whether ethtool knows the bit that moved three others.
fn release(file: &Value) -> Result<Release, String> {
    let version = text(file, "kernel")?;
    let by_version = Release::from_uname(&version);
    let by_version = by_version.ok_or_else(|| format!("`{version}` is no kernel version"))?;
    let lists = file["steps"][0]["ethtool"].as_object();
    let Some(names) = lists.and_then(|of| of.values().next()?.as_object()) else {
        return Ok(by_version);
    };
    let moved = names.contains_key("tx-tcp-accecn-segmentation");
    Ok(match by_version {
        Release::V6_18 if !moved => Release::V6_12,
        Release::V6_12 if moved => Release::V6_18,
        other => other,
    })
}

impl Recording {
    /// Reads a file.
    pub fn parse(file: &str) -> Result<Recording, String> {
        let file: Value = serde_json::from_str(file).map_err(|e| e.to_string())?;
        let steps = list(&file, "steps")?.iter().map(step);
        let steps: Vec<Step> = steps.collect::<Result<_, _>>()?;
        if steps.len() < 2 {
            return Err("a recording has a step `base` and others".to_owned());
        }
        Ok(Recording {
            driver: driver(&file).ok_or("no driver is named")?,
            release: release(&file)?,
            steps,
        })
    }

    fn step(&mut self, name: &str) -> &mut Step {
        let mut steps = self.steps.iter_mut();
        steps
            .find(|s| s.name == name)
            .expect("there is such a step")
    }

    /// Spoils one word from `step` on.
    pub fn flip(&mut self, step: &str, dev: &str, field: &str, bits: u64) {
        let fields = self.step(step).words.get_mut(dev);
        let word = fields.and_then(|f| f.get_mut(field));
        *word.expect("the word changes in that step") ^= bits;
    }

    /// Puts a command in front of those of `step`.
    pub fn insert_command(&mut self, step: &str, text: &str) {
        let command = Command {
            text: text.to_owned(),
            ok: true,
        };
        self.step(step).commands.insert(0, command);
    }
}
