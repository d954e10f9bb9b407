//! What is kept of a kernel: its object file, and what it asks of the executor. Numbers are little-endian.
//!
//! `magic, key, length, checksum`, then so many bytes: what becomes of the kernel, stack, frames, local memory, sites, steps, stops, object.

use std::num::NonZeroU32;

use sha2::{Digest, Sha256};
use warploom_ptx::ir::{FunctionId, LocId, Reg, Space, Step};
use warploom_simt::AccessKind;
use warploom_simt::codegen::{LocalLayout, SiteKind, Stop, StopKind, Turns};

use super::key::Key;

const MAGIC: [u8; 8] = *b"wlcode\x07\n";
const HEAD: usize = 8 + 32 + 8 + 32;

/// What was made of a kernel for CTAs of one shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    /// Nothing, and why.
    Declined(String),
    Compiled(Box<Parts>),
    /// The object file of what follows where a team is left.
    Apart(Vec<u8>),
}

/// A compiled kernel, but for what its module says of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parts {
    /// Bytes of stack that its code needs ([`crate::llvm::Made`]).
    pub(crate) stack: u32,
    pub(crate) sites: Vec<SiteKind>,
    pub(crate) frames: u32,
    pub(crate) local: LocalLayout,
    pub(crate) steps: Vec<Step>,
    pub(crate) stops: Vec<Stop>,
    pub(crate) turns: Option<Turns>,
    /// Of a kernel with teams: the digest of its text, by which that of what follows where they are left is known to go with it.
    pub(crate) apart: Option<[u8; 32]>,
    pub(crate) object: Vec<u8>,
}

const STOPS: [StopKind; 4] = [StopKind::Trap, StopKind::NoFunction, StopKind::NoMulticast, StopKind::NotAMember];
const KINDS: [AccessKind; 3] = [AccessKind::Load, AccessKind::Store, AccessKind::Atomic];

impl Entry {
    pub(crate) fn encode(&self, key: &Key) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&key.0);
        out.resize(HEAD, 0);
        match self {
            Entry::Declined(why) => {
                out.push(0);
                out.extend_from_slice(why.as_bytes());
            }
            Entry::Compiled(parts) => {
                out.push(1);
                parts.encode(&mut out);
            }
            Entry::Apart(object) => {
                out.push(2);
                out.extend_from_slice(object);
            }
        }
        let (head, body) = out.split_at_mut(HEAD);
        head[40..48].copy_from_slice(&(body.len() as u64).to_le_bytes());
        head[48..].copy_from_slice(&Sha256::digest(&*body));
        out
    }

    /// # Errors
    /// What is wrong with the bytes.
    pub(crate) fn decode(bytes: &[u8], key: &Key) -> Result<Entry, &'static str> {
        let (head, body) = bytes.split_at_checked(HEAD).ok_or("it is truncated")?;
        if head[..8] != MAGIC {
            return Err("it is no compiled code");
        }
        if head[8..40] != key.0 {
            return Err("it was made of something else");
        }
        if head[40..48] != (body.len() as u64).to_le_bytes() {
            return Err("it is truncated");
        }
        if head[48..] != *Sha256::digest(body) {
            return Err("its checksum is wrong");
        }
        let mut input = Input(body);
        let malformed = "it is malformed";
        match input.byte().ok_or(malformed)? {
            0 => Ok(Entry::Declined(String::from_utf8_lossy(input.0).into_owned())),
            1 => Parts::decode(&mut input).map(|parts| Entry::Compiled(Box::new(parts))).ok_or(malformed),
            2 => Ok(Entry::Apart(input.0.to_vec())),
            _ => Err(malformed),
        }
    }
}

