//! Asynchronous copies of single threads as what they do: a load and a store.
//!
//! They may be done when they are issued (PTX ISA 9.7.9.25.3), and are in the interpreter too. Those that fill up with zeros stay what they are.

use warploom_ptx::ir::{AsyncOp, Body, Inst, Op, Operand, Reg, RegDecl, ScalarType, Scope, Semantics, Space};

/// Puts loads and stores in place of `cp.async`.
pub(super) fn replace(body: &mut Body) {
    if !body.insts.iter().any(is_whole) {
        return;
    }
    let insts = std::mem::take(&mut body.insts);
    for block in &mut body.blocks {
        let old = block.insts.start as usize..block.insts.end as usize;
        block.insts.start = body.insts.len() as u32;
        for inst in &insts[old] {
            match &inst.op {
                Op::Async(op) if is_whole(inst) => put(&mut body.insts, &mut body.regs, inst, op),
                _ => body.insts.push(inst.clone()),
            }
        }
        block.insts.end = body.insts.len() as u32;
    }
}

/// Whether an instruction copies as much as it names, whatever happens.
fn is_whole(inst: &Inst) -> bool {
    let Op::Async(op) = &inst.op else { return false };
    matches!(**op, AsyncOp::Copy { src_size: None, ignore_src: None, .. })
}

fn put(insts: &mut Vec<Inst>, regs: &mut Vec<RegDecl>, inst: &Inst, op: &AsyncOp) {
    let AsyncOp::Copy { dst, src, size, .. } = *op else { return };
    let (ty, semantics, scope, cache) = (ScalarType::B32, Semantics::Weak, Scope::Sys, None);
    let first = regs.len() as u32;
    let words = size / 4;
    regs.extend((0..words).map(|_| RegDecl { name: "".into(), ty }));
    let words = first..first + words;
    let load = Op::Ld {
        space: Space::Global,
        ty,
        to: ty,
        semantics,
        scope,
        nc: false,
        cache,
        unified: false,
        dst: words.clone().map(Reg).collect(),
        addr: src,
    };
    let src = words.map(|word| Operand::Reg(Reg(word))).collect();
    let store = Op::St { space: Space::Shared, ty, from: ty, semantics, scope, cache, src, addr: dst };
    insts.extend([load, store].map(|op| Inst { op, ..inst.clone() }));
}
