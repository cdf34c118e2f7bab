//! Laws that hold across crates. There is no code here: see `tests/it`, one module a kind of law.