impl Parts {
    fn encode(&self, out: &mut Vec<u8>) {
        let word = |out: &mut Vec<u8>, word: u32| out.extend_from_slice(&word.to_le_bytes());
        let LocalLayout { size, stride, word: bytes } = self.local;
        for number in [self.stack, self.frames, size, stride, bytes, self.sites.len() as u32] {
            word(out, number);
        }
        for site in &self.sites {
            let kind = KINDS.iter().position(|kind| *kind == site.kind);
            let space = Space::ALL.iter().position(|space| *space == site.space);
            out.extend([kind, space].map(|at| at.map_or(u8::MAX, |at| at as u8)));
            out.extend([site.kept_back, site.nontemporal].map(u8::from));
            out.extend_from_slice(&site.need.to_le_bytes());
            for number in [site.parameter.unwrap_or(u32::MAX), site.bytes, site.function.0, site.line, site.inst] {
                word(out, number);
            }
        }
        word(out, self.steps.len() as u32);
        for step in &self.steps {
            word(out, step.function.0);
            word(out, step.inst);
            for registers in [&step.reads, &step.writes] {
                word(out, registers.len() as u32);
                registers.iter().for_each(|Reg(number)| word(out, *number));
            }
            out.extend(step.kept.map(u8::from));
        }
        word(out, self.stops.len() as u32);
        for stop in &self.stops {
            out.push(STOPS.iter().position(|kind| *kind == stop.kind).map_or(u8::MAX, |at| at as u8));
            word(out, stop.function.0);
            word(out, stop.line);
            word(out, stop.loc.map_or(0, |LocId(number)| number.get()));
        }
        out.push(u8::from(self.turns.is_some()));
        if let Some(Turns { places, meetings, cleared, looking }) = &self.turns {
            for pairs in [places, cleared, looking] {
                word(out, pairs.len() as u32);
                pairs.iter().flat_map(|(one, other)| [one, other]).for_each(|number| word(out, *number));
            }
            word(out, meetings.len() as u32);
            meetings.iter().for_each(|inst| word(out, *inst));
        }
        out.push(u8::from(self.apart.is_some()));
        out.extend(self.apart.iter().flatten());
        out.extend_from_slice(&self.object);
    }

    fn decode(input: &mut Input<'_>) -> Option<Parts> {
        let (stack, frames) = (input.word()?, input.word()?);
        let local = LocalLayout { size: input.word()?, stride: input.word()?, word: input.word()? };
        let count = input.count()?;
        let sites = (0..count).map(|_| {
            let kind = *KINDS.get(usize::from(input.byte()?))?;
            let space = *Space::ALL.get(usize::from(input.byte()?))?;
            let [kept_back, nontemporal] = [input.byte()? != 0, input.byte()? != 0];
            let need = u64::from_le_bytes(input.take()?);
            let parameter = Some(input.word()?).filter(|offset| *offset != u32::MAX);
            let (bytes, function) = (input.word()?, FunctionId(input.word()?));
            let (line, inst) = (input.word()?, input.word()?);
            Some(SiteKind { kind, space, bytes, need, kept_back, nontemporal, parameter, function, line, inst })
        });
        let sites = sites.collect::<Option<_>>()?;
        let count = input.count()?;
        let steps = (0..count).map(|_| {
            let (function, inst) = (FunctionId(input.word()?), input.word()?);
            let (reads, writes) = (input.registers()?, input.registers()?);
            Some(Step { function, inst, reads, writes, kept: [input.byte()? != 0, input.byte()? != 0] })
        });
        let steps = steps.collect::<Option<_>>()?;
        let count = input.count()?;
        let stops = (0..count).map(|_| {
            let kind = *STOPS.get(usize::from(input.byte()?))?;
            let function = FunctionId(input.word()?);
            Some(Stop { kind, function, line: input.word()?, loc: NonZeroU32::new(input.word()?).map(LocId) })
        });
        let stops = stops.collect::<Option<_>>()?;
        let turns = match input.byte()? {
            0 => None,
            _ => {
                let mut pairs = || {
                    let count = input.count()?;
                    (0..count).map(|_| Some((input.word()?, input.word()?))).collect::<Option<_>>()
                };
                let (places, cleared, looking) = (pairs()?, pairs()?, pairs()?);
                let count = input.count()?;
                let meetings = (0..count).map(|_| input.word()).collect::<Option<_>>()?;
                Some(Turns { places, meetings, cleared, looking })
            }
        };
        let apart = match input.byte()? {
            0 => None,
            _ => Some(input.take()?),
        };
        Some(Parts { stack, sites, frames, local, steps, stops, turns, apart, object: input.0.to_vec() })
    }
}

