//! What is said about kernels that go wrong, or that do not end: which threads, what they do, and where in the program.

use std::fmt::Write;

use warploom_exec::fault::{Cause, FaultKind, Place, Site, SiteInfo, Trap};

use crate::cluster::Cluster;
use crate::kernel::{CtaState, InterpretedKernel, State};
use crate::machine::Machine;
use crate::warp::{Group, Wait, Warp};

/// Places of one CTA that a report names.
const SHOWN: usize = 8;

/// Threads of a CTA that do the same at the same place.
struct Crowd {
    does: String,
    function: u32,
    pc: u32,
    /// `%tid` of the first one.
    first: [u32; 3],
    threads: u32,
}

impl InterpretedKernel {
    /// The fault that the machine has run into.
    pub(crate) fn trap(&self, machine: &mut Machine<'_>) -> Box<Trap> {
        let trouble = machine.fault.take();
        let (kind, lane) = match trouble {
            Some(trouble) => (trouble.kind, trouble.lane as usize),
            None => (FaultKind::Internal("a fault without a kind".into()), 0),
        };
        Box::new(Trap {
            cause: Cause::Known(kind),
            site: Some(site(machine.function_index(), machine.pc)),
            cta: Some(machine.cta.id),
            thread: Some([0, 1, 2].map(|axis| machine.warp.tid[axis][lane])),
        })
    }

    /// CTAs in which all threads that are left wait for each other.
    pub(crate) fn stuck(&self, state: &State) -> Box<Trap> {
        let text: String = self.whereabouts(state).lines().map(|line| format!("\n  {line}")).collect();
        let crowds = |cta| self.crowds(state.cluster.as_deref(), cta);
        let crowd = state.ctas.first().and_then(|cta| crowds(cta).into_iter().next());
        let site = crowd.map(|crowd| site(crowd.function, crowd.pc));
        Box::new(Trap { site, ..Trap::new(FaultKind::Stuck(text)) })
    }

    /// What is at a site of [`InterpretedKernel::trap`].
    pub(crate) fn site_info(&self, Site(number): Site) -> SiteInfo {
        SiteInfo { place: self.place((number >> 32) as u32, number as u32), access: None }
    }

    fn place(&self, function: u32, pc: u32) -> Place {
        let source = &self.program.functions[function as usize];
        let line = source.lines.get(pc as usize).copied().unwrap_or_default();
        Place {
            ptx_line: (line.ptx != 0).then_some(line.ptx),
            source: self.program.files.get(&line.file).filter(|_| line.line != 0).map(|file| (file.clone(), line.line)),
            function: (function != self.program.kernel).then(|| source.name.clone()),
            instruction: None,
        }
    }

    /// One line for all threads that do the same at the same place; with a cluster, under the CTA that they belong to.
    pub(crate) fn whereabouts(&self, state: &State) -> String {
        let mut text = String::new();
        for cta in &state.ctas {
            let crowds = self.crowds(state.cluster.as_deref(), cta);
            if state.ctas.len() > 1 && !crowds.is_empty() {
                let [x, y, z] = cta.shared.id;
                let _ = writeln!(text, "CTA ({x}, {y}, {z}) of the cluster:");
            }
            for crowd in crowds.iter().take(SHOWN) {
                let Crowd { does, first: [x, y, z], threads, .. } = crowd;
                let _ = write!(text, "thread ({x}, {y}, {z})");
                if *threads > 1 {
                    let _ = write!(text, " and {} more", threads - 1);
                }
                let _ = writeln!(text, ": {does}{}", located(&self.place(crowd.function, crowd.pc)));
            }
            if crowds.len() > SHOWN {
                let threads: u32 = crowds[SHOWN..].iter().map(|crowd| crowd.threads).sum();
                let _ = writeln!(text, "and {threads} threads at {} other places", crowds.len() - SHOWN);
            }
        }
        text
    }

    fn crowds(&self, cluster: Option<&Cluster>, cta: &CtaState) -> Vec<Crowd> {
        let mut crowds: Vec<Crowd> = Vec::new();
        for warp in &cta.warps {
            for group in &warp.groups {
                let does = activity(cluster, cta, warp, group);
                let function = warp.activations[group.activation as usize].function;
                let threads = group.mask.count_ones();
                let same =
                    |crowd: &&mut Crowd| (crowd.function, crowd.pc) == (function, group.pc) && crowd.does == does;
                if let Some(crowd) = crowds.iter_mut().find(same) {
                    crowd.threads += threads;
                    continue;
                }
                let lane = group.mask.trailing_zeros() as usize % 32;
                let first = [0, 1, 2].map(|axis| warp.tid[axis][lane]);
                crowds.push(Crowd { does, function, pc: group.pc, first, threads });
            }
        }
        crowds
    }
}

/// Sites are numbered by function and instruction.
fn site(function: u32, pc: u32) -> Site {
    Site(u64::from(function) << 32 | u64::from(pc))
}

fn activity(cluster: Option<&Cluster>, cta: &CtaState, warp: &Warp, group: &Group) -> String {
    match group.wait {
        Wait::Ready if warp.watch.waits() => "looking again and again whether memory has changed".to_owned(),
        Wait::Ready => "running".to_owned(),
        Wait::Sleep { .. } => "sleeping".to_owned(),
        Wait::Cluster { .. } => {
            let missing = cluster.map_or(0, Cluster::missing);
            format!("waiting at the barrier of the cluster, to which {missing} threads have yet to come,")
        }
        Wait::Barrier { id, .. } => {
            let (arrived, expected) = cta.shared.barriers.counts(id);
            format!("waiting at barrier {id}, to which {arrived} of {expected} threads have come,")
        }
        Wait::Warpgroup { .. } => "waiting for products of the other warps of its warpgroup".to_owned(),
        Wait::Rendezvous { members, .. } => {
            format!("waiting for lanes {:#x} of its warp", members & !warp.exited & !group.mask)
        }
    }
}

/// Where, as the rest of a sentence.
fn located(place: &Place) -> String {
    let mut text = String::new();
    match (&place.source, place.ptx_line) {
        (Some((file, line)), Some(ptx)) => text = format!(" at {file}:{line} (PTX line {ptx})"),
        (Some((file, line)), None) => text = format!(" at {file}:{line}"),
        (None, Some(ptx)) => text = format!(" at PTX line {ptx}"),
        (None, None) => {}
    }
    if let Some(function) = &place.function {
        let _ = write!(text, " in {function}");
    }
    text
}
