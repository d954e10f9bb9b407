//! What the lanes of a warp give each other: `shfl` (PTX ISA 9.7.9.6), `vote`, `match`, `redux`, `elect` and `bar.warp.sync` (9.7.13.2, 9.7.13.8 to 9.7.13.12),
//! of operands that have been collected. Who waits for whom is the executors' business.

use warploom_exec::fault::FaultKind;
use warploom_numerics::exchange::{self, Reduction, Shuffle, Vote};
use warploom_ptx::ir::{BarrierOp, Op, ReduxOp, ScalarType, ShflMode, VoteMode};

use crate::machine::lanes;

/// What is exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ExchangeKind {
    Shfl(ShflMode),
    Vote(VoteMode),
    MatchAny,
    MatchAll,
    Redux { op: ReduxOp, signed: bool },
    ReduxF32 { max: bool, abs: bool, nan: bool },
    Elect,
    Barrier,
}

impl ExchangeKind {
    /// Of an operation whose lanes wait for each other, or tell each other something.
    pub fn of(op: &Op) -> Option<ExchangeKind> {
        Some(match op {
            Op::Shfl { mode, .. } => ExchangeKind::Shfl(*mode),
            Op::Vote { mode, .. } => ExchangeKind::Vote(*mode),
            Op::Match { all: true, .. } => ExchangeKind::MatchAll,
            Op::Match { all: false, .. } => ExchangeKind::MatchAny,
            &Op::Redux { op, ty: ScalarType::F32, abs, nan, .. } => {
                ExchangeKind::ReduxF32 { max: op == ReduxOp::Max, abs, nan }
            }
            Op::Redux { op, ty, .. } => ExchangeKind::Redux { op: *op, signed: ty.is_signed() },
            Op::Elect { .. } => ExchangeKind::Elect,
            Op::Barrier(BarrierOp::Warp { .. }) => ExchangeKind::Barrier,
            _ => return None,
        })
    }

    /// Tells rendezvous of different operations apart.
    pub fn key(self) -> u32 {
        match self {
            ExchangeKind::Shfl(mode) => mode as u32,
            ExchangeKind::Vote(mode) => 0x10 + mode as u32,
            ExchangeKind::MatchAny => 0x20,
            ExchangeKind::MatchAll => 0x21,
            ExchangeKind::Redux { op, signed } => 0x30 + 2 * op as u32 + u32::from(signed),
            ExchangeKind::ReduxF32 { max, abs, nan } => 0x40 + u32::from(max) + 2 * u32::from(abs) + 4 * u32::from(nan),
            ExchangeKind::Elect => 0x50,
            ExchangeKind::Barrier => 0x51,
        }
    }
}

/// The operands of all lanes that take part.
pub struct Operands {
    /// What is exchanged, or reduced.
    pub a: [u64; 32],
    /// The lane operand of `shfl`.
    pub b: [u32; 32],
    /// Its clamp operand.
    pub c: [u32; 32],
    /// The member mask of each.
    pub members: [u32; 32],
    /// Which lanes take part.
    pub mask: u32,
}

/// What a lane gets.
pub struct Results {
    /// In registers.
    pub d: [u32; 32],
    /// In predicates, a bit for each lane.
    pub p: u32,
}

/// The lanes of `mask` that are not in the member masks that they execute an exchange with, and the fault that this is on hardware if the mask is in
/// a register; lanes that are not in a constant take part (recorded: `tests/goldens/member_masks.json`).
pub fn no_members(members: &[u32; 32], mask: u32) -> Option<(u32, FaultKind)> {
    let strangers: u32 =
        lanes(mask).filter(|&lane| members[lane] >> lane & 1 == 0).fold(0, |set, lane| set | 1 << lane);
    (strangers != 0).then(|| {
        let lane = strangers.trailing_zeros();
        (strangers, FaultKind::IllegalInstruction(not_a_member(members[lane as usize], lane)))
    })
}

