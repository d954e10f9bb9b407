//! Barriers of CTAs and clusters, and operations of warps.

use std::collections::HashMap;

use warploom_exec::observe::{At, SyncEvent};

use super::Finding;

/// Lanes of a warp at a phase of an aligned barrier.
#[derive(Clone, Copy)]
struct Aligned {
    id: u32,
    phase: u64,
    at: At,
    /// Lanes that had neither exited nor come along.
    missing: u32,
    /// The lanes go on when the barrier is over, and not at once.
    waits: bool,
}

/// Lanes that wait in an operation of their warp.
#[derive(Clone, Copy)]
struct Meeting {
    members: u32,
    orders: bool,
    at: At,
}

#[derive(Default)]
struct Warp {
    aligned: Vec<Aligned>,
    meetings: Vec<Meeting>,
    exited: u32,
    /// Lanes that have arrived at the cluster's barrier and not waited, and where.
    cluster: Option<At>,
}

/// What the first to arrive in a phase of a barrier said.
#[derive(Clone, Copy)]
struct Phase {
    phase: u64,
    expected: Option<u32>,
    at: At,
}

/// Those of one CTA.
#[derive(Default)]
pub(super) struct Barriers {
    warps: HashMap<u32, Warp>,
    phases: HashMap<u32, Phase>,
}

/// Lanes as a text: their numbers.
pub(super) fn lanes(mask: u32) -> String {
    let mut text = String::new();
    let mut left = mask;
    while left != 0 {
        let first = left.trailing_zeros();
        let run = (left >> first).trailing_ones();
        let end = first + run - 1;
        let comma = if text.is_empty() { "" } else { ", " };
        text += &if run == 1 { format!("{comma}{first}") } else { format!("{comma}{first} to {end}") };
        left = if first + run == 32 { 0 } else { left >> (first + run) << (first + run) };
    }
    text
}

impl Barriers {
    /// What orders threads; `threads`: of the CTA.
    pub(super) fn sync(&mut self, at: &At, event: &SyncEvent<'_>, threads: u32, findings: &mut Vec<Finding>) {
        let warp = self.warps.entry(at.warp).or_default();
        match *event {
            SyncEvent::BarrierArrive { id, expected, waits, aligned, missing, phase } => {
                if aligned {
                    warp.come(Aligned { id, phase, at: *at, missing, waits }, findings);
                }
                self.count(at, id, phase, expected, threads, findings);
            }
            SyncEvent::BarrierPass { id } => warp.go(at, id, findings),
            SyncEvent::WarpArrive { members, orders, .. } => warp.meet(at, members, orders, findings),
            SyncEvent::WarpPass { members, orders } => {
                for meeting in warp.meetings.iter_mut().filter(|m| m.members == members && m.orders == orders) {
                    meeting.at.mask &= !at.mask;
                }
                warp.meetings.retain(|meeting| meeting.at.mask != 0);
            }
            SyncEvent::ClusterArrive { .. } => match &mut warp.cluster {
                Some(before) if before.mask & at.mask != 0 => {
                    let again = At { mask: before.mask & at.mask, ..*at };
                    let text = "arrival at the cluster's barrier by threads that have arrived before and not waited";
                    findings.push(
                        Finding::new("cluster-barrier", &again, text.to_owned()).with(*before, "they arrived here"),
                    );
                    before.mask |= at.mask;
                }
                Some(before) => before.mask |= at.mask,
                none => *none = Some(*at),
            },
            SyncEvent::ClusterPass => {
                let left = warp.cluster.filter(|before| before.mask & !at.mask != 0);
                warp.cluster = left.map(|before| At { mask: before.mask & !at.mask, ..before });
            }
            SyncEvent::Exit => warp.exited |= at.mask,
            _ => {}
        }
    }

    /// All threads that arrive in a phase give the same number, which can be reached.
    fn count(
        &mut self,
        at: &At,
        id: u32,
        phase: u64,
        expected: Option<u32>,
        threads: u32,
        findings: &mut Vec<Finding>,
    ) {
        let first = self.phases.entry(id).or_insert(Phase { phase, expected, at: *at });
        if first.phase != phase {
            *first = Phase { phase, expected, at: *at };
        }
        // "For .sync and .red, 0 is all threads", as no number is.
        let number = |expected: Option<u32>| expected.filter(|&count| count != 0);
        let words = |expected: Option<u32>| match expected {
            Some(count) => format!("{count} threads"),
            None => "all threads".to_owned(),
        };
        let (mine, theirs) = (number(expected), number(first.expected));
        // All threads are as many as there are.
        let whole = threads.next_multiple_of(32);
        if mine.unwrap_or(whole) != theirs.unwrap_or(whole) {
            let text = format!("barrier {id} is for {} here, and for {} where others are", words(mine), words(theirs));
            findings.push(Finding::new("barrier-count", at, text).with(first.at, "the first to arrive came here"));
        } else if mine.is_some_and(|count| count > whole) {
            let text = format!("barrier {id} waits for {}, and the CTA has {threads}", words(mine));
            findings.push(Finding::new("barrier-count", at, text));
        }
    }

