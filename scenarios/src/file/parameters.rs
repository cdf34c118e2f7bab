//! Short names for what a scenario is swept over.

use crate::loader::Loading;
use crate::walk::Value;

pub(super) fn parameters(
    loading: &mut Loading<'_>,
    value: Option<Value<'_>>,
) -> Vec<(String, Vec<String>)> {
    let Some(value) = value else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (name, paths) in loading.walk.entries(&value) {
        let paths = loading.walk.list(&paths);
        let texts = paths
            .iter()
            .filter_map(|v| loading.walk.text(v))
            .map(|t| t.value);
        all.push((name.value, texts.collect()));
    }
    all
}