/// Says that a lane is not in the member mask that it executes an exchange with.
pub fn not_a_member(members: u32, lane: u32) -> String {
    format!("member mask {members:#010x} does not have lane {lane}, which executes it")
}

/// What the lanes of `operands.mask` get.
pub fn compute(kind: ExchangeKind, operands: &Operands) -> Results {
    let mut results = Results { d: [0; 32], p: 0 };
    if let ExchangeKind::Shfl(mode) = kind {
        for lane in lanes(operands.mask) {
            let (source, inside) =
                exchange::shuffle_source(shuffle(mode), lane as u32, operands.b[lane], operands.c[lane]);
            results.d[lane] = if operands.mask >> source & 1 != 0 { operands.a[source as usize] as u32 } else { 0 };
            results.p |= u32::from(inside) << lane;
        }
        return results;
    }
    let mut left = operands.mask;
    while left != 0 {
        let members = operands.members[left.trailing_zeros() as usize];
        let set = lanes(left).filter(|&lane| operands.members[lane] == members).fold(0, |set, lane| set | 1 << lane);
        left &= !set;
        reduce(kind, operands, set, &mut results);
    }
    results
}

pub(crate) fn shuffle(mode: ShflMode) -> Shuffle {
    match mode {
        ShflMode::Up => Shuffle::Up,
        ShflMode::Down => Shuffle::Down,
        ShflMode::Bfly => Shuffle::Bfly,
        ShflMode::Idx => Shuffle::Idx,
    }
}

fn reduction(op: ReduxOp) -> Reduction {
    match op {
        ReduxOp::Add => Reduction::Add,
        ReduxOp::And => Reduction::And,
        ReduxOp::Or => Reduction::Or,
        ReduxOp::Xor => Reduction::Xor,
        ReduxOp::Min => Reduction::Min,
        ReduxOp::Max => Reduction::Max,
    }
}

/// The operations whose lanes of one set agree on a result.
fn reduce(kind: ExchangeKind, operands: &Operands, set: u32, results: &mut Results) {
    let holds = lanes(set).fold(0, |all, lane| all | ((operands.a[lane] & 1) as u32) << lane);
    let mut give = |d: u32, p: bool| {
        for lane in lanes(set) {
            results.d[lane] = d;
        }
        if p {
            results.p |= set;
        }
    };
    match kind {
        ExchangeKind::Shfl(_) | ExchangeKind::Barrier => {}
        ExchangeKind::Vote(mode) => {
            let vote = Vote { voters: set.count_ones(), ayes: holds.count_ones() };
            let answer = match mode {
                VoteMode::All => vote.all(),
                VoteMode::Any => vote.any(),
                VoteMode::Uni => vote.uniform(),
                VoteMode::Ballot => false,
            };
            give(holds, answer);
        }
        ExchangeKind::MatchAny => {
            for lane in lanes(set) {
                results.d[lane] = lanes(set)
                    .filter(|&other| operands.a[other] == operands.a[lane])
                    .fold(0, |same, other| same | 1 << other);
            }
        }
        ExchangeKind::MatchAll => {
            let first = operands.a[set.trailing_zeros() as usize & 31];
            let same = lanes(set).all(|lane| operands.a[lane] == first);
            give(if same { set } else { 0 }, same);
        }
        ExchangeKind::Redux { op, signed } => {
            let value = lanes(set)
                .map(|lane| operands.a[lane] as u32)
                .reduce(|x, y| exchange::reduce(reduction(op), signed, x, y))
                .unwrap_or_default();
            give(value, false);
        }
        ExchangeKind::ReduxF32 { max, abs, nan } => {
            let alone = operands.a[set.trailing_zeros() as usize & 31] as u32;
            let value = lanes(set)
                .map(|lane| f32::from_bits(operands.a[lane] as u32))
                .fold(f32::from_bits(alone), |x, y| exchange::reduce_f32(x, y, max, abs, nan));
            give(value.to_bits(), false);
        }
        ExchangeKind::Elect => {
            let leader = set.trailing_zeros() & 31;
            give(leader, false);
            results.p |= 1 << leader;
        }
    }
}
