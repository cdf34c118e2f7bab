//! Where scenarios come from: the `scenarios` crate, seen through what the commands need of it.

pub use crate::standin::{
    Expect, Loader, MetricBound, Point, Registry, Rejected, Scenario, Violations, effective,
};
use std::path::Path;

/// A scenario that ships with the program.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name, the file name without `.ron`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

impl Builtin {
    /// The question it asks: the first sentence of its opening comment.
    pub fn question(&self) -> &'static str {
        opening(self.text)
    }
}

/// The first line of a file's opening comment.
pub fn opening(text: &str) -> &str {
    text.lines()
        .find_map(|line| line.strip_prefix("//"))
        .map_or("", str::trim)
}

/// Machine profiles that scenarios may name, with their text.
pub fn machines(registry: &Registry) -> impl Iterator<Item = (&'static str, &'static str)> {
    registry
        .profile_names()
        .map(|name| (name, registry.profile_text(name).unwrap_or_default()))
}

/// Ids of the published rows that the machine profile called `name` says it was fitted to.
pub fn fitted_rows(registry: &Registry, name: &str) -> Result<Vec<String>, String> {
    crate::standin::fitted_rows(registry, name)
}

/// Lockless variants that scenarios may name.
pub fn variants(registry: &Registry) -> impl Iterator<Item = &str> {
    registry.variant_names()
}

/// Every scenario that ships with the program, by name.
pub fn builtins() -> &'static [Builtin] {
    crate::standin::BUILTINS
}

/// The built-in scenario called `name`.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    let name = name.strip_suffix(".ron").unwrap_or(name);
    builtins().iter().find(|b| b.name == name)
}

/// Why there is no scenario.
pub enum Problem {
    /// There is no such file, or it cannot be read.
    Missing(String),
    /// It has errors.
    Rejected(Rejected),
}

/// Loads a file, or else the built-in scenario of that name, with overrides.
pub fn load(
    registry: &Registry,
    file: &str,
    set: &[(String, String)],
) -> Result<Scenario, Problem> {
    let path = Path::new(file);
    if path.is_file() {
        return loader(registry, set)?
            .load_file(path)
            .map_err(Problem::Rejected);
    }
    match builtin(file) {
        Some(found) => loader(registry, set)?
            .load_str(found.name, found.text)
            .map_err(Problem::Rejected),
        None => Err(Problem::Missing(missing(path))),
    }
}

/// Loads a text that ships with the program.
pub fn load_text(
    registry: &Registry,
    found: &Builtin,
    set: &[(String, String)],
) -> Result<Scenario, Problem> {
    loader(registry, set)?
        .load_str(found.name, found.text)
        .map_err(Problem::Rejected)
}

fn loader<'r>(registry: &'r Registry, set: &[(String, String)]) -> Result<Loader<'r>, Problem> {
    set.iter()
        .try_fold(Loader::new(registry), |loader, (path, value)| {
            loader.set(path, value)
        })
        .map_err(Problem::Rejected)
}

fn missing(path: &Path) -> String {
    let shown = path.display();
    if path.is_dir() {
        return format!(
            "error: {shown} is a directory; name a scenario file in it, or write: skbsim test {shown}"
        );
    }
    let name = path.to_string_lossy();
    let near = builtins()
        .iter()
        .filter(|b| distance(b.name, &name) <= 3)
        .min_by_key(|b| distance(b.name, &name));
    let hint = near.map_or("`skbsim list` shows the built-in ones".to_owned(), |b| {
        format!("did you mean `{}`?", b.name)
    });
    format!("error: {shown} is neither a file nor a built-in scenario; {hint}")
}

/// Number of single-character edits between two words.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn edits() {
        assert_eq!(distance("lockless", "lockless"), 0);
        assert_eq!(distance("lockless", "locklss"), 1);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
