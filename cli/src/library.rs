//! Where scenarios come from: the `scenarios` crate, seen through what the commands need of it.

use scenarios::library;
pub use scenarios::{
    Bound, Expect, Explore, Loader, Point, Registry, Rejected, Scenario, Violations,
};
pub use scenarios::{ProfileFile, print_value};
use std::path::Path;

/// Name and question of every scenario that ships with the program.
pub fn builtins() -> impl Iterator<Item = (&'static str, &'static str)> {
    library::names().map(|name| {
        (
            name,
            library::question(library::text(name).unwrap_or_default()),
        )
    })
}

/// The built-in scenario that `file` names, with or without `.ron`.
fn builtin(file: &str) -> Option<&'static str> {
    let name = file.strip_suffix(".ron").unwrap_or(file);
    library::names().find(|known| *known == name)
}

/// Name and first line of every machine profile that scenarios may name.
pub fn machines(registry: &Registry) -> impl Iterator<Item = (&'static str, &'static str)> {
    registry.profile_names().map(|name| {
        (
            name,
            library::question(registry.profile_text(name).unwrap_or_default()),
        )
    })
}

/// The machine profile called `name`, and its text.
///
/// # Errors
/// If there is no such profile, or it is invalid.
pub fn profile<'r>(registry: &'r Registry, name: &str) -> Result<(ProfileFile, &'r str), String> {
    let text = registry
        .profile_text(name)
        .ok_or_else(|| format!("there is no machine profile {name}"))?;
    let file = ProfileFile::parse(name, text).map_err(|rejected| rejected.to_string())?;
    Ok((file, text))
}

/// Ids of the published rows that the machine profile called `name` says it was fitted to.
///
/// # Errors
/// As [`profile`].
pub fn fitted_rows(registry: &Registry, name: &str) -> Result<Vec<String>, String> {
    let (file, _) = profile(registry, name)?;
    Ok(file.fitted_rows().into_iter().map(str::to_owned).collect())
}

/// Why there is no scenario.
pub enum Problem {
    /// There is no such file, or it cannot be read.
    Missing(String),
    /// It has errors.
    Rejected(Box<Rejected>),
}

/// Loads a file, or else the built-in scenario of that name, with overrides.
///
/// # Errors
/// If there is neither, or it has errors.
pub fn load(
    registry: &Registry,
    file: &str,
    set: &[(String, String)],
) -> Result<Scenario, Problem> {
    let path = Path::new(file);
    let loader = loader(registry, set)?;
    let loaded = match builtin(file) {
        _ if path.is_file() => loader.load_file(path),
        Some(name) => loader.load_library(name),
        None => return Err(Problem::Missing(missing(path))),
    };
    loaded.map_err(|rejected| Problem::Rejected(Box::new(rejected)))
}

/// Loads the built-in scenario called `name`, whatever files there are.
///
/// # Errors
/// If there is none, or the overrides do not fit it.
pub fn load_builtin(
    registry: &Registry,
    name: &str,
    set: &[(String, String)],
) -> Result<Scenario, Box<Rejected>> {
    let loader = set
        .iter()
        .try_fold(Loader::new(registry), |loader, (path, value)| {
            loader.set(path, value)
        });
    loader
        .and_then(|loader| loader.load_library(name))
        .map_err(Box::new)
}

fn loader<'r>(registry: &'r Registry, set: &[(String, String)]) -> Result<Loader<'r>, Problem> {
    set.iter()
        .try_fold(Loader::new(registry), |loader, (path, value)| {
            loader.set(path, value)
        })
        .map_err(|rejected| Problem::Rejected(Box::new(rejected)))
}

fn missing(path: &Path) -> String {
    let shown = path.display();
    if path.is_dir() {
        return format!(
            "error: {shown} is a directory; name a scenario file in it, or write: skbsim test {shown}"
        );
    }
    let name = path.to_string_lossy();
    let near = library::names()
        .min_by_key(|known| distance(known, &name))
        .filter(|known| distance(known, &name) <= 3);
    let hint = near.map_or("`skbsim list` shows the built-in ones".to_owned(), |near| {
        format!("did you mean `{near}`?")
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
