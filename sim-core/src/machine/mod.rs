//! Hardware (skeleton).
pub mod cost;
pub mod layout;
