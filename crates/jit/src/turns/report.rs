//! What is said of warps whose lanes go their own ways: which threads do what, and where.

use std::fmt::Write;

use warploom_exec::fault::{FaultKind, Place, Trap};
use warploom_exec::kernel::CtaExit;

use super::{Group, Run, Wait, Warp, Warps, Ways};

/// Places of one CTA that a report names.
const SHOWN: usize = 8;

impl Warps {
    /// All threads that are left wait for each other.
    pub(super) fn stuck(&self, run: &Run<'_>) -> CtaExit {
        let text: String = self.whereabouts(run.ways, run.shape).lines().map(|line| format!("\n  {line}")).collect();
        CtaExit::Fault(Box::new(Trap { cta: Some(run.cta), ..Trap::new(FaultKind::Stuck(text)) }))
    }

    /// One line for all threads that do the same at the same place.
    pub(crate) fn whereabouts(&self, ways: &Ways, shape: [u32; 3]) -> String {
        let mut crowds: Vec<(String, u32, u32)> = Vec::new();
        for (warp, number) in self.all.iter().zip(0..) {
            for group in &warp.groups {
                let does = self.activity(warp, group) + &located(&ways.places[group.place as usize]);
                let (first, threads) = (32 * number + group.mask.trailing_zeros(), group.mask.count_ones());
                match crowds.iter_mut().find(|(other, ..)| *other == does) {
                    Some((_, _, count)) => *count += threads,
                    None => crowds.push((does, first, threads)),
                }
            }
        }
        let mut text = String::new();
        let [x, y, _] = shape;
        for (does, first, threads) in crowds.iter().take(SHOWN) {
            let _ = write!(text, "thread ({}, {}, {})", first % x, first / x % y, first / (x * y));
            if *threads > 1 {
                let _ = write!(text, " and {} more", threads - 1);
            }
            let _ = writeln!(text, ": {does}");
        }
        if crowds.len() > SHOWN {
            let threads: u32 = crowds[SHOWN..].iter().map(|(_, _, threads)| threads).sum();
            let _ = writeln!(text, "and {threads} threads at {} other places", crowds.len() - SHOWN);
        }
        text
    }

    fn activity(&self, warp: &Warp, group: &Group) -> String {
        match group.wait {
            Wait::Ready if warp.seen.is_some() => "looking again and again whether memory has changed".to_owned(),
            Wait::Ready => "running".to_owned(),
            Wait::Barrier { id, .. } => {
                let (arrived, expected) = self.barriers.counts(id);
                format!("waiting at barrier {id}, to which {arrived} of {expected} threads have come,")
            }
            Wait::Cluster { .. } => {
                let missing = self.cluster.missing();
                format!("waiting at the barrier of the cluster, to which {missing} threads have yet to come,")
            }
            Wait::Warpgroup { .. } => "waiting for products of the other warps of its warpgroup".to_owned(),
            Wait::Exchange { members, .. } => {
                format!("waiting for lanes {:#x} of its warp", members & warp.alive & !group.mask)
            }
        }
    }
}

/// Where, as the rest of a sentence.
fn located(place: &Place) -> String {
    match (&place.source, place.ptx_line) {
        (Some((file, line)), Some(ptx)) => format!(" at {file}:{line} (PTX line {ptx})"),
        (Some((file, line)), None) => format!(" at {file}:{line}"),
        (None, Some(ptx)) => format!(" at PTX line {ptx}"),
        (None, None) => String::new(),
    }
}
