//! Loops as compilers unroll them: trips that are left over come first, of which lanes may have different numbers, so that behind them only a look tells which rows they go to.
//!
//! Each has rows of its own behind the counters of the output, or in shared memory. A place of them is one thread's, or gets the same from all that come to it, or they come to it
//! with barriers between them.

use crate::generate::{Generator, Together};
use crate::kernel::COUNTERS;

/// Trips that are left over, and others, are no more than these in all.
const MOST: u32 = 11;

/// Bytes of shared memory that all loops of a kernel may have.
const SHARED: u32 = 16 << 10;

/// Who else stores to the places of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    Nobody,
    /// Some do, what the thread does.
    Alike,
    /// Some do in other trips, with a barrier between.
    InTurn,
}

/// What tells how many trips a thread makes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trips {
    /// The end of what all threads go through together.
    Bound,
    /// Numbers of trips that are left over, and of others.
    Counts,
}

/// Where addresses are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    /// Before the loop, which carries them.
    Once,
    /// In each trip.
    Each,
    /// For each of the trips that are made at a time.
    Apiece,
}

/// One such loop.
struct Unrolled {
    /// Of the statement.
    number: u32,
    others: Others,
    trips: Trips,
    made: Made,
    /// Of an element.
    bytes: u32,
    /// Trips at a time.
    times: u32,
    /// The first thread's first element.
    start: u32,
    /// Elements from one trip that is left over to the next.
    apart: u32,
    /// Elements from one of the other trips to the next.
    step: u32,
    /// Which instructions make an address of the index.
    widened: u32,
    /// Where rows are loaded from: a state space, and the register with an address.
    from: (&'static str, &'static str),
    /// The state space where they are stored.
    to: &'static str,
    /// What a trip does.
    body: u32,
    /// A register that it adds to, or adds.
    word: String,
    guard: String,
}

/// The statement.
pub(crate) fn unrolled(g: &mut Generator, together: Together) -> String {
    let others = match g.rng.u32(..4) {
        0 if together == Together::Cta => Others::InTurn,
        1 => Others::Alike,
        _ => Others::Nobody,
    };
    let threads = g.threads();
    let own = [threads, threads + 1, threads.next_multiple_of(32)][g.rng.usize(..3)];
    let apart = if others == Others::Alike { [1, 3, 8, own][g.rng.usize(..4)] } else { own };
    let trips = if others != Others::InTurn && g.rng.bool() { Trips::Bound } else { Trips::Counts };
    let bytes = 1 << g.rng.u32(..4);
    // What differs from thread to thread, or lies in memory of others, is not the same whoever stores it.
    let body = g.rng.u32(..if others == Others::Alike { 3 } else { 5 });
    let guard = if g.rng.u32(..6) == 0 { format!("@{} ", g.predicate()) } else { String::new() };
    let mut this = Unrolled {
        number: g.number(),
        others,
        trips,
        made: [Made::Once, Made::Each, Made::Apiece][g.rng.usize(..3)],
        bytes,
        times: 1 << g.rng.u32(1..3),
        start: g.rng.u32(..4),
        apart,
        step: match (others, trips) {
            (Others::InTurn, _) => [1, 2, 5, 16][g.rng.usize(..4)],
            (Others::Alike, Trips::Counts) => [1, 2, apart][g.rng.usize(..3)],
            _ => apart,
        },
        widened: g.rng.u32(..5),
        from: ([".global", ".global.nc", ""][g.rng.usize(..3)], "%t11"),
        to: [".global", ""][g.rng.usize(..2)],
        body,
        word: g.word(),
        guard,
    };
    let all = this.start + threads + MOST * this.apart.max(this.step);
    let size = (all * bytes).next_multiple_of(8);
    let place = if others == Others::Nobody && g.shared + size <= SHARED && g.rng.u32(..3) == 0 {
        g.shared += size;
        this.to = ".shared";
        format!(".shared .align 8 .b8 rows{n}[{size}];\nmov.u64 %t10, rows{n};", n = this.number)
    } else {
        let at = 4 * COUNTERS + g.rows;
        g.rows += size * g.ctas;
        format!("mad.wide.u32 %t10, %s9, {size}, %t5;\nadd.u64 %t10, %t10, {at};")
    };
    if this.body == 4 {
        this.from = (this.to, "%t12");
    }
    let (counts, goes_on) = match trips {
        Trips::Bound => this.bound(g, all),
        Trips::Counts => this.counts(g),
    };
    let seen = if this.to == ".shared" { this.seen() } else { String::new() };
    format!(
        "{place}\nadd.u32 %s23, %s6, {};\ncvt.u64.u32 %t14, %s23;\nmov.u32 %s27, 0;\nmov.b16 %h5, 0;\nmov.b64 %d5, 0;\n{counts}\n{}{seen}",
        this.start,
        this.loops(&goes_on)
    )
}

