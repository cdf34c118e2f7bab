//! `ethtool -K`.
//!
//! Follows `net/ethtool/features.c`, `ethnl_set_features`: all names of one command are one request.

use super::bits::Features;
use super::device::DevId;
use super::set::{DeviceSet, Error, refused};

impl DeviceSet {
    /// `ethtool -K NAME FEATURE on|off ...`. Returns the features that changed, which may be others than were asked
    /// for: a wish may wait for what it depends on, and what depends on something switched off goes too.
    ///
    /// # Errors
    /// If a name is not known, or names something no user may ask for. Nothing is changed then.
    pub fn ethtool_set(&mut self, id: DevId, wishes: &[(&str, bool)]) -> Result<Features, Error> {
        let (mut mask, mut value) = (Features::NONE, Features::NONE);
        for &(name, on) in wishes {
            let Some(bits) = Features::from_ethtool(name) else {
                return refused("EINVAL", format!("`{name}` is no feature"));
            };
            let bits = bits & self.rules.known();
            mask |= bits;
            value = (value - bits) | bits.if_(on);
        }
        if mask.any(self.rules.never_change()) {
            let fixed = mask & self.rules.never_change();
            return refused("EINVAL", format!("{fixed}: not for users to change"));
        }
        let w = &mut self.dev_mut(id).words;
        let was = w.features;
        let wanted = (w.wanted_features - mask) | value;
        if wanted == w.wanted_features {
            return Ok(Features::NONE);
        }
        w.wanted_features = (w.wanted_features - w.hw_features) | (wanted & w.hw_features);
        self.update_core(id);
        let changed = self.dev(id).words.features ^ was;
        if !changed.is_empty() {
            self.feat_change(id);
        }
        Ok(changed)
    }
}