/// What is left to be read.
struct Input<'b>(&'b [u8]);

impl Input<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, left) = self.0.split_first_chunk()?;
        self.0 = left;
        Some(*taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn word(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    /// A number of things, each of which takes bytes.
    fn count(&mut self) -> Option<u32> {
        self.word().filter(|count| *count as usize <= self.0.len())
    }

    fn registers(&mut self) -> Option<Vec<Reg>> {
        let count = self.count()?;
        (0..count).map(|_| self.word().map(Reg)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Entry {
        let (bytes, need, line, inst) = (4, 1 << 40, 7, 9);
        let (kept_back, nontemporal, parameter) = (true, false, Some(8));
        let function = FunctionId(3);
        let site = |kind, space| SiteKind {
            kind,
            space,
            bytes,
            need,
            kept_back,
            nontemporal,
            parameter,
            function,
            line,
            inst,
        };
        Entry::Compiled(Box::new(Parts {
            stack: 20_000,
            sites: vec![site(AccessKind::Load, Space::Generic), site(AccessKind::Atomic, Space::Shared)],
            frames: 4096,
            local: LocalLayout { size: 16, stride: 32, word: 4 },
            steps: vec![Step { function, inst: 3, reads: vec![Reg(1), Reg(500)], writes: vec![], kept: [true, false] }],
            stops: vec![
                Stop { kind: StopKind::Trap, function, line: 12, loc: None },
                Stop { kind: StopKind::NoFunction, function, line: 13, loc: NonZeroU32::new(4).map(LocId) },
            ],
            turns: Some(Turns {
                places: vec![(0, 3), (7, 9)],
                meetings: vec![7],
                cleared: vec![(64, 128)],
                looking: vec![(64, 4), (192, 128)],
            }),
            apart: Some([5; 32]),
            object: b"any bytes".to_vec(),
        }))
    }

    #[test]
    fn what_is_written_reads_back() {
        let key = Key([7; 32]);
        let others = [Entry::Declined("it waits".to_owned()), Entry::Apart(b"bytes".to_vec())];
        for entry in others.into_iter().chain([example()]) {
            assert_eq!(Entry::decode(&entry.encode(&key), &key), Ok(entry));
        }
    }

    #[test]
    fn every_damage_is_noticed() {
        let key = Key([7; 32]);
        let bytes = example().encode(&key);
        for at in 0..bytes.len() {
            assert!(Entry::decode(&bytes[..at], &key).is_err(), "cut at {at}");
            for bit in [1, 0x80] {
                let mut damaged = bytes.clone();
                damaged[at] ^= bit;
                assert!(Entry::decode(&damaged, &key).is_err(), "byte {at}");
            }
        }
        assert!(Entry::decode(&bytes, &Key([8; 32])).is_err());
    }

    #[test]
    fn a_body_with_a_right_checksum_is_still_looked_at() {
        let key = Key([7; 32]);
        let body = example().encode(&key)[HEAD..].to_vec();
        for at in 0..body.len() {
            for value in [0, 0x7f, 0xff] {
                let mut body = body.clone();
                body[at] = value;
                let mut bytes =
                    [&MAGIC[..], &key.0, &(body.len() as u64).to_le_bytes(), &Sha256::digest(&body)].concat();
                bytes.extend_from_slice(&body);
                // Whatever it is, reading it ends.
                let _ = Entry::decode(&bytes, &key);
            }
        }
    }
}