    /// What still waits at barriers, where a grid has been stopped.
    pub(super) fn left(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for warp in self.warps.values() {
            for aligned in warp.aligned.iter().filter(|aligned| aligned.missing & !warp.exited != 0) {
                let together = warp.aligned.iter().filter(|other| other.at.site == aligned.at.site);
                let there = together.fold(0, |mask, other| mask | other.at.mask);
                if aligned.missing & !warp.exited & !there != 0 {
                    let text = divergent(aligned.id, aligned.missing & !there);
                    findings.push(Finding::new("divergent-barrier", &aligned.at, text));
                }
            }
        }
        findings
    }
}

fn divergent(id: u32, missing: u32) -> String {
    format!(
        "divergent barrier {id}: lanes {} of the warp are not there, and all must execute it together",
        lanes(missing)
    )
}

impl Warp {
    /// Lanes come to a barrier that all lanes must execute together: they may come one after another, but to the same instruction.
    fn come(&mut self, here: Aligned, findings: &mut Vec<Finding>) {
        let elsewhere = self
            .aligned
            .iter()
            .find(|other| other.at.site != here.at.site && (other.id != here.id || other.phase == here.phase));
        if let Some(other) = elsewhere {
            let text = format!("threads of one warp at different barriers: lanes {} are here", lanes(here.at.mask));
            findings
                .push(Finding::new("divergent-barrier", &here.at, text).with(other.at, "others of the warp wait here"));
        }
        self.aligned.push(here);
        // Who does not wait is gone as soon as all have come.
        let together = self.aligned.iter().filter(|entry| !entry.waits && entry.at.site == here.at.site);
        let there = together.fold(self.exited, |mask, entry| mask | entry.at.mask);
        if !here.waits && here.missing & !there == 0 {
            self.aligned.retain(|entry| entry.waits || entry.at.site != here.at.site);
        }
    }

    /// Lanes go on behind the barrier.
    fn go(&mut self, at: &At, id: u32, findings: &mut Vec<Finding>) {
        let Some(index) = self.aligned.iter().position(|entry| entry.id == id && entry.at.mask & at.mask != 0) else {
            return;
        };
        let Aligned { phase, at: came, .. } = self.aligned[index];
        let together = self.aligned.iter().filter(|entry| entry.id == id && entry.phase == phase);
        let (mut there, mut missing) = (0, 0);
        for entry in together {
            there |= entry.at.mask;
            missing |= entry.missing;
        }
        missing &= !there & !self.exited;
        if missing != 0 {
            findings.push(Finding::new("divergent-barrier", &came, divergent(id, missing)));
        }
        self.aligned.retain(|entry| entry.id != id || entry.phase != phase);
    }

    /// Lanes come to an operation of `members`.
    fn meet(&mut self, at: &At, members: u32, orders: bool, findings: &mut Vec<Finding>) {
        let strangers = at.mask & !members;
        if strangers != 0 {
            let text =
                format!("member mask {members:#010x} does not have lanes {}, which execute it", lanes(strangers));
            findings.push(Finding::new("member-mask", &At { mask: strangers, ..*at }, text));
        }
        let waits_for_other = |other: &&Meeting| {
            let each = other.at.mask & members != 0 && at.mask & other.members != 0;
            each && (other.members != members || other.orders != orders) && other.at.mask & at.mask == 0
        };
        if let Some(other) = self.meetings.iter().find(waits_for_other) {
            let text = format!(
                "lanes {} wait here for {members:#010x}, and some of these wait for {:#010x} elsewhere",
                lanes(at.mask),
                other.members
            );
            findings.push(Finding::new("member-mask", at, text).with(other.at, "they wait here"));
        }
        self.meetings.push(Meeting { members, orders, at: *at });
    }
}

#[cfg(test)]
mod tests {
    use super::lanes;

    #[test]
    fn lanes_are_told_in_runs() {
        assert_eq!(lanes(0b1011), "0 to 1, 3");
        assert_eq!(lanes(u32::MAX), "0 to 31");
        assert_eq!(lanes(1 << 31 | 1), "0, 31");
    }
}