impl Unrolled {
    /// Sets the trips that are left over, `%s24`, and leaves out the others where there are none: of a bound that all threads have in common. With what tells whether another trip
    /// follows.
    fn bound(&self, g: &mut Generator, all: u32) -> (String, String) {
        let &Unrolled { number: n, times, apart, .. } = self;
        let bound = match g.rng.u32(..3) {
            0 => format!("and.b32 %s25, {}, 1023;\nmin.u32 %s25, %s25, {all};", g.uniform()),
            _ => format!("mov.u32 %s25, {};", g.rng.u32(..=all)),
        };
        let counts = format!(
            "{bound}\nsetp.ge.u32 %q{n}, %s23, %s25;\n@%q{n} bra I{n};\n\
             not.b32 %s26, %s23;\nadd.u32 %s26, %s26, %s25;\ndiv.u32 %s26, %s26, {apart};\nadd.u32 %s24, %s26, 1;\nand.b32 %s24, %s24, {};",
            times - 1
        );
        (counts, format!("setp.lt.u32 %q{n}, %s23, %s25;"))
    }

    /// The same with numbers of trips.
    fn counts(&self, g: &mut Generator) -> (String, String) {
        let &Unrolled { number: n, times, others, .. } = self;
        let most = times - 1;
        let left_over = match g.rng.u32(..5) {
            0 => format!("and.b32 %s24, {}, {most};", g.word()),
            1 => format!("selp.b32 %s24, {}, {}, {};", g.rng.u32(..=most), g.rng.u32(..=most), g.predicate()),
            2 => format!("and.b32 %s24, {}, {most};", g.uniform()),
            _ => {
                let (few, many) = (g.rng.u32(..=most), g.rng.u32(..=most));
                let last = g.threads();
                format!(
                    "setp.{}.u32 %q{n}, %s6, {};\nselp.b32 %s24, {many}, {few}, %q{n};",
                    g.pick(&["lt", "ge", "eq"]),
                    g.rng.u32(..=last)
                )
            }
        };
        let others = match g.rng.u32(..3) {
            0 if others != Others::InTurn => format!("and.b32 %s26, {}, 1;\nadd.u32 %s26, %s26, 1;", g.word()),
            _ => format!("mov.u32 %s26, {};", g.rng.u32(1..3)),
        };
        let goes_on = format!("sub.u32 %s26, %s26, 1;\nsetp.ne.u32 %q{n}, %s26, 0;");
        (format!("{left_over}\n{others}"), goes_on)
    }

