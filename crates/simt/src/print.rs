//! The text form of what was found, for people and for tests.

use std::fmt::{Display, Formatter, Result};

use warploom_ptx::ir::{BarrierOp, BlockId, Body, Op};

use crate::access::{AccessKind, Pattern};
use crate::affine::Affine;
use crate::barrier::{BarrierControl, RegionStart};
use crate::divergence::successors;
use crate::info::KernelInfo;
use crate::lanes::Lanes;
use crate::lockstep::Lockstep;
use crate::pressure::{Pressure, VectorUnits, spills_often};
use crate::reason::Reason;
use crate::shape::{Extent, Shape};
use crate::values::ValueId;
use crate::wait::WaitKind;

impl Display for KernelInfo<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let function = &self.module.functions[self.function.0 as usize];
        let [x, y, z] = self.gangs.cta;
        writeln!(f, "kernel {}, CTAs of {x} x {y} x {z} threads, gangs of {}", function.name, self.gangs.width)?;
        let Some(body) = &function.body else { return Ok(()) };
        let view = View { info: self, body };
        view.values(f)?;
        view.flow(f)?;
        view.accesses(f)?;
        view.barriers(f)?;
        view.waits(f)?;
        let Pressure { varying, masks, uniform, carried } = self.pressure;
        write!(f, "  alive at once: {varying} varying words, {masks} masks, {uniform} words in common")?;
        if carried > 0 {
            write!(f, ", {carried} varying words from trip to trip")?;
        }
        write!(f, "; gangs of")?;
        for (at, units) in VectorUnits::ALL.into_iter().enumerate() {
            let name = ["AVX2", "AVX-512", "NEON"][at];
            write!(
                f,
                "{} {} for {name}",
                if at == 0 { "" } else { "," },
                units.width(self.pressure, spills_often(body))
            )?;
        }
        writeln!(f)
    }
}

struct View<'k> {
    info: &'k KernelInfo<'k>,
    body: &'k Body,
}

