//! Whether accesses are allowed: a table of sites, held in memory, and the executor where it does not tell.
//!
//! For each site the table has the first address that is known to be allowed, and how many addresses follow it, in steps of the bytes of a lane. The
//! distance of an address from there, turned by as many bits as those bytes have, is below that number if the access is aligned and lies
//! inside: one comparison. What is refused, and how it is reported, is the executor's business.

use warploom_ptx::ir::{Inst, Space};

use super::asked::{Argument, Asked};
use super::context;
use super::function::{Val, Writer};
use super::indexed::Indexed;
use super::memory::Target;
use super::names::Ty;

/// Bytes of an entry of the table.
pub(super) const ENTRY: u32 = 24;

impl Writer<'_> {
    /// Writes both ways: the short one if the access is known to be allowed, the long one where the executor has said where the lanes' bytes are.
    pub(super) fn short_or_long(
        &mut self,
        inst: &Inst,
        target: &Target,
        mut way: impl FnMut(&mut Self, bool) -> Result<(), String>,
    ) -> Result<(), String> {
        if target.is_proven() {
            return way(self, false);
        }
        if self.full {
            if !self.checked {
                self.check_in_full(inst, target)?;
            }
            return way(self, false);
        }
        let (short, long, done) = (self.fresh(), self.fresh(), self.fresh());
        self.look(inst, target, short, long)?;
        self.label(&format!("L{long}"));
        self.ask_unless_near(inst, target)?;
        way(self, true)?;
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{short}"));
        way(self, false)?;
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{done}"));
        Ok(())
    }

    /// Goes to one label if all lanes that run are known to be allowed, to the other if not.
    fn look(&mut self, inst: &Inst, target: &Target, short: u32, long: u32) -> Result<(), String> {
        self.look_at_hull(inst, target)?;
        if let Some((site, _)) = self.plan.hull(self.inst) {
            let known = self.load(Ty::int(1, 0), &format!("%h{site}"));
            let own = self.fresh();
            self.line(format!("br i1 {}, label %L{short}, label %L{own}, !prof !2", known.text));
            self.label(&format!("L{own}"));
        }
        let fits = self.fits(inst, target)?;
        self.line(format!("br i1 {}, label %L{short}, label %L{long}, !prof !2", fits.text));
        Ok(())
    }

    pub(super) fn fits(&mut self, inst: &Inst, target: &Target) -> Result<Val, String> {
        if let Some(fits) = self.fits_in_room(target) {
            return Ok(fits);
        }
        if let Some(first) = &target.first {
            if target.proven {
                return Ok(target.flag.clone());
            }
            let low = self.constant(first.ty, target.low);
            let from = self.binary("add", first, &low);
            let fits = self.is_inside(target.site, &from, target.bytes);
            return Ok(self.binary("and", &fits, &target.flag));
        }
        if let Some(parts) = self.parts(target) {
            let entry = self.entry(target.site);
            let (fits, _) = self.indices_inside(target, parts, entry);
            return Ok(self.all_run(&fits));
        }
        let all = self.all_addresses(inst, target)?;
        Ok(self.all_inside(target, &all))
    }

    /// Whether indices are among those that lead to so many places from a first address on, and which place index 0 has.
    pub(super) fn indices_inside(&mut self, target: &Target, parts: Indexed, [start, count]: [Val; 2]) -> (Val, Val) {
        let base = self.read(parts.base);
        let number = |number: i64| Val { ty: base.ty, text: number.to_string() };
        let base = self.binary("add", &base, &number(target.offset()));
        let distance = self.binary("sub", &base, &start);
        let low = self.binary("and", &distance, &number(i64::from(target.bytes) - 1));
        let aligned = self.compare("eq", &low, &number(0));
        let first = self.binary("ashr", &distance, &number(i64::from(target.bytes.trailing_zeros())));
        // From the least index to behind the greatest, both cut to what 32 bits with a sign hold.
        let least = self.binary("sub", &number(0), &first);
        let least = self.intrinsic("smax", &[&least, &number(if parts.signed { i64::from(i32::MIN) } else { 0 })]);
        let end = self.binary("sub", &count, &first);
        let end = self.intrinsic("smin", &[&end, &number(1 << 31)]);
        let many = self.binary("sub", &end, &least);
        let many = self.intrinsic("smax", &[&many, &number(0)]);
        let many = self.intrinsic("umin", &[&many, &number(i64::from(u32::MAX))]);
        let many = self.select(&aligned, &many, &number(0));
        let [least, many] = [least, many].map(|number| {
            let word = self.resize(&number, 32, false);
            self.splat(&word)
        });
        let index = self.read(parts.index);
        let offset = self.binary("sub", &index, &least);
        (self.compare("ult", &offset, &many), first)
    }

    /// Whether something holds for all lanes that run.
    pub(super) fn all_run(&mut self, fits: &Val) -> Val {
        let mask = self.mask_value();
        let ones = self.constant(mask.ty, 1);
        let off = self.binary("xor", &mask, &ones);
        let fine = self.binary("or", fits, &off);
        let bits = self.bits_of(&fine.text);
        let every = self.constant(bits.ty, -1);
        self.compare("eq", &bits, &every)
    }

    /// Whether the addresses of all lanes that run are among those of the site.
    fn all_inside(&mut self, target: &Target, all: &Val) -> Val {
        if target.proven {
            return self.constant(Ty::int(1, 0), 1);
        }
        let fits = self.is_inside(target.site, all, target.bytes);
        self.all_run(&fits)
    }

    /// What the table says of a site: the first address, and how many steps follow.
    pub(super) fn entry(&mut self, site: u32) -> [Val; 2] {
        let i64 = Ty::int(64, 0);
        let table = self.pointer(context::EXTENTS);
        [0, 8].map(|word| {
            let at = self.set(i64, format!("getelementptr i8, ptr {table}, i64 {}", ENTRY * site + word));
            self.set(i64, format!("load i64, ptr {}, align 8, !tbaa !8", at.text))
        })
    }

    /// Whether addresses are among those of a site, and aligned.
    pub(super) fn is_inside(&mut self, site: u32, address: &Val, bytes: u32) -> Val {
        let entry = self.entry(site);
        self.is_among(entry, address, bytes)
    }

    /// Whether addresses are among so many places from a first one on, and aligned.
    pub(super) fn is_among(&mut self, [start, count]: [Val; 2], address: &Val, bytes: u32) -> Val {
        let (start, count) = match address.ty.lanes {
            0 => (start, count),
            _ => (self.splat(&start), self.splat(&count)),
        };
        let mut offset = self.binary("sub", address, &start);
        if bytes > 1 {
            let by = self.constant(address.ty, i64::from(bytes.trailing_zeros()));
            offset = self.intrinsic("fshr", &[&offset, &offset, &by]);
        }
        self.compare("ult", &offset, &count)
    }

    /// The first byte of several accesses with one base, and whether all of them are known to be allowed.
    pub(super) fn hull_fits(&mut self, inst: &Inst, target: &Target) -> Result<Option<(Val, Val)>, String> {
        let Some((site, hull)) = self.plan.hull(self.inst) else { return Ok(None) };
        let (low, bytes) = (hull.low, hull.bytes);
        let first = match &target.first {
            Some(first) => first.clone(),
            None => self.all_addresses(inst, target)?,
        };
        let by = self.constant(first.ty, low - self.plan.offset_of(self.inst));
        let from = self.binary("add", &first, &by);
        let inside = self.is_inside(site, &from, bytes);
        let inside = if inside.ty.lanes == 0 { inside } else { self.all_run(&inside) };
        let fits = self.binary("and", &inside, &target.flag);
        Ok(Some((from, fits)))
    }

    /// Before the first of several accesses with one base: whether all of them are allowed.
    fn look_at_hull(&mut self, inst: &Inst, target: &Target) -> Result<(), String> {
        let Some((site, hull)) = self.plan.hull(self.inst) else { return Ok(()) };
        if hull.first != self.inst {
            return Ok(());
        }
        let place = format!("%h{site}");
        if !self.resumed {
            self.places.push((place.clone(), Ty::int(1, 0)));
        }
        let Some((from, fits)) = self.hull_fits(inst, target)? else { return Ok(()) };
        self.store(&fits, &place);
        let (find, on) = (self.fresh(), self.fresh());
        self.line(format!("br i1 {}, label %L{on}, label %L{find}, !prof !2", fits.text));
        self.label(&format!("L{find}"));
        let first = if from.ty.lanes == 0 { from.clone() } else { self.first_running(&from) };
        let found = self.ask_executor(Asked::Find, &[Argument::Value(&first), Argument::Number(site)]);
        let found = self.binary("and", &found, &target.flag);
        let found = if from.ty.lanes == 0 {
            found
        } else {
            // The others may be elsewhere.
            let inside = self.is_inside(site, &from, hull.bytes);
            let inside = self.all_run(&inside);
            self.binary("and", &found, &inside)
        };
        self.store(&found, &place);
        self.line(format!("br label %L{on}"));
        self.label(&format!("L{on}"));
        Ok(())
    }

    /// Asks the executor for each lane that runs. Where it does not refuse one, the table `%addresses` then says where their bytes are.
    pub(super) fn ask(&mut self, inst: &Inst, target: &Target) -> Result<(), String> {
        let even = target.even();
        if even.is_none() {
            let all = self.all_addresses(inst, target)?;
            self.line(format!("store {} {}, ptr %addresses, align 64", all.ty.text(), all.text));
        }
        let bits = self.running();
        let thread = Val { ty: Ty::int(32, 0), text: self.thread() };
        let [place, lanes, site, thread] = [
            Argument::Pointer("%addresses"),
            Argument::Value(&bits),
            Argument::Number(target.site),
            Argument::Value(&thread),
        ];
        let fine = match even {
            Some((first, apart)) => {
                self.ask_executor(Asked::CheckRow(apart), &[place, lanes, site, thread, Argument::Value(first)])
            }
            None => self.ask_executor(Asked::Check, &[place, lanes, site, thread]),
        };
        let allowed = self.fresh();
        self.line(format!("br i1 {}, label %L{allowed}, label %fault", fine.text));
        self.label(&format!("L{allowed}"));
        Ok(())
    }

    /// Fills `%addresses` with where the bytes of all lanes that run are.
    pub(super) fn pointers_of_all(&mut self, inst: &Inst, target: &Target) -> Result<(), String> {
        self.short_or_long(inst, target, |this, long| {
            if long {
                return Ok(());
            }
            let all = this.all_addresses(inst, target)?;
            this.keep_pointers(target, &all);
            Ok(())
        })
    }

    /// Fills `%addresses` with where the bytes at some addresses are, which are known to be allowed.
    fn keep_pointers(&mut self, target: &Target, all: &Val) {
        let i64 = Ty::int(64, 0);
        let start = self.start_of(target);
        let pointers = match (start, target.space) {
            (Some(start), _) => {
                let start = self.set(i64, format!("ptrtoint ptr {start} to i64"));
                let start = self.splat(&start);
                self.binary("add", all, &start)
            }
            (None, Space::Local) => {
                let stride = i64::from(self.plan.local_stride());
                let local = self.pointer(context::LOCAL);
                let local = self.set(i64, format!("ptrtoint ptr {local} to i64"));
                let thread = self.thread();
                let thread = self.set(i64, format!("zext i32 {thread} to i64"));
                let by = self.constant(i64, stride);
                let before = self.binary("mul", &thread, &by);
                let local = self.binary("add", &local, &before);
                let local = self.splat(&local);
                let lanes = i64::from(self.lanes());
                let apart = Val { ty: all.ty, text: all.ty.lanes((0..lanes).map(|lane| lane * stride)) };
                let sum = self.binary("add", all, &local);
                self.binary("add", &sum, &apart)
            }
            _ => all.clone(),
        };
        self.store_for_lanes(&pointers, "%addresses");
    }

    /// Where a pattern does not hold because of lanes that do not run, what does run may be allowed all the same: only else the executor is asked.
    fn ask_unless_near(&mut self, inst: &Inst, target: &Target) -> Result<(), String> {
        if target.flag.text == "true" || target.space == Space::Generic {
            return self.ask(inst, target);
        }
        let (near, far, on) = (self.fresh(), self.fresh(), self.fresh());
        let all = self.all_addresses(inst, target)?;
        let fits = self.all_inside(target, &all);
        self.line(format!("br i1 {}, label %L{near}, label %L{far}", fits.text));
        self.label(&format!("L{near}"));
        self.keep_pointers(target, &all);
        self.line(format!("br label %L{on}"));
        self.label(&format!("L{far}"));
        self.ask(inst, target)?;
        self.line(format!("br label %L{on}"));
        self.label(&format!("L{on}"));
        Ok(())
    }

    /// Where the bytes of the first lane of some are.
    pub(super) fn first_pointer(&mut self, bits: &Val) -> String {
        let lane = self.intrinsic_flag("cttz", bits);
        let i64 = Ty::int(64, 0);
        let at = self.set(i64, format!("getelementptr i64, ptr %addresses, i32 {}", lane.text));
        self.set(i64, format!("load ptr, ptr {}", at.text)).text
    }
}
