//! From files to scenarios: reading, `--set`, checks, sweeps.

use crate::check;
use crate::error::{At, Issue, Rejected, Sources};
use crate::file::{self, Draft};
use crate::machine::{self, ProfileFile};
use crate::pahole::{self, Struct};
use crate::registry::Registry;
use crate::rules;
use crate::scenario::{self, Point, Scenario};
use crate::sweep::{self, Axis, AxisDraft};
use crate::tree::{Node, Span};
use crate::walk::{Placed, Walk};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Reads scenarios.
///
/// ```
/// let registry = scenarios::Registry::new();
/// let loader = scenarios::Loader::new(&registry).set("kernel.lockless", "v3").unwrap();
/// let scenario = loader.load_library("lockless-stuck").unwrap();
/// assert_eq!(scenario.config().hosts[0].kernel.lockless.name(), "v3");
/// ```
#[derive(Clone, Debug)]
pub struct Loader<'r> {
    registry: &'r Registry,
    sets: Vec<(String, String)>,
}

impl<'r> Loader<'r> {
    /// A loader that knows the names in `registry`.
    pub fn new(registry: &'r Registry) -> Loader<'r> {
        Loader {
            registry,
            sets: Vec::new(),
        }
    }

    /// Changes the value at `path` in every scenario that is loaded, before its checks. `threads`
    /// and `variant` are short names as in a sweep.
    ///
    /// # Errors
    /// If `ron` is not RON. Whether the path and the value fit is known when a scenario is loaded.
    pub fn set(mut self, path: &str, ron: &str) -> Result<Loader<'r>, Rejected> {
        let mut sources = Sources::default();
        sources.add(&set_name(path, ron), ron);
        let mut walk = Walk::default();
        if walk.syntax(ron, 0).is_none() {
            return Err(sources.reject(walk.issues));
        }
        self.sets.push((path.to_owned(), ron.to_owned()));
        Ok(self)
    }

    /// Loads the scenario in `text`; `name` is the file's name in errors. Machine profiles that it
    /// names by path are looked for in the working directory.
    ///
    /// # Errors
    /// With all problems of the scenario.
    pub fn load_str(&self, name: &str, text: &str) -> Result<Scenario, Rejected> {
        self.load(name, text, Path::new(""))
    }

    /// Loads a scenario file.
    ///
    /// # Errors
    /// With all problems of the scenario, or because the file cannot be read.
    pub fn load_file(&self, path: &Path) -> Result<Scenario, Rejected> {
        let name = path.display().to_string();
        match read_text(path) {
            Ok(text) => self.load(&name, &text, path.parent().unwrap_or(Path::new(""))),
            Err((code, message)) => {
                let mut sources = Sources::default();
                sources.add(&name, "");
                Err(sources.reject(vec![Issue {
                    code,
                    message,
                    at: At::default(),
                    help: None,
                }]))
            }
        }
    }

    /// Loads the library scenario called `name`.
    ///
    /// # Errors
    /// If there is none, or if a `set` does not fit it.
    pub fn load_library(&self, name: &str) -> Result<Scenario, Rejected> {
        match crate::library::text(name) {
            Some(text) => self.load(&format!("{name}.ron"), text, Path::new("")),
            None => {
                let mut sources = Sources::default();
                sources.add(name, "");
                let mut walk = Walk::default();
                let message = format!(
                    "there is no library scenario `{}`",
                    crate::tree::shorten(name)
                );
                walk.unknown(
                    rules::UNREADABLE,
                    At::default(),
                    message,
                    crate::library::names(),
                    name,
                );
                Err(sources.reject(walk.issues))
            }
        }
    }

    fn load(&self, name: &str, text: &str, dir: &Path) -> Result<Scenario, Rejected> {
        let mut loading = self.loading(dir);
        loading.sources.add(name, text);
        match self.scenario(&mut loading, text) {
            Some(scenario) if loading.walk.issues.is_empty() => Ok(scenario),
            _ => Err(loading.sources.reject(loading.walk.issues)),
        }
    }

    /// Reads a file that pahole wrote.
    ///
    /// # Errors
    /// With the first line that is wrong, or because the file cannot be read.
    pub fn load_layout(&self, path: &Path) -> Result<Vec<Struct>, Rejected> {
        let mut loading = self.loading(Path::new(""));
        let name = path.display().to_string();
        loading.sources.add(&name, "");
        let at = At::default();
        match loading.pahole(&Placed { value: name, at }) {
            Some((_, structs)) => Ok(structs.to_vec()),
            None => Err(loading.sources.reject(loading.walk.issues)),
        }
    }

