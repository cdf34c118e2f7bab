//! `explore: (..)`: how the schedules of a scenario are searched.

use crate::explore::Explore;
use crate::loader::Loading;
use crate::rules;
use crate::schema;
use crate::walk::Value;
use std::fmt::Display;
use std::str::FromStr;

pub(super) fn read(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<Explore> {
    let obj = loading
        .walk
        .obj(&value.node, &value.path, &schema::EXPLORE, &[])?;
    let size = obj.given("size").map(|v| parsed(loading, &v));
    let schedule = obj.given("schedule").map(|v| parsed(loading, &v));
    let preemptions = obj
        .get("preemptions")
        .and_then(|v| loading.walk.count32(&v, 0, 8));
    let deviations = obj
        .get("deviations")
        .and_then(|v| loading.walk.count32(&v, 0, 4));
    let mut repair = Vec::new();
    if let Some(map) = obj.get("repair") {
        for (path, value) in loading.walk.entries(&map) {
            if let Some(text) = loading.walk.text(&value) {
                repair.push((path.value, text.value));
            }
        }
    }
    // One that is wrong was reported; it must not be taken for one that is absent.
    let known = |given: Option<Option<()>>| given != Some(None);
    if !known(size.as_ref().map(|s| s.as_ref().map(|_| ())))
        || !known(schedule.as_ref().map(|s| s.as_ref().map(|_| ())))
    {
        return None;
    }
    Some(Explore {
        size: size.flatten(),
        preemptions: preemptions?.value,
        deviations: deviations?.value,
        schedule: schedule.flatten(),
        repair,
    })
}

/// A text that is read by its type's own rules.
fn parsed<T: FromStr<Err: Display>>(loading: &mut Loading<'_>, value: &Value<'_>) -> Option<T> {
    let text = loading.walk.text(value)?;
    match text.value.parse() {
        Ok(parsed) => Some(parsed),
        Err(error) => {
            let message = T::Err::to_string(&error);
            loading.walk.report(rules::SCHEDULE, text.at, message, None);
            None
        }
    }
}