    fn loops(&self, goes_on: &str) -> String {
        let &Unrolled { number: n, made, bytes, times, apart, step, .. } = self;
        let addresses = self.addresses();
        let mut text = String::new();
        // Others may have come to the places when this was run before.
        text += self.barrier();
        text += &format!(
            "setp.eq.u32 %q{n}, %s24, 0;\n@%q{n} bra G{n};\nF{n}:\n{addresses}{}{}sub.u32 %s24, %s24, 1;\nsetp.ne.u32 %q{n}, %s24, 0;\n@%q{n} bra F{n};\nG{n}:\n",
            self.trip(0),
            on(apart)
        );
        if self.trips == Trips::Bound {
            text += &format!("setp.lt.u32 %q{n}, %s26, {};\n@%q{n} bra I{n};\n", times - 1);
        }
        if made == Made::Once {
            text += &addresses;
        }
        text += &format!("H{n}:\n");
        if made == Made::Each {
            text += &addresses;
        }
        for at in 0..times {
            text += self.barrier();
            if made == Made::Apiece {
                text += &format!("{addresses}{}{}", self.trip(0), on(step));
            } else {
                text += &self.trip(at * step * bytes);
            }
        }
        if made == Made::Once {
            let far = times * step * bytes;
            text += &format!("add.s64 %t11, %t11, {far};\nadd.s64 %t12, %t12, {far};\n");
        }
        if made != Made::Apiece {
            text += &on(times * step);
        }
        text + &format!("{goes_on}\n@%q{n} bra H{n};\nI{n}:")
    }

    fn barrier(&self) -> &'static str {
        if self.others == Others::InTurn { "bar.sync 0;\n" } else { "" }
    }

    /// Makes addresses of the index: `%t11` of what is loaded, `%t12` of what is stored.
    fn addresses(&self) -> String {
        let bytes = self.bytes;
        let shift = bytes.trailing_zeros();
        let index = match self.widened {
            0 => format!("mul.wide.u32 %t13, %s23, {bytes};\n"),
            1 => format!("mul.wide.s32 %t13, %s23, {bytes};\n"),
            2 => return format!("mad.wide.u32 %t11, %s23, {bytes}, %t1;\nmad.wide.u32 %t12, %s23, {bytes}, %t10;\n"),
            3 => format!("cvt.u64.u32 %t13, %s23;\nshl.b64 %t13, %t13, {shift};\n"),
            _ if bytes == 1 => return "add.s64 %t11, %t1, %t14;\nadd.s64 %t12, %t14, %t10;\n".to_owned(),
            _ => format!("shl.b64 %t13, %t14, {shift};\n"),
        };
        index + "add.s64 %t11, %t1, %t13;\nadd.s64 %t12, %t10, %t13;\n"
    }

    /// One trip, with rows some bytes behind the addresses.
    fn trip(&self, at: u32) -> String {
        let Unrolled { bytes, from: (space, address), to, word, guard, .. } = self;
        let bits = 8 * bytes;
        let register = ["%s27", "%h5", "%s27", "%d5"][bytes.trailing_zeros() as usize];
        let [narrow, wide] = match bytes {
            2 => ["cvt.u32.u16 %s27, %h5;\n", "cvt.u16.u32 %h5, %s27;\n"],
            8 => ["cvt.u32.u64 %s27, %d5;\n", "mul.wide.u32 %d5, %s27, 0x10003;\n"],
            _ => ["", ""],
        };
        let load = format!("{guard}ld{space}.u{bits} {register}, [{address}+{at}];\n{narrow}");
        let store = format!("{wide}{guard}st{to}.u{bits} [%t12+{at}], {register};\n");
        match self.body {
            0 => format!("{load}mad.lo.u32 %s27, %s27, 3, 5;\n{store}"),
            1 => format!("mov.u32 %s27, 0x5a17;\n{store}"),
            2 => format!("{load}mad.lo.u32 {word}, {word}, 31, %s27;\n"),
            _ => format!("{load}mad.lo.u32 %s27, %s27, 3, {word};\n{store}"),
        }
    }

    /// What the thread has stored to some of its places in shared memory.
    fn seen(&self) -> String {
        let Unrolled { bytes, start, apart, word, .. } = self;
        let load = |row: u32| {
            let at = (start + row * apart) * bytes;
            format!("ld.shared.u8 %s27, [%t12+{at}];\nmad.lo.u32 {word}, {word}, 31, %s27;")
        };
        let loads: Vec<String> = (0..MOST).step_by(2).map(load).collect();
        format!("\nmad.wide.u32 %t12, %s6, {bytes}, %t10;\n{}", loads.join("\n"))
    }
}

/// Goes on to another element.
fn on(elements: u32) -> String {
    format!("add.u32 %s23, %s23, {elements};\nadd.s64 %t14, %t14, {elements};\n")
}
