//! Cache lines of a world with their names: how often they moved, between whom, and for which fields.

use super::build::{Host, World};
use crate::kernel::Func;
use crate::machine::{Access, Pair};
use crate::metrics;
use crate::trace::WordName;

impl World {
    /// Every line that moved, in order of number.
    pub(super) fn lines(&self) -> Vec<metrics::Line> {
        let mut all = Vec::new();
        let (mut first_line, mut first_word) = (0, 0);
        for host in &self.hosts {
            let hitms = host.machine.word_hitms();
            let moves = host.machine.line_moves();
            let words = &self.names.words[first_word..first_word + hitms.len()];
            let mut lines: Vec<metrics::Line> = moves
                .iter()
                .enumerate()
                .map(|(i, &(transfers, hitm))| {
                    if transfers == 0 {
                        return metrics::Line::default();
                    }
                    let mut name = self.names.lines[first_line + i].name.clone();
                    if self.hosts.len() > 1 {
                        // Each host has lines of the same names.
                        name.insert_str(0, &format!("{}/", host.name));
                    }
                    metrics::Line {
                        name,
                        transfers,
                        hitm,
                        ..metrics::Line::default()
                    }
                })
                .collect();
            for (word, &hitm) in hitms.iter().enumerate().filter(|(_, h)| **h > 0) {
                let name = &words[word];
                let line = &mut lines[name.line as usize];
                line.hitm_by_field.push((name.name.clone(), hitm));
            }
            let (accesses, pairs) = host.machine.accesses();
            for a in accesses {
                let line = &mut lines[a.line as usize];
                if line.transfers > 0 {
                    line.accesses.push(access(host, words, &a));
                }
            }
            for (p, hitm) in pairs {
                lines[p.line as usize].pairs.push(pair(words, p, hitm));
            }
            for line in &mut lines {
                // Stable sorts: what is equal stays in order of word and function.
                line.accesses
                    .sort_by_key(|a| (a.offset.is_none(), a.offset));
                line.pairs.sort_by_key(|p| std::cmp::Reverse(p.hitm));
            }
            all.extend(lines.into_iter().filter(|l| l.transfers > 0));
            first_line += moves.len();
            first_word += hitms.len();
        }
        all
    }
}

fn field(words: &[WordName], word: Option<u32>) -> Option<&WordName> {
    words.get(word? as usize)
}

fn named(words: &[WordName], word: Option<u32>) -> String {
    field(words, word).map_or(String::new(), |w| w.name.clone())
}

fn function(number: u16) -> String {
    Func::from_number(number).name().to_owned()
}

fn access(host: &Host, words: &[WordName], a: &Access) -> metrics::Access {
    let first = host.machine.first_cpu();
    metrics::Access {
        field: named(words, a.word),
        offset: field(words, a.word).map(|w| w.offset),
        function: function(a.function),
        cpus: a.cpus.iter().map(|c| first + c).collect(),
        loads: a.loads,
        stores: a.stores,
        store_misses: a.store_misses,
        hitm_local: a.hitm_local,
        hitm_remote: a.hitm_remote,
    }
}

fn pair(words: &[WordName], p: Pair, hitm: u64) -> metrics::Pair {
    metrics::Pair {
        wrote: named(words, p.wrote),
        wrote_in: function(p.wrote_in),
        wanted: named(words, p.wanted),
        wanted_in: function(p.wanted_in),
        hitm,
    }
}
