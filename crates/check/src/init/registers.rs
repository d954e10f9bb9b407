//! Registers of a warp: which lanes hold values that nobody has written, or of which nobody has written some bytes.

use std::collections::HashMap;

use smallvec::SmallVec;
use warploom_exec::fault::Site;
use warploom_exec::observe::{Exchange, Idle, Piece, Space, Step};

/// Where a value comes from that nobody has written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// A register that was never written.
    Register,
    /// Memory, read at this instruction.
    Memory { site: Site, space: Space, address: u64 },
}

/// Bytes of a register of one lane, a bit for each.
pub(super) type Holes = u16;
/// All of them, whatever the width of the register.
pub(super) const ALL: Holes = Holes::MAX;

/// What of a register nobody has written.
#[derive(Clone, Debug)]
pub(super) struct Undefined {
    /// Lanes of whose value nobody has written something.
    pub(super) lanes: u32,
    pub(super) origin: Origin,
    /// The bytes of these lanes, if they are not all.
    bytes: Option<Box<[Holes; 32]>>,
}

impl Undefined {
    /// No lane yet.
    pub(super) fn none(origin: Origin) -> Undefined {
        Undefined { lanes: 0, origin, bytes: Some(Box::default()) }
    }

    /// All bytes of lanes.
    pub(super) fn whole(lanes: u32, origin: Origin) -> Undefined {
        Undefined { lanes, origin, bytes: None }
    }

    pub(super) fn add(&mut self, lane: u32, holes: Holes) {
        if let (Some(bytes), true) = (&mut self.bytes, holes != 0) {
            self.lanes |= 1 << lane;
            bytes[lane as usize] |= holes;
        }
    }

    pub(super) fn of_lane(&self, lane: u32) -> Holes {
        match &self.bytes {
            _ if self.lanes >> lane & 1 == 0 => 0,
            Some(bytes) => bytes[lane as usize],
            None => ALL,
        }
    }
}

/// What a register holds of which so many bytes were loaded, and some of them nobody has written. It is extended by what the last of them holds.
pub(super) fn loaded(bytes: impl Iterator<Item = u64>, count: u64) -> Holes {
    let holes = bytes.fold(0, |holes, byte| holes | 1 << byte);
    let beyond = if holes >> (count - 1) & 1 == 1 { ALL.checked_shl(count as u32).unwrap_or(0) } else { 0 };
    holes | beyond
}

/// What of a result nobody has written, after what of the operands.
pub(super) fn result(register: u32, operands: &[(u32, Undefined)], pieces: Option<&[Piece]>) -> Option<Undefined> {
    let (_, last) = operands.last()?;
    let Some(pieces) = pieces else {
        let lanes = operands.iter().fold(0, |lanes, (_, undefined)| lanes | undefined.lanes);
        return Some(Undefined::whole(lanes, last.origin));
    };
    let mut found = Undefined::none(last.origin);
    for piece in pieces.iter().filter(|piece| piece.to == register) {
        let Some((_, undefined)) = operands.iter().find(|(operand, _)| *operand == piece.from) else { continue };
        for lane in (0..32).filter(|lane| undefined.of_lane(*lane) >> piece.byte & 1 == 1) {
            found.origin = undefined.origin;
            found.add(lane, 1 << piece.at);
        }
    }
    Some(found).filter(|found| found.lanes != 0)
}

/// Those of a call of a function.
#[derive(Default)]
struct Frame {
    /// By register, the lanes of whose value nobody has written something, or which was computed with such a one.
    undefined: Vec<u32>,
    /// The bytes of these lanes, of registers where there was one of which they are not all.
    bytes: HashMap<u32, Box<[Holes; 32]>>,
    /// Why, where that is not that the register was never written.
    origins: HashMap<u32, Origin>,
}

impl Frame {
    fn undefined(&self, register: u32) -> u32 {
        self.undefined.get(register as usize).copied().unwrap_or(u32::MAX)
    }

    fn lanes(&mut self, register: u32) -> &mut u32 {
        let index = register as usize;
        if self.undefined.len() <= index {
            self.undefined.resize(index + 1, u32::MAX);
        }
        &mut self.undefined[index]
    }
}

/// Those of all calls of functions that the warp is in.
#[derive(Default)]
pub(super) struct Registers {
    activations: Vec<Frame>,
}

impl Registers {
    fn frame(&mut self, activation: u32) -> &mut Frame {
        let index = activation as usize;
        if self.activations.len() <= index {
            self.activations.resize_with(index + 1, Frame::default);
        }
        &mut self.activations[index]
    }

