//! Kernels from seeds.
//!
//! What they compute does not depend on the order in which threads run: shared memory is written between barriers, to the thread's own place, rows are
//! stored as [`left_over`] says, and updates that meet are such whose order cannot be told. Barriers stand where all threads of the CTA come together, operations of warps where
//! whole warps do. Floating-point numbers do not become integers but by conversion, as the bits of NaN are left open.

use fastrand::Rng;

use crate::compute;
use crate::kernel::{Kernel, Kind, Statement};
use crate::left_over;
use crate::memory;
use crate::warp;

/// Threads that are together where a statement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Together {
    /// Perhaps none.
    Lanes,
    /// Those of a warp.
    Warp,
    /// Those of the CTA.
    Cta,
}

/// Where a statement stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) together: Together,
    depth: u32,
    /// In a device function, which has registers and nothing else.
    function: bool,
}

/// Makes one kernel.
pub(crate) struct Generator {
    pub(crate) rng: Rng,
    next: u32,
    pub(crate) cta: [u32; 3],
    pub(crate) ctas: u32,
    /// Bytes of the output, and of shared memory, that loops store rows to.
    pub(crate) rows: u32,
    pub(crate) shared: u32,
    /// Some threads may have ended.
    ended: bool,
    /// Warps are written for one another: what a lane reads of another one is there.
    pub(crate) full_warps: bool,
    /// Threads may take locks.
    pub(crate) has_locks: bool,
    /// Nothing computes with subnormal numbers.
    pub(crate) flushes: bool,
}

const SHAPES: [[u32; 3]; 18] = [
    [32, 1, 1],
    [64, 1, 1],
    [128, 1, 1],
    [96, 1, 1],
    [7, 1, 1],
    [1, 1, 1],
    [33, 1, 1],
    [48, 1, 1],
    [100, 1, 1],
    [16, 16, 1],
    [32, 4, 1],
    [8, 8, 1],
    [10, 10, 1],
    [5, 7, 1],
    [4, 4, 4],
    [3, 5, 2],
    [40, 3, 1],
    [256, 1, 1],
];

/// The kernel of a seed.
pub(crate) fn kernel(seed: u64) -> Kernel {
    let mut rng = Rng::with_seed(seed);
    let cta = SHAPES[rng.usize(..SHAPES.len())];
    let grid = [rng.u32(1..4), rng.u32(1..3)];
    let full_warps = cta.iter().product::<u32>().is_multiple_of(32);
    let mut generator = Generator {
        rng,
        next: 0,
        cta,
        ctas: grid.iter().product(),
        rows: 0,
        shared: 0,
        ended: false,
        full_warps,
        has_locks: seed.is_multiple_of(3),
        flushes: seed % 4 == 1,
    };
    let count = generator.rng.u32(4..18);
    let place = Place { together: Together::Cta, depth: 0, function: false };
    let mut statements = generator.body(place, count);
    if generator.rng.u32(..10) == 0 {
        let last = generator.threads();
        let from = generator.rng.u32(last / 2..=last);
        // From here on threads are missing: nothing follows that asks for whole warps.
        generator.ended = true;
        statements.push(generator.lines(format!("setp.ge.u32 %z1, %s6, {from};\n@%z1 exit;")));
        let count = generator.rng.u32(1..8);
        statements.extend(generator.body(place, count));
    }
    let Generator { next: count, rows, flushes, .. } = generator;
    Kernel { seed, cta, grid, statements, count, rows, flushes }
}

impl Generator {
    pub(crate) fn threads(&self) -> u32 {
        self.cta.iter().product()
    }

    /// Of the statement that is written next.
    pub(crate) fn number(&self) -> u32 {
        self.next + 1
    }

