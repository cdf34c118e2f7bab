//! What a scenario can name besides what it says itself: machine profiles and lockless variants.

use sim_core::kernel::sched::user::LocklessOps;
use sim_core::kernel::variant::{Builtin, Lockless};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The built-in machine profiles, by name.
const MACHINES: &[(&str, &str)] = &[
    (
        "broadwell-e5-1650v4",
        include_str!("../machines/broadwell-e5-1650v4.ron"),
    ),
    ("k8-2cpu", include_str!("../machines/k8-2cpu.ron")),
    ("k8-4cpu", include_str!("../machines/k8-4cpu.ron")),
    ("kunpeng-920", include_str!("../machines/kunpeng-920.ron")),
    ("oracle", include_str!("../machines/oracle.ron")),
    (
        "sandybridge-2c4t",
        include_str!("../machines/sandybridge-2c4t.ron"),
    ),
    (
        "sandybridge-ep",
        include_str!("../machines/sandybridge-ep.ron"),
    ),
    ("x86-skylake", include_str!("../machines/x86-skylake.ron")),
];

/// Names that scenarios may use: built-in ones, and those that a program adds.
///
/// ```
/// let registry = scenarios::Registry::new();
/// assert!(registry.profile_names().any(|name| name == "kunpeng-920"));
/// assert!(registry.variant("v0").is_some());
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    variants: BTreeMap<String, Arc<dyn LocklessOps>>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variants.keys()).finish()
    }
}

/// Why a variant was not registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegisterError {
    /// Another variant has this name.
    Taken(String),
    /// A scenario could not write this name: it is not a RON identifier.
    NotAName(String),
    /// [`LocklessOps::name`] says something else, so results would carry another name than scenarios.
    Differs(String, String),
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegisterError::Taken(name) => write!(f, "a lockless variant `{name}` exists already"),
            RegisterError::NotAName(name) => {
                write!(f, "`{name}` is not an identifier (letters, digits, `_`)")
            }
            RegisterError::Differs(name, own) => {
                write!(f, "registered as `{name}`, but calls itself `{own}`")
            }
        }
    }
}

impl std::error::Error for RegisterError {}

impl Registry {
    /// The built-in names.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds a lockless variant, so that scenarios can say `kernel: (lockless: name)`.
    ///
    /// # Errors
    /// If the name is taken, is no identifier, or is not what the variant calls itself.
    pub fn register(
        &mut self,
        name: &str,
        ops: Arc<dyn LocklessOps>,
    ) -> Result<&mut Registry, RegisterError> {
        let word = |c: char| c == '_' || c.is_ascii_alphanumeric();
        let reserved = ["true", "false", "None", "Some", "inf", "NaN"].contains(&name);
        if reserved
            || !name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
            || !name.chars().all(word)
        {
            return Err(RegisterError::NotAName(name.to_owned()));
        }
        if ops.name() != name {
            return Err(RegisterError::Differs(
                name.to_owned(),
                ops.name().to_owned(),
            ));
        }
        if self.variant(name).is_some() {
            return Err(RegisterError::Taken(name.to_owned()));
        }
        self.variants.insert(name.to_owned(), ops);
        Ok(self)
    }

    /// The lockless variant called `name`.
    pub fn variant(&self, name: &str) -> Option<Lockless> {
        let builtin = Builtin::from_name(name).map(Lockless::Builtin);
        builtin.or_else(|| {
            self.variants
                .get(name)
                .map(|ops| Lockless::User(Arc::clone(ops)))
        })
    }

    /// Names of all lockless variants: built-in ones first, then registered ones.
    pub fn variant_names(&self) -> impl Iterator<Item = &str> {
        Builtin::ALL
            .iter()
            .map(|b| b.name())
            .chain(self.variants.keys().map(String::as_str))
    }

    /// Names of the built-in machine profiles.
    pub fn profile_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        MACHINES.iter().map(|(name, _)| *name)
    }

    /// Text of the built-in machine profile called `name`.
    pub fn profile_text(&self, name: &str) -> Option<&'static str> {
        MACHINES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, text)| *text)
    }
}