impl View<'_> {
    fn line(&self, inst: u32) -> u32 {
        self.body.insts[inst as usize].line
    }

    fn mnemonic(&self, inst: u32) -> &str {
        self.info.module.mnemonic(self.body.insts[inst as usize].mnemonic)
    }

    fn name(&self, id: ValueId) -> String {
        let value = self.info.values.get(id);
        let name = &self.body.regs[value.reg.0 as usize].name;
        let name = if name.is_empty() { format!("r{}", value.reg.0) } else { name.to_string() };
        if value.version == 0 { name } else { format!("{name}'{}", value.version) }
    }

    fn block(&self, block: u32) -> String {
        match &self.body.blocks[block as usize].label {
            Some(label) => format!("b{block} ({label})"),
            None => format!("b{block}"),
        }
    }

    /// The line of the branch that ends a block.
    fn branch(&self, block: u32) -> u32 {
        self.body.blocks[block as usize].terminator.line
    }

    fn values(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "  values")?;
        let mut order: Vec<(ValueId, u32)> =
            self.info.values.iter().map(|(id, value)| (id, value.defs.first().copied().unwrap_or(0))).collect();
        order.sort_by_key(|(_, inst)| *inst);
        for (id, _) in order {
            let value = self.info.values.get(id);
            let mut lines: Vec<String> = value.defs.iter().map(|inst| self.line(*inst).to_string()).collect();
            if value.undefined {
                lines.insert(0, "unwritten".to_owned());
            }
            writeln!(f, "    {} (line {}): {}", self.name(id), lines.join(", "), self.shape(self.info.shape(id)))?;
        }
        Ok(())
    }

    fn shape(&self, shape: &Shape) -> String {
        match shape {
            Shape::Unwritten => "nothing".to_owned(),
            Shape::Uniform(extent) => uniform(*extent).to_owned(),
            Shape::Affine(affine) => self.affine(affine),
            Shape::Varying(reason) => format!("varying, {}", self.reason(reason)),
        }
    }

    fn affine(&self, affine: &Affine) -> String {
        let mut out = format!("affine {}", pattern(&affine.lanes, &affine.directions));
        match affine.alignment {
            0 | 31.. => {}
            bits => out += &format!(", from a multiple of {}", 1u64 << bits),
        }
        out + &self.told_by(&affine.told_by)
    }

    fn told_by(&self, insts: &[u32]) -> String {
        let (guessed, widened): (Vec<u32>, Vec<u32>) =
            insts.iter().partition(|inst| self.info.guessed.contains_key(*inst));
        let lines =
            |insts: &[u32]| insts.iter().map(|inst| self.line(*inst).to_string()).collect::<Vec<_>>().join(", ");
        let mut out = String::new();
        if !widened.is_empty() {
            out += &format!(", unless what line {} widens has wrapped around", lines(&widened));
        }
        let is_steady = |inst: &u32| self.info.guessed.get(inst).is_some_and(|value| self.info.steady.contains(value));
        let (steady, guessed): (Vec<u32>, Vec<u32>) = guessed.into_iter().partition(is_steady);
        if !steady.is_empty() {
            out += &format!(
                ", if line {} finds lanes in the order that a parameter mostly leaves them in",
                lines(&steady)
            );
        }
        if !guessed.is_empty() {
            out += &format!(", if line {} finds lanes as if they had never parted", lines(&guessed));
        }
        out
    }

    fn reason(&self, reason: &Reason) -> String {
        let by = |inst: u32| format!("{} in line {}", self.mnemonic(inst), self.line(inst));
        match *reason {
            Reason::Operand { inst, value } => format!("{} from {}", by(inst), self.name(value)),
            Reason::Special { inst, reg } => format!("{}: %{reg} of CTAs of this shape", by(inst)),
            Reason::Address { inst, value } => format!("{}: the address {}", by(inst), self.name(value)),
            Reason::Ordered { inst } => format!("{}: each lane looks for itself", by(inst)),
            Reason::Local { inst } => format!("{}: each thread has memory of its own there", by(inst)),
            Reason::Atomic { inst } => format!("{}: one lane after the other", by(inst)),
            Reason::Exchange { inst } => format!("{}: from other lanes", by(inst)),
            Reason::Call { inst } => format!("{}: calls are not looked into", by(inst)),
            Reason::Opaque { inst } => format!("{}: not looked into", by(inst)),
            Reason::Guard { inst } => format!("{} under a guard that differs", by(inst)),
            Reason::OtherWay { branch, block } => {
                let (line, block) = (self.branch(branch), self.block(block));
                format!("lanes part at line {line}, and those in {block} read it while others write it")
            }
            Reason::Join { branch, block } => {
                format!("lanes part at line {} and meet at {}", self.branch(branch), self.block(block))
            }
            Reason::LeftLoop { branch } => {
                format!("lanes leave the loop at line {} in different trips", self.branch(branch))
            }
            Reason::Apart { inst } => format!("{}: at a time of each lane's own", by(inst)),
            Reason::Writes => "its writes have no pattern in common".to_owned(),
        }
    }

    fn flow(&self, f: &mut Formatter<'_>) -> Result {
        let divergence = &self.info.divergence;
        writeln!(f, "  flow")?;
        for block in 0..self.body.blocks.len() as u32 {
            let to: Vec<String> = successors(self.body, block).iter().map(|to| format!("b{to}")).collect();
            let to = if to.is_empty() { "the end".to_owned() } else { to.join(", ") };
            write!(f, "    {} to {to}", self.block(block))?;
            for inner in self.body.loops.iter().filter(|inner| inner.header() == BlockId(block)) {
                let end = inner.blocks.end - 1;
                write!(f, "; loop to b{end}{}", if inner.irreducible { ", entered in the middle" } else { "" })?;
            }
            if let Some(split) = divergence.splits.get(&block) {
                write!(f, "; lanes part at line {}", self.branch(block))?;
                match split.converges {
                    Some(meet) => write!(f, ", meet at b{meet}")?,
                    None => write!(f, ", do not meet")?,
                }
                for index in &split.loops {
                    write!(f, ", leave loop b{} in different trips", self.body.loops[*index as usize].blocks.start)?;
                }
            }
            if let Some(branch) = divergence.partial[block as usize] {
                write!(f, "; some lanes, since line {}", self.branch(branch))?;
            }
            if divergence.ended[block as usize] {
                write!(f, "; some may have ended")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn accesses(&self, f: &mut Formatter<'_>) -> Result {
        for access in &self.info.accesses {
            let kind = match access.kind {
                AccessKind::Load => "load",
                AccessKind::Store => "store",
                AccessKind::Atomic => "atomic",
            };
            let pattern = match &access.pattern {
                Pattern::Same(extent) => format!("one address, {}", uniform(*extent)),
                Pattern::Contiguous => "contiguous".to_owned(),
                Pattern::Strided(step) => format!("every {step} bytes"),
                Pattern::Known(lanes) => format!("at {lanes}"),
                Pattern::Scaled { lanes, directions } => format!("at {}", pattern(lanes, directions)),
                Pattern::Anywhere(value) => format!("anywhere, by {}", self.name(*value)),
            };
            let wraps = self.told_by(&access.told_by);
            let (line, space, bytes) = (self.line(access.inst), access.space, access.bytes);
            writeln!(f, "  line {line}: {space} {kind} of {bytes} bytes, {pattern}{wraps}")?;
        }
        Ok(())
    }

    fn barriers(&self, f: &mut Formatter<'_>) -> Result {
        let barriers = &self.info.barriers;
        if barriers.all.is_empty() {
            return Ok(());
        }
        for (inst, control) in &barriers.all {
            let yields = matches!(self.body.insts[*inst as usize].op, Op::Barrier(BarrierOp::Yield));
            let what = if yields { "turn of the other warps" } else { "barrier" };
            write!(f, "  line {}: {what}, ", self.line(*inst))?;
            match control {
                BarrierControl::Whole => writeln!(f, "of all threads together")?,
                BarrierControl::ByGang(branch) => {
                    writeln!(f, "which gangs come to differently, by line {}", self.branch(*branch))?
                }
                BarrierControl::ByLane(branch) => {
                    writeln!(f, "which lanes come to differently, by line {}", self.branch(*branch))?
                }
                BarrierControl::Counted => writeln!(f, "for some of the threads")?,
            }
        }
        for region in &barriers.regions {
            let blocks: Vec<String> = region.blocks.iter().map(|block| format!("b{block}")).collect();
            let ends: Vec<String> = region.barriers.iter().map(|inst| format!("line {}", self.line(*inst))).collect();
            let ends = ends.into_iter().chain(region.ends.then(|| "the end".to_owned())).collect::<Vec<_>>();
            let from = match region.start {
                RegionStart::Entry => "the entry".to_owned(),
                RegionStart::Barrier(inst) => format!("line {}", self.line(inst)),
            };
            let Pressure { varying, masks, uniform, .. } = region.kept;
            writeln!(
                f,
                "  region from {from} to {}: {}; keeps {varying} varying words, {masks} masks, {uniform} words in common",
                ends.join(", "),
                blocks.join(" ")
            )?;
        }
        Ok(())
    }

    fn waits(&self, f: &mut Formatter<'_>) -> Result {
        for wait in &self.info.waits {
            let whom = match wait.kind {
                WaitKind::OtherCtas => "other CTAs",
                WaitKind::OtherWarps => "other warps of the CTA",
                WaitKind::OwnWarp => "other lanes of the warp",
            };
            let header = self.body.loops[wait.index as usize].blocks.start;
            writeln!(
                f,
                "  loop b{header} may wait for {whom}, by {} in line {}",
                self.mnemonic(wait.inst),
                self.line(wait.inst)
            )?;
        }
        for inst in &self.info.split_exchanges {
            writeln!(f, "  line {}: {} may run with some of the lanes", self.line(*inst), self.mnemonic(*inst))?;
        }
        match self.info.lockstep {
            Some(Lockstep::Volatile) => {
                writeln!(f, "  volatile shared memory without bar.warp.sync: warps run in lockstep")?;
            }
            Some(Lockstep::ReadBack { store, load }) => {
                let [store, load] = [store, load].map(|inst| self.line(inst));
                writeln!(
                    f,
                    "  line {load} may load what other lanes store in line {store}, without a barrier: warps run in lockstep"
                )?;
            }
            None => {}
        }
        Ok(())
    }
}

/// Constants of lanes, and directions with a factor `n` of their own each.
fn pattern(lanes: &Lanes, directions: &[Lanes]) -> String {
    let constant = (directions.is_empty() || !lanes.is_zero()).then(|| lanes.to_string());
    let scaled = directions.iter().map(|direction| format!("n*{direction}"));
    constant.into_iter().chain(scaled).collect::<Vec<_>>().join(" + ")
}

const fn uniform(extent: Extent) -> &'static str {
    match extent {
        Extent::Cta => "same in the CTA",
        Extent::Gang => "same in the gang",
    }
}
