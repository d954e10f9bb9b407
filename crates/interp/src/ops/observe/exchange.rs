//! Values that lanes give each other, told when all lanes have come, which may be at several instructions.

use warploom_exec::fault::Site;
use warploom_exec::observe::{Exchange, Party};
use warploom_numerics::exchange::shuffle_source;
use warploom_ptx::ir::{ReduxOp, VoteMode};

use crate::exchange::{ExchangeKind, Operands, shuffle};
use crate::machine::{Machine, lanes};

/// The registers of an exchange, by their numbers in the function.
#[derive(Clone, Debug)]
pub(crate) struct ToldExchange {
    pub(crate) site: Site,
    pub(crate) own: Vec<u32>,
    pub(crate) given: Option<u32>,
    pub(crate) writes: Vec<u32>,
}

/// Lanes that have come to an exchange, with the activation that they are in.
pub(crate) type Came<'a> = (&'a ToldExchange, u32, u32);

impl Machine<'_> {
    /// Tells that lanes give each other what `operands` has; no lane has got anything yet.
    pub(crate) fn tell_exchange(&mut self, kind: ExchangeKind, operands: &Operands, came: &[Came<'_>]) {
        let Some(mut observer) = self.cta.observer.take() else { return };
        if let Some((first, ..)) = came.first() {
            let parties: Vec<Party<'_>> = came.iter().map(|&came| party(came)).collect();
            let (from, alone) = decides(kind, operands);
            let at = self.at(first.site, operands.mask);
            observer.exchange(&at, &Exchange { parties: &parties, from: &from, alone: &alone });
        }
        self.cta.observer = Some(observer);
    }
}

fn party((told, activation, lanes): Came<'_>) -> Party<'_> {
    Party { activation, lanes, own: &told.own, given: told.given, writes: &told.writes }
}

/// For each lane those whose values its result hangs on, and those of them any of which decides it alone.
fn decides(kind: ExchangeKind, operands: &Operands) -> ([u32; 32], [u32; 32]) {
    let (mut from, mut alone) = ([0; 32], [0; 32]);
    for lane in lanes(operands.mask) {
        let among = operands.members[lane] & operands.mask;
        let of = |holds: &dyn Fn(u32) -> bool| {
            lanes(among).filter(|&other| holds(operands.a[other] as u32)).fold(0, |set, other| set | 1 << other)
        };
        (from[lane], alone[lane]) = match kind {
            ExchangeKind::Shfl(mode) => {
                let (source, _) = shuffle_source(shuffle(mode), lane as u32, operands.b[lane], operands.c[lane]);
                // What a lane gives that does not take part is not defined, whatever is in its register (PTX ISA 9.7.9.6).
                (operands.mask & 1u32.wrapping_shl(source), 0)
            }
            ExchangeKind::Vote(VoteMode::Any) => (among, of(&|value| value & 1 == 1)),
            ExchangeKind::Vote(VoteMode::All) => (among, of(&|value| value & 1 == 0)),
            ExchangeKind::Redux { op: ReduxOp::And, .. } => (among, of(&|value| value == 0)),
            ExchangeKind::Redux { op: ReduxOp::Or, .. } => (among, of(&|value| value == u32::MAX)),
            ExchangeKind::Vote(_)
            | ExchangeKind::MatchAny
            | ExchangeKind::MatchAll
            | ExchangeKind::Redux { .. }
            | ExchangeKind::ReduxF32 { .. } => (among, 0),
            ExchangeKind::Elect | ExchangeKind::Barrier => (0, 0),
        };
    }
    (from, alone)
}
