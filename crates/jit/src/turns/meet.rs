//! Lanes come to where they meet others: exchanges, barriers, those of clusters, waits for products of warpgroups.

use warploom_exec::fault::FaultKind;
use warploom_exec::kernel::CtaExit;
use warploom_interp::exchange::{ExchangeKind, no_members};
use warploom_interp::{Arrival, BARRIERS};
use warploom_ptx::ir::BarrierReduction;

use super::{Meeting, Run, Wait, Warps, holders};

impl Warps {
    /// Lanes have come to a meeting.
    pub(super) fn meet(&mut self, number: u32, came: u32, meeting: u32, run: &mut Run<'_>) -> Result<(), CtaExit> {
        if came == 0 {
            return Ok(());
        }
        match run.ways.meetings[meeting as usize] {
            Meeting::Exchange { kind, varies } => {
                if varies && let Some((lanes, kind)) = no_members(&run.head(number).members, came) {
                    let site = run.ways.site + u64::from(meeting);
                    return Err(run.fault(kind, Some(site), 32 * number + lanes.trailing_zeros()));
                }
                self.come_to_exchange(number, came, kind, run);
            }
            Meeting::ClusterArrive => {
                self.cluster.arrive(number, came);
                self.stand(number, came, run);
            }
            Meeting::ClusterWait => {
                // Who has not arrived in this phase waits for nobody.
                let waiting = self.cluster.waiting(number, came);
                self.stand(number, came & !waiting, run);
                if waiting != 0 {
                    let place = run.head(number).place;
                    let wait = Wait::Cluster { phase: self.cluster.phases() };
                    self.all[number as usize].park(place, waiting, wait);
                }
            }
            Meeting::WarpgroupWait => {
                let warp = &mut self.all[number as usize];
                let place = run.head(number).place;
                warp.park(place, came, Wait::Warpgroup { times: warp.waits.0 + 1 });
                warp.waits.1 |= came;
                if warp.alive & !warp.waits.1 == 0 {
                    warp.waits = (warp.waits.0 + 1, 0);
                }
            }
            Meeting::Barrier { waits, reduces, known } => {
                let site = run.ways.site + u64::from(meeting);
                return self.come_to_barrier(number, came, (waits, reduces, known), site, run);
            }
        }
        Ok(())
    }

    fn come_to_exchange(&mut self, number: u32, came: u32, kind: ExchangeKind, run: &mut Run<'_>) {
        let warp = &mut self.all[number as usize];
        let head = run.head(number);
        let place = head.place;
        // Lanes of one instruction may belong to several sets: each waits for its own.
        let others = head.members.map(|members| members & warp.alive & !came);
        let complete = came & holders(&others, 0);
        if complete != 0 {
            head.exchange(kind, complete);
            warp.park(place, complete, Wait::Ready);
        }
        let mut left = came & !complete;
        while left != 0 {
            let members = head.members[left.trailing_zeros() as usize];
            let same = left & holders(&head.members, members);
            left &= !same;
            warp.park(place, same, Wait::Exchange { members, key: kind.key(), kind });
        }
    }

    fn come_to_barrier(
        &mut self,
        number: u32,
        came: u32,
        (waits, reduces, known): (bool, Option<BarrierReduction>, Option<[u32; 2]>),
        site: u64,
        run: &mut Run<'_>,
    ) -> Result<(), CtaExit> {
        let warp = &mut self.all[number as usize];
        let head = run.head(number);
        let place = head.place;
        let set = reduces
            .map_or(0, |_| (0..).zip(&head.given).fold(0, |all, (lane, given)| all | ((given & 1) as u32) << lane));
        let mut left = came;
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let ([id, count], same) = match known {
                Some(known) => (known, left),
                None => {
                    let [id, count] = [head.which[first], head.extent[first]];
                    ([id, count], left & holders(&head.which, id))
                }
            };
            left &= !same;
            if id as usize >= BARRIERS {
                let kind = FaultKind::IllegalInstruction(format!("barrier {id}: there are {BARRIERS}"));
                return Err(run.fault(kind, Some(site), 32 * number + first as u32));
            }
            // PTX ISA 9.7.13.1: as the interpreter reads it.
            let expected = match count {
                0 if waits => None,
                count if count == 0 || !count.is_multiple_of(32) => {
                    let kind = FaultKind::IllegalInstruction(format!(
                        "barrier {id} for {count} threads: the number must be a multiple of 32, and not 0 to arrive"
                    ));
                    return Err(run.fault(kind, Some(site), 32 * number + first as u32));
                }
                count => Some(count),
            };
            let arrival = Arrival { id, warp: number, mask: same, set, expected, reduces: reduces.is_some() };
            let ticket = self.barriers.arrive(arrival);
            let wait = if waits { Wait::Barrier { id, ticket, reduces } } else { Wait::Ready };
            warp.park(place, same, wait);
        }
        Ok(())
    }
}