    /// A function begins: nothing is in its registers.
    pub(super) fn begin(&mut self, activation: u32) {
        *self.frame(activation) = Frame::default();
    }

    /// An instruction reads only what somebody has written, as nearly all do: so is then what it writes. False if it does not.
    #[inline]
    pub(super) fn passes(&mut self, activation: u32, step: &Step<'_>, mask: u32) -> bool {
        let frame = self.frame(activation);
        let undefined = step.reads.iter().fold(0, |lanes, &(register, _)| lanes | frame.undefined(register));
        if undefined & mask != 0 {
            return false;
        }
        for &register in step.writes {
            *frame.lanes(register) &= !mask;
        }
        true
    }

    /// Lanes of whose value nobody has written something.
    pub(super) fn undefined_lanes(&self, activation: u32, register: u32) -> u32 {
        self.activations.get(activation as usize).map_or(u32::MAX, |frame| frame.undefined(register))
    }

    /// Lanes in which an operand counts for nothing.
    pub(super) fn idle(&self, activation: u32, idle: &[Idle], register: u32) -> u32 {
        let about = idle.iter().filter(|idle| idle.register == register);
        about.fold(0, |lanes, idle| lanes | idle.lanes & !self.undefined_lanes(activation, idle.by))
    }

    /// What of a register nobody has written in the lanes of a mask.
    pub(super) fn undefined(&self, activation: u32, register: u32, mask: u32) -> Option<Undefined> {
        let lanes = mask & self.undefined_lanes(activation, register);
        let frame = self.activations.get(activation as usize);
        let origin = || frame.and_then(|frame| frame.origins.get(&register)).copied().unwrap_or(Origin::Register);
        let bytes = || frame.and_then(|frame| frame.bytes.get(&register)).cloned();
        (lanes != 0).then(|| Undefined { lanes, origin: origin(), bytes: bytes() })
    }

    /// Lanes get what others have given: that nobody has written what is so of those that a result hangs on.
    pub(super) fn exchange(&mut self, exchange: &Exchange<'_>) {
        let mut given: SmallVec<[Undefined; 2]> = SmallVec::new();
        let mut own: SmallVec<[Undefined; 2]> = SmallVec::new();
        for party in exchange.parties {
            let of = |&register: &u32| self.undefined(party.activation, register, party.lanes);
            given.extend(party.given.iter().filter_map(of));
            own.extend(party.own.iter().filter_map(of));
        }
        let lanes = given.iter().fold(0, |lanes, undefined| lanes | undefined.lanes);
        let mut results = given.iter().chain(&own).next().map(|first| Undefined::none(first.origin));
        if let Some(results) = &mut results {
            let members = exchange.parties.iter().fold(0, |lanes, party| lanes | party.lanes);
            for lane in (0..32u32).filter(|lane| members >> lane & 1 == 1) {
                if let Some(asks) = own.iter().find(|undefined| undefined.lanes >> lane & 1 == 1) {
                    results.origin = asks.origin;
                    results.add(lane, ALL);
                }
                let (from, alone) = (exchange.from[lane as usize], exchange.alone[lane as usize]);
                let decided = alone & !lanes != 0;
                let Some(source) = given.iter().find(|undefined| undefined.lanes & from != 0 && !decided) else {
                    continue;
                };
                results.origin = source.origin;
                // What one lane gives comes as it is.
                results.add(lane, if from.is_power_of_two() { source.of_lane(from.trailing_zeros()) } else { ALL });
            }
        }
        for party in exchange.parties {
            for &register in party.writes {
                self.write(party.activation, register, party.lanes, results.as_ref());
            }
        }
    }

    /// Lanes of a mask are written, with values of which nobody has written what `undefined` says.
    pub(super) fn write(&mut self, activation: u32, register: u32, mask: u32, undefined: Option<&Undefined>) {
        let frame = self.frame(activation);
        let lanes = frame.lanes(register);
        *lanes &= !mask;
        let Some(undefined) = undefined.filter(|undefined| undefined.lanes & mask != 0) else { return };
        *lanes |= undefined.lanes & mask;
        frame.origins.insert(register, undefined.origin);
        if undefined.bytes.is_some() || frame.bytes.contains_key(&register) {
            let bytes = frame.bytes.entry(register).or_insert_with(|| Box::new([ALL; 32]));
            for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
                bytes[lane as usize] = undefined.of_lane(lane);
            }
        }
    }
}