    fn loading(&self, dir: &Path) -> Loading<'r> {
        Loading {
            registry: self.registry,
            walk: Walk::default(),
            sources: Sources::default(),
            profiles: BTreeMap::new(),
            paholes: BTreeMap::new(),
            dir: dir.to_owned(),
            senders: 0,
        }
    }

    fn scenario(&self, loading: &mut Loading<'_>, text: &str) -> Option<Scenario> {
        let mut root = loading.walk.syntax(text, 0)?;
        for (path, ron) in &self.sets {
            loading.set(&mut root, path, ron);
        }
        let axes = sweep::take(&mut loading.walk, &mut root);
        let base = loading.draft(&root);
        loading.single_values(&root, &axes);
        // Combinations are only worth looking at if each value alone is right.
        if !loading.walk.issues.is_empty() {
            return None;
        }
        let base = base?;
        let config = scenario::build(&base)?;
        let total: usize = axes.iter().map(|a| a.values.len()).product();
        let size = base.parts().saturating_mul(total);
        if size > sweep::MAX_PARTS {
            let message = format!(
                "{total} points of a scenario this large have {size} hosts, devices, loads and senders"
            );
            let at = axes.first().map(|a| a.at.clone()).unwrap_or_default();
            let help = Some(format!("at most {}", sweep::MAX_PARTS));
            loading
                .walk
                .report(rules::TOO_MANY_POINTS, at, message, help);
            return None;
        }
        let points = loading.points(&root, &axes);
        let shown = axes.iter().map(|axis| Axis {
            path: axis.path.clone(),
            values: axis
                .values
                .iter()
                .map(|v| loading.source_of(v.span))
                .collect(),
        });
        let axes: Vec<Axis> = shown.collect();
        let effective = crate::effective::print(&base, &axes);
        Some(Scenario::new(
            &base, config, axes, points, effective, text, &self.sets,
        ))
    }
}

/// How a `--set` is called in errors.
fn set_name(path: &str, ron: &str) -> String {
    format!("--set {path}={}", crate::tree::shorten(ron)).replace(['\n', '\r'], " ")
}

/// Reads a file of at most [`crate::parse::MAX_BYTES`].
fn read_text(path: &Path) -> Result<String, (&'static str, String)> {
    let unreadable = |why: String| {
        (
            rules::UNREADABLE,
            format!("cannot read {}: {why}", path.display()),
        )
    };
    let file = std::fs::File::open(path).map_err(|e| unreadable(e.to_string()))?;
    let mut bytes = Vec::new();
    // One more than the limit, so that the reader can tell; never the whole of an endless file.
    let limit = crate::parse::MAX_BYTES as u64 + 1;
    file.take(limit)
        .read_to_end(&mut bytes)
        .map_err(|e| unreadable(e.to_string()))?;
    if bytes.len() as u64 == limit {
        return Err((
            rules::TOO_LARGE,
            format!("the file has more than {} bytes", crate::parse::MAX_BYTES),
        ));
    }
    String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8 text".into()))
}

/// The structs of a layout file, and the number of its text.
type PaholeFile = (u16, Rc<Vec<Struct>>);

/// One load: what is known, and what was found wrong.
pub(crate) struct Loading<'r> {
    pub registry: &'r Registry,
    pub walk: Walk,
    sources: Sources,
    /// Profiles read so far; `None` for one that is wrong and reported.
    profiles: BTreeMap<String, Option<Rc<ProfileFile>>>,
    /// Layout files read so far, likewise, each with the number of its text.
    paholes: BTreeMap<String, Option<PaholeFile>>,
    dir: PathBuf,
    /// Senders of the tree that is being read.
    pub senders: usize,
}