    pub(crate) fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.rng.usize(..all.len())]
    }

    /// An integer register of 32 bits.
    pub(crate) fn word(&mut self) -> String {
        format!("%r{}", self.rng.u32(1..=8))
    }

    /// One that all threads of the CTA hold alike.
    pub(crate) fn uniform(&mut self) -> String {
        format!("%u{}", self.rng.u32(1..=4))
    }

    /// Something to read.
    pub(crate) fn operand(&mut self) -> String {
        match self.rng.u32(..10) {
            0..=5 => self.word(),
            6 => self.uniform(),
            7 => self.pick(&["%s6", "%s1", "%s7"]).to_owned(),
            8 => self.rng.i32(-9..40).to_string(),
            _ => self.pick(&["0x80000000", "0x7fffffff", "-1", "0xff", "31", "32", "65536"]).to_owned(),
        }
    }

    pub(crate) fn predicate(&mut self) -> String {
        format!("%p{}", self.rng.u32(1..=4))
    }

    fn statement(&mut self, kind: Kind) -> Statement {
        self.next += 1;
        Statement { number: self.next, kind }
    }

    fn lines(&mut self, text: String) -> Statement {
        self.statement(Kind::Lines(text))
    }

    fn body(&mut self, place: Place, count: u32) -> Vec<Statement> {
        (0..count).map(|_| self.any(place)).collect()
    }

    fn inner(&mut self, place: Place, together: Together, most: u32) -> Vec<Statement> {
        let count = self.rng.u32(1..=most);
        self.body(Place { together: together.min(place.together), depth: place.depth + 1, ..place }, count)
    }

    fn any(&mut self, place: Place) -> Statement {
        let kind = self.rng.u32(..100);
        match kind {
            0..=15 if place.depth < 3 => self.branch(place),
            16..=23 if place.depth < 2 => self.repeated(place),
            24..=25 if place.depth < 2 => self.switch(place),
            26..=27 if place.depth < 2 && !place.function => self.call(place),
            28..=40 if !place.function => {
                let text = memory::access(self, place.together);
                self.lines(text)
            }
            41..=50 if !place.function => {
                let text = warp::exchange(self, place.together, self.ended);
                self.lines(text)
            }
            51..=54 if place.together == Together::Cta => {
                let (to, from) = (self.uniform(), self.uniform());
                let by = self.rng.i32(-3..9);
                let op = self.pick(&["add.s32", "mul.lo.u32", "xor.b32", "max.s32", "sub.s32", "shl.b32"]);
                let by = if op == "shl.b32" { by.abs() } else { by };
                self.lines(format!("{op} {to}, {from}, {by};"))
            }
            55..=58 if place.depth < 2 && !place.function => {
                let text = left_over::unrolled(self, place.together);
                self.lines(text)
            }
            _ => {
                let mut text = compute::instruction(self, place.function);
                // Guards of instructions that stand alone.
                if text.lines().count() == 1 && self.rng.u32(..6) == 0 {
                    let not = self.pick(&["", "!"]);
                    text = format!("@{not}{} {text}", self.predicate());
                }
                self.lines(text)
            }
        }
    }

    /// A condition for `%q` of the statement that gets the next number, and who is together behind it.
    fn condition(&mut self) -> (String, Together) {
        let n = self.next + 1;
        let compare = self.pick(&["lt.s32", "eq.s32", "ge.s32", "gt.u32", "ne.s32"]);
        match self.rng.u32(..10) {
            0..=2 => {
                let (a, b) = (self.word(), self.operand());
                (format!("setp.{compare} %q{n}, {a}, {b};"), Together::Lanes)
            }
            3..=4 => {
                let most = self.threads();
                (format!("setp.lt.u32 %q{n}, %s6, {};", self.rng.u32(..=most)), Together::Lanes)
            }
            5 => (format!("mov.pred %q{n}, {};", self.predicate()), Together::Lanes),
            6..=7 => {
                let (a, b) = (self.uniform(), self.rng.i32(-2..6));
                (format!("setp.{compare} %q{n}, {a}, {b};"), Together::Cta)
            }
            8 => {
                let bit = self.rng.u32(5..7);
                (format!("and.b32 %s13, %s6, {};\nsetp.eq.u32 %q{n}, %s13, 0;", 1 << bit), Together::Warp)
            }
            _ => (format!("and.b32 %s13, %s6, {};\nsetp.eq.u32 %q{n}, %s13, 0;", self.rng.u32(1..32)), Together::Lanes),
        }
    }

    fn branch(&mut self, place: Place) -> Statement {
        let (condition, together) = self.condition();
        let mut whole = self.statement(Kind::Lines(String::new()));
        let yes = self.inner(place, together, 4);
        let no = (self.rng.u32(..2) == 0).then(|| self.inner(place, together, 3));
        whole.kind = Kind::If { condition, yes, no };
        whole
    }

    fn repeated(&mut self, place: Place) -> Statement {
        let mut whole = self.statement(Kind::Lines(String::new()));
        let n = whole.number;
        let (from, mut together) = match self.rng.u32(..6) {
            0..=1 => (self.word(), Together::Lanes),
            2 => ("%s6".to_owned(), Together::Lanes),
            3 => (self.uniform(), Together::Cta),
            _ => (self.rng.u32(1..6).to_string(), Together::Cta),
        };
        let count = format!("and.b32 %k{n}, {from}, {};", self.pick(&["3", "7"]));
        let leave = match self.rng.u32(..5) {
            0 => {
                together = Together::Lanes;
                let (a, b) = (self.word(), self.operand());
                Some(format!("setp.eq.s32 %q{n}, {a}, {b};"))
            }
            1 => {
                let (a, b) = (self.uniform(), self.rng.i32(-2..6));
                Some(format!("setp.gt.s32 %q{n}, {a}, {b};"))
            }
            _ => None,
        };
        let body = self.inner(place, together, 5);
        whole.kind = Kind::Loop { count, body, leave };
        whole
    }

    fn switch(&mut self, place: Place) -> Statement {
        let mut whole = self.statement(Kind::Lines(String::new()));
        let n = whole.number;
        let (from, together) =
            if self.rng.u32(..3) == 0 { (self.uniform(), Together::Cta) } else { (self.word(), Together::Lanes) };
        let count = 1 << self.rng.u32(1..3);
        let ways = (0..count).map(|_| self.inner(place, together, 2)).collect();
        whole.kind = Kind::Switch { index: format!("and.b32 %k{n}, {from}, {};", count - 1), ways };
        whole
    }

    fn call(&mut self, place: Place) -> Statement {
        let mut whole = self.statement(Kind::Lines(String::new()));
        let (argument, result) = (self.word(), self.word());
        let inner = Place { function: true, together: Together::Lanes, ..place };
        let body = self.inner(inner, Together::Lanes, 5);
        whole.kind = Kind::Call { argument, result, body };
        whole
    }
}
