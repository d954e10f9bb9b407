//! Non-temporal stores: rows of whole cache lines that go to memory past the caches, where a grid writes more than those hold.
//!
//! A store that comes into a cache first reads the line that it is about to overwrite. Past it, nothing is read, but what is written is far away for
//! whoever wants it next. So only results are written that way: what is stored behind a parameter behind which the kernel loads nothing.
//!
//! x86 orders such stores with nothing but fences. No other CTA can tell, as long as the kernel orders nothing across CTAs (PTX ISA 8), and the executor puts a
//! fence behind the CTAs that a worker has run.

use std::collections::BTreeSet;

use warploom_ptx::ir::{BarrierOp, Base, Body, Op, ScalarType, Semantics, Space};

use super::ahead::{Cache, LINE};
use super::behind::parameter_behind;
use super::context;
use super::function::{Val, Writer};
use super::memory::Target;
use super::names::Ty;
use crate::info::KernelInfo;

/// How far ahead lines are fetched that are stored to through the caches. Measured with a stencil's tiles of 128 bytes by 8 rows: 256 and 384 do
/// equally well, 128 is too near, and with 1,024 rows evict each other.
const AHEAD: u32 = 256;

/// The stores of a kernel that may go past the caches.
pub(super) fn nontemporal(info: &KernelInfo<'_>, body: &Body) -> BTreeSet<u32> {
    let (mut stores, mut loaded) = (Vec::new(), BTreeSet::new());
    for (inst, number) in body.insts.iter().zip(0u32..) {
        match &inst.op {
            Op::Ld { semantics: Semantics::Weak, space: Space::Global | Space::Generic, addr, .. } => match addr.base {
                Base::Reg(_) => match parameter_behind(info, body, number) {
                    Some(parameter) => drop(loaded.insert(parameter)),
                    None => return BTreeSet::new(),
                },
                _ => return BTreeSet::new(),
            },
            Op::St { semantics: Semantics::Weak, space: Space::Global, addr, .. } => {
                let parameter = matches!(addr.base, Base::Reg(_)).then(|| parameter_behind(info, body, number));
                stores.extend(parameter.flatten().map(|parameter| (number, parameter)));
            }
            Op::Ld { semantics: Semantics::Weak, .. } | Op::St { semantics: Semantics::Weak, .. } => {}
            Op::Barrier(BarrierOp::Sync { .. } | BarrierOp::Warp { .. } | BarrierOp::Yield) => {}
            Op::Atom { space: Space::Shared, .. } => {}
            // What may order something, or access memory that is not known.
            Op::Ld { .. } | Op::St { .. } | Op::Barrier(_) | Op::Atom { .. } | Op::Fence(_) | Op::Texture(_) => {
                return BTreeSet::new();
            }
            Op::Call { .. } | Op::Unexecuted(_) | Op::Multicast(_) | Op::Async(_) | Op::Mbarrier(_) | Op::Matrix(_) => {
                return BTreeSet::new();
            }
            _ => {}
        }
    }
    stores.into_iter().filter(|(_, parameter)| !loaded.contains(parameter)).map(|(store, _)| store).collect()
}

impl Writer<'_> {
    /// Stores a row, past the caches if the grid is large and it begins with a cache line; as usual otherwise. Whether that is written: it may be so only of
    /// all lanes of a gang, which fill lines.
    pub(super) fn store_row_nontemporal(&mut self, target: &Target, ty: ScalarType, values: &[Val]) -> bool {
        let bytes = self.lanes() * target.bytes;
        let Some(first) = target.first.clone() else { return false };
        let whole = self.full && self.is_for_all_lanes();
        if !whole || !self.plan.is_nontemporal(self.inst) || !bytes.is_multiple_of(LINE) {
            return false;
        }
        let word = Ty::int(64, 0);
        let mask = self.field(context::NONTEMPORAL);
        let mask = self.set(word, format!("load i64, ptr {mask}, align 8, !invariant.load !0"));
        let low = self.binary("and", &first, &mask);
        let zero = self.constant(word, 0);
        let past = self.compare("eq", &low, &zero);
        let [around, usual, done] = [(); 3].map(|()| self.fresh());
        let pointer = self.at_address(&first).text;
        self.line(format!("br i1 {}, label %L{around}, label %L{usual}", past.text));
        self.label(&format!("L{around}"));
        let row = self.row_of(values);
        self.line(format!(
            "store {} {}, ptr {pointer}, align {LINE}, !tbaa !7, !nontemporal !10",
            row.ty.text(),
            row.text
        ));
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{usual}"));
        self.store_row(&pointer, ty, values);
        self.fetch_ahead(&pointer, bytes);
        self.line(format!("br label %L{done}"));
        self.label(&format!("L{done}"));
        true
    }

    /// Has the lines fetched that the CTA after the next one is about to overwrite, if this one is one of a row of narrow ones (a tile of a matrix): stores come into
    /// the cache one after the other, so that one to a line which is not there keeps all behind it waiting. The processor itself foresees what goes
    /// straight through memory, but not what comes back to each of a tile's rows for a few lines. Nothing fails where no memory is.
    fn fetch_ahead(&mut self, pointer: &str, bytes: u32) {
        self.prefetch_lines(pointer, AHEAD, bytes, Cache::FirstToBeWritten);
    }
}
