//! Predicates that threads of a CTA give to a barrier, and what they get: arrivals of other warps lie between the two.

use warploom_exec::fault::Site;
use warploom_exec::observe::{Vote, VotePart};

use crate::machine::Machine;

/// The registers of a `barrier.red`, by their numbers in the function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToldVote {
    pub(crate) site: Site,
    pub(crate) given: u32,
    pub(crate) written: u32,
    /// [`VotePart::Gets::decided`].
    pub(crate) decided: Option<bool>,
}

impl Machine<'_> {
    /// Tells that lanes are about to arrive at a barrier with predicates that hold in some of them.
    pub(crate) fn tell_given(&mut self, told: Option<u32>, (barrier, phase): (u32, u64), mask: u32, holds: u32) {
        self.tell_vote(told, mask, |told| {
            let part = VotePart::Gives { register: told.given, holds: holds & mask };
            Vote { barrier, phase, part }
        });
    }

    /// Tells that lanes get what a phase came to.
    pub(crate) fn tell_taken(&mut self, told: Option<u32>, (barrier, phase): (u32, u64), mask: u32) {
        self.tell_vote(told, mask, |told| {
            let part = VotePart::Gets { register: told.written, decided: told.decided };
            Vote { barrier, phase, part }
        });
    }

    fn tell_vote(&mut self, told: Option<u32>, mask: u32, vote: impl Fn(&ToldVote) -> Vote) {
        let Some(told) = told.map(|told| self.function.told_votes[told as usize]) else { return };
        let Some(mut observer) = self.cta.observer.take() else { return };
        observer.vote(&self.at(told.site, mask), &vote(&told));
        self.cta.observer = Some(observer);
    }
}
