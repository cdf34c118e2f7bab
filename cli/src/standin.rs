//! Stand-in for the `scenarios` crate until it is merged.
#![allow(missing_docs, dead_code)]
use sim_core::config::Config;
use sim_core::kernel::sched::user::LocklessOps;
use sim_core::violation::Law;
use std::path::Path;
use std::sync::Arc;

pub const BUILTINS: &[crate::library::Builtin] = &[];

#[derive(Default)]
pub struct Registry(Vec<(String, Arc<dyn LocklessOps>)>);
impl Registry {
    pub fn new() -> Registry {
        Registry::default()
    }
    pub fn register(&mut self, name: &str, ops: Arc<dyn LocklessOps>) {
        self.0.push((name.to_owned(), ops));
    }
}
impl Registry {
    pub fn variant_names(&self) -> impl Iterator<Item = &str> {
        ["v0", "v1"].into_iter()
    }
    pub fn profile_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        ["kunpeng-920"].into_iter()
    }
    pub fn profile_text(&self, _name: &str) -> Option<&'static str> {
        Some("")
    }
}
pub struct Loader<'r>(&'r Registry);
impl<'r> Loader<'r> {
    pub fn new(registry: &'r Registry) -> Loader<'r> {
        Loader(registry)
    }
    pub fn set(self, _path: &str, _value: &str) -> Result<Self, Rejected> {
        Ok(self)
    }
    pub fn load_file(&self, path: &Path) -> Result<Scenario, Rejected> {
        Err(Rejected(path.display().to_string()))
    }
    pub fn load_str(&self, name: &str, _text: &str) -> Result<Scenario, Rejected> {
        Err(Rejected(name.to_owned()))
    }
}
pub struct Rejected(String);
impl Rejected {
    pub fn render(&self, _color: bool) -> String {
        self.0.clone()
    }
}
#[derive(Clone, Copy)]
pub struct Measure {
    pub warmup: u64,
    pub window: u64,
    pub seeds: u32,
}
pub enum Violations {
    Forbid,
    Allow,
    Require(Vec<Law>),
}
pub struct MetricBound {
    pub metric: String,
    pub min: Option<f64>,
    pub max: Option<f64>,
}
pub struct Expect {
    pub violations: Violations,
    pub metrics: Vec<MetricBound>,
}
pub struct Point {
    pub label: String,
    pub values: Vec<(String, String)>,
    pub config: Config,
}
pub struct Scenario {
    pub name: String,
    pub config: Config,
    pub measure: Option<Measure>,
    pub expect: Expect,
}
impl Scenario {
    pub fn points(&self) -> Vec<Point> {
        vec![Point {
            label: String::new(),
            values: vec![],
            config: self.config.clone(),
        }]
    }
}
pub fn effective(_s: &Scenario) -> String {
    String::new()
}

pub fn fitted_rows(_: &Registry, _: &str) -> Result<Vec<String>, String> {
    Ok(vec![])
}
