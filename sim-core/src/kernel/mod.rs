//! Linux by subsystem (skeleton).
pub mod cost;
pub mod sched {
    //! Packet schedulers (skeleton).
    pub mod user;
}
pub mod variant;