impl Loading<'_> {
    /// The machine profile called `reference`: a built-in name, or a path.
    pub fn profile(&mut self, reference: &Placed<String>) -> Option<Rc<ProfileFile>> {
        if let Some(known) = self.profiles.get(&reference.value) {
            return known.clone();
        }
        let file = self.read_profile(reference).map(Rc::new);
        self.profiles.insert(reference.value.clone(), file.clone());
        file
    }

    fn read_profile(&mut self, reference: &Placed<String>) -> Option<ProfileFile> {
        let name = &reference.value;
        let at = || reference.at.clone();
        if !name.ends_with(".ron") {
            let Some(text) = self.registry.profile_text(name) else {
                let message = format!("unknown machine profile \"{}\"", crate::tree::shorten(name));
                let registry = self.registry;
                self.walk.unknown(
                    rules::UNKNOWN_PROFILE,
                    at(),
                    message,
                    registry.profile_names(),
                    name,
                );
                return None;
            };
            return self.parse_profile(&format!("machines/{name}.ron"), text);
        }
        let path = self.dir.join(name);
        match read_text(&path) {
            Ok(text) => self.parse_profile(&path.display().to_string(), &text),
            Err((code, message)) => {
                self.walk.report(code, at(), message, None);
                None
            }
        }
    }

    /// The structs of the layout file at the path `reference`, and the number of its text.
    pub fn pahole(&mut self, reference: &Placed<String>) -> Option<PaholeFile> {
        if let Some(known) = self.paholes.get(&reference.value) {
            return known.clone();
        }
        let read = self.read_pahole(reference);
        self.paholes.insert(reference.value.clone(), read.clone());
        read
    }

    fn read_pahole(&mut self, reference: &Placed<String>) -> Option<(u16, Rc<Vec<Struct>>)> {
        let path = self.dir.join(&reference.value);
        let text = match read_text(&path) {
            Ok(text) => text,
            Err((code, message)) => {
                let help = "a path is relative to the scenario; `pahole -C NAME vmlinux > FILE` \
                            writes such a file";
                self.walk
                    .report(code, reference.at.clone(), message, Some(help.into()));
                return None;
            }
        };
        let source = self.sources.add(&path.display().to_string(), &text)?;
        match pahole::parse(&text) {
            Ok(structs) => Some((source, Rc::new(structs))),
            Err(e) => {
                let span = Span {
                    source,
                    start: e.place.0 as u32,
                    end: e.place.1 as u32,
                };
                let code = if e.limit {
                    rules::LAYOUT_SIZE
                } else {
                    rules::PAHOLE
                };
                let path = reference.at.path.clone();
                self.walk.report(code, At { span, path }, e.message, e.help);
                None
            }
        }
    }

    fn parse_profile(&mut self, name: &str, text: &str) -> Option<ProfileFile> {
        let source = self.sources.add(name, text)?;
        let node = self.walk.syntax(text, source)?;
        machine::read_profile(&mut self.walk, &node)
    }

    fn set(&mut self, root: &mut Node, path: &str, ron: &str) {
        let Some(source) = self.sources.add(&set_name(path, ron), ron) else {
            return;
        };
        let Some(node) = self.walk.syntax(ron, source) else {
            return;
        };
        if let Err(message) = sweep::set(root, path, &node) {
            let at = At {
                span: node.span,
                path: path.to_owned(),
            };
            self.walk.report(rules::BAD_PATH, at, message, None);
        }
    }

    /// Reads and checks one tree.
    fn draft(&mut self, root: &Node) -> Option<Draft> {
        self.senders = 0;
        let draft = file::read(self, root)?;
        check::check(&draft, &mut self.walk);
        Some(draft)
    }

    /// Checks each value of each axis alone.
    fn single_values(&mut self, root: &Node, axes: &[AxisDraft]) {
        for axis in axes {
            for value in &axis.values {
                let mut tree = root.clone();
                match sweep::set(&mut tree, &axis.path, value) {
                    Ok(()) => drop(self.draft(&tree)),
                    Err(message) => {
                        self.walk
                            .report(rules::BAD_PATH, axis.at.clone(), message, None);
                        break;
                    }
                }
            }
        }
    }

    /// Every combination of the axes' values; the last axis changes fastest.
    fn points(&mut self, root: &Node, axes: &[AxisDraft]) -> Vec<Point> {
        let total: usize = axes.iter().map(|a| a.values.len()).product();
        (0..total)
            .filter_map(|number| self.point(root, axes, number))
            .collect()
    }

    fn point(&mut self, root: &Node, axes: &[AxisDraft], number: usize) -> Option<Point> {
        let mut tree = root.clone();
        let mut values = Vec::new();
        let mut rest = number;
        let mut chosen = Vec::new();
        for axis in axes.iter().rev() {
            chosen.push((axis, &axis.values[rest % axis.values.len()]));
            rest /= axis.values.len();
        }
        for (axis, value) in chosen.into_iter().rev() {
            if let Err(message) = sweep::set(&mut tree, &axis.path, value) {
                self.walk
                    .report(rules::BAD_PATH, axis.at.clone(), message, None);
                return None;
            }
            values.push((axis.path.clone(), self.source_of(value.span)));
        }
        let before = self.walk.issues.len();
        let draft = self.draft(&tree)?;
        if self.walk.issues.len() > before {
            return None;
        }
        Some(Point::new(values, scenario::build(&draft)?))
    }

    /// The text of a value, on one line.
    fn source_of(&self, span: Span) -> String {
        let text = self
            .sources
            .text(span.source)
            .get(span.start as usize..span.end as usize)
            .unwrap_or("");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
