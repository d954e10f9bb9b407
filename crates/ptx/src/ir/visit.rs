//! Walking over the parts of an instruction.

use super::{
    Address, AddressTarget, AsyncOp, BarrierOp, CallArg, CallTarget, MatrixOp, MbarrierKind, MipLevel, Op, OpaqueRef,
    Operand, Predicate, Product, Reg, TextureOp,
};

/// Receives the parts of an instruction; what it does not care about it leaves out.
pub trait Visitor {
    /// A register that the instruction writes.
    fn write(&mut self, _reg: &mut Reg) {}
    /// A value that the instruction reads.
    fn read(&mut self, _operand: &mut Operand) {}
    /// A predicate that the instruction reads.
    fn predicate(&mut self, _predicate: &mut Predicate) {}
    /// An address; its base register is read.
    fn address(&mut self, _address: &mut Address) {}
    /// What an address is taken of.
    fn target(&mut self, _target: &mut AddressTarget) {}
    /// What is called.
    fn callee(&mut self, _target: &mut CallTarget) {}
    /// A texture, surface or sampler.
    fn opaque(&mut self, _object: &mut OpaqueRef) {}
}

fn reads<'a>(v: &mut dyn Visitor, operands: impl IntoIterator<Item = &'a mut Operand>) {
    operands.into_iter().for_each(|operand| v.read(operand));
}

fn writes<'a>(v: &mut dyn Visitor, regs: impl IntoIterator<Item = &'a mut Reg>) {
    regs.into_iter().for_each(|reg| v.write(reg));
}

impl Op {
    /// Hands every part of the instruction to `v`, in the order of the operands; the guard is not one of them.
    pub fn visit(&mut self, v: &mut dyn Visitor) {
        match self {
            Op::IntBinary { dst, a, b, .. }
            | Op::Mul { dst, a, b, .. }
            | Op::Mul24 { dst, a, b, .. }
            | Op::AddCarry { dst, a, b, .. }
            | Op::FloatBinary { dst, a, b, .. }
            | Op::Copysign { dst, a, b, .. }
            | Op::Logic { dst, a, b, .. }
            | Op::Bmsk { dst, pos: a, len: b, .. }
            | Op::Szext { dst, a, len: b, .. }
            | Op::Shift { dst, a, amount: b, .. }
            | Op::Mapa { dst, a, rank: b, .. }
            | Op::Redux { dst, a, membermask: b, .. } => {
                v.write(dst);
                reads(v, [a, b]);
            }
            Op::IntUnary { dst, a, .. }
            | Op::FloatUnary { dst, a, .. }
            | Op::Testp { dst, a, .. }
            | Op::Mov { dst, src: a, .. }
            | Op::Isspacep { dst, a, .. }
            | Op::Cvta { dst, a, .. }
            | Op::GetCtaRank { dst, a, .. }
            | Op::Alloca { dst, size: a, .. } => {
                v.write(dst);
                v.read(a);
            }
            Op::Mad { dst, a, b, c, .. }
            | Op::Mad24 { dst, a, b, c, .. }
            | Op::Sad { dst, a, b, c, .. }
            | Op::Fns { dst, mask: a, base: b, offset: c }
            | Op::Bfe { dst, a, pos: b, len: c, .. }
            | Op::Dp4a { dst, a, b, c, .. }
            | Op::Dp2a { dst, a, b, c, .. }
            | Op::MadCarry { dst, a, b, c, .. }
            | Op::Fma { dst, a, b, c, .. }
            | Op::Slct { dst, a, b, c, .. }
            | Op::Shf { dst, lo: a, hi: b, amount: c, .. }
            | Op::Prmt { dst, a, b, selector: c, .. } => {
                v.write(dst);
                reads(v, [a, b, c]);
            }
            Op::Bfi { dst, a, b, pos, len, .. } => {
                v.write(dst);
                reads(v, [a, b, pos, len]);
            }
            Op::FloatMinMax { dst, a, b, c, .. } | Op::CvtPack { dst, a, b, c, .. } => {
                v.write(dst);
                reads(v, [a, b]);
                reads(v, c);
            }
            Op::Set { combine, dst, a, b, .. } => {
                v.write(dst);
                reads(v, [a, b]);
                combine.iter_mut().for_each(|(_, predicate)| v.predicate(predicate));
            }
            Op::Setp { combine, dst_p, dst_q, a, b, .. } => {
                v.write(dst_p);
                writes(v, dst_q);
                reads(v, [a, b]);
                combine.iter_mut().for_each(|(_, predicate)| v.predicate(predicate));
            }
            Op::Selp { dst, a, b, c, .. } => {
                v.write(dst);
                reads(v, [a, b]);
                v.predicate(c);
            }
            Op::Lop3 { dst, dst_p, combine, a, b, c, .. } => {
                writes(v, dst.iter_mut().chain(dst_p));
                reads(v, [a, b, c]);
                combine.iter_mut().for_each(|(_, predicate)| v.predicate(predicate));
            }
            Op::Pack { dst, elements, .. } => {
                v.write(dst);
                reads(v, elements);
            }
            Op::Unpack { dst, src, .. } => {
                writes(v, dst);
                v.read(src);
            }
            Op::AddressOf { dst, target, .. } => {
                v.write(dst);
                v.target(target);
            }
            Op::ReadSpecial { dst, .. }
            | Op::CreatePolicy { dst }
            | Op::Activemask { dst }
            | Op::StackSave { dst, .. } => v.write(dst),
            Op::Ld { dst, addr, .. } => {
                writes(v, dst);
                v.address(addr);
            }
            Op::St { src, addr, .. } => {
                v.address(addr);
                reads(v, src);
            }
            Op::CacheHint { addr, .. } => v.address(addr),
            Op::Cvt { dst, a, b, random, .. } => {
                v.write(dst);
                v.read(a);
                reads(v, b.iter_mut().chain(random));
            }
            Op::Shfl { dst, dst_p, a, b, c, membermask, .. } => {
                v.write(dst);
                writes(v, dst_p);
                reads(v, [a, b, c, membermask]);
            }
            Op::Call { target, returns, args, .. } => {
                v.callee(target);
                args.iter_mut().for_each(|arg| match arg {
                    CallArg::Operand(operand) => v.read(operand),
                    CallArg::Param { .. } => {}
                });
                returns.iter_mut().for_each(|place| match place {
                    CallArg::Operand(Operand::Reg(reg)) => v.write(reg),
                    CallArg::Operand(Operand::Imm(_)) | CallArg::Param { .. } => {}
                });
            }
            Op::Atom { dst, addr, b, c, .. } => {
                writes(v, dst.iter_mut().flatten());
                v.address(addr);
                reads(v, b.iter_mut().chain(c));
            }
            Op::Vote { dst, src, membermask, .. } => {
                v.write(dst);
                v.predicate(src);
                v.read(membermask);
            }
            Op::Match { dst, dst_p, a, membermask, .. } => {
                v.write(dst);
                writes(v, dst_p);
                reads(v, [a, membermask]);
            }
            Op::Elect { dst, dst_p, membermask } => {
                writes(v, [dst, dst_p]);
                v.read(membermask);
            }
            Op::StackRestore { src, .. } | Op::Nanosleep { duration: src } => v.read(src),
            Op::Video(op) => {
                v.write(&mut op.dst);
                reads(v, [&mut op.a, &mut op.b]);
                reads(v, &mut op.c);
            }
            Op::Barrier(op) => visit_barrier(op, v),
            Op::Mbarrier(op) => {
                op.addr.iter_mut().for_each(|addr| v.address(addr));
                visit_mbarrier(&mut op.kind, v);
            }
            Op::Async(op) => visit_async(op, v),
            Op::Texture(op) => visit_texture(op, v),
            Op::Matrix(op) => visit_matrix(op, v),
            Op::Fence(_) | Op::Brkpt | Op::Hint(_) | Op::Unsupported => {}
        }
    }
}

fn visit_barrier(op: &mut BarrierOp, v: &mut dyn Visitor) {
    match op {
        BarrierOp::Sync { id, count, .. } => reads(v, std::iter::once(id).chain(count)),
        BarrierOp::Arrive { id, count, .. } => reads(v, [id, count]),
        BarrierOp::Reduce { dst, id, count, src, .. } => {
            v.write(dst);
            reads(v, std::iter::once(id).chain(count));
            v.predicate(src);
        }
        BarrierOp::Warp { membermask } => v.read(membermask),
        BarrierOp::ClusterArrive { .. } | BarrierOp::ClusterWait { .. } => {}
    }
}

fn visit_mbarrier(kind: &mut MbarrierKind, v: &mut dyn Visitor) {
    match kind {
        MbarrierKind::Inval => {}
        MbarrierKind::Init { count: operand }
        | MbarrierKind::ExpectTx { bytes: operand }
        | MbarrierKind::CompleteTx { bytes: operand } => v.read(operand),
        MbarrierKind::Arrive { state, count, .. } => {
            writes(v, state);
            reads(v, count);
        }
        MbarrierKind::Wait { dst, state, time_hint, .. } => {
            v.write(dst);
            reads(v, std::iter::once(state).chain(time_hint));
        }
        MbarrierKind::PendingCount { dst, state } => {
            v.write(dst);
            v.read(state);
        }
    }
}

fn visit_async(op: &mut AsyncOp, v: &mut dyn Visitor) {
    match op {
        AsyncOp::Copy { dst, src, src_size, ignore_src, .. } => {
            v.address(dst);
            v.address(src);
            reads(v, src_size);
            ignore_src.iter_mut().for_each(|predicate| v.predicate(predicate));
        }
        AsyncOp::MbarrierArrive { addr, .. } => v.address(addr),
        AsyncOp::Bulk { dst, src, size, mbarrier, multicast, byte_mask, .. } => {
            v.address(dst);
            v.address(src);
            mbarrier.iter_mut().for_each(|addr| v.address(addr));
            reads(v, std::iter::once(size).chain(multicast).chain(byte_mask));
        }
        AsyncOp::CommitGroup
        | AsyncOp::WaitGroup(_)
        | AsyncOp::BulkPrefetch
        | AsyncOp::BulkCommitGroup
        | AsyncOp::BulkWaitGroup { .. } => {}
    }
}

fn visit_texture(op: &mut TextureOp, v: &mut dyn Visitor) {
    match op {
        TextureOp::Tex { dst, resident, texture, sampler, coords, level, offset, depth_compare, .. } => {
            writes(v, dst.iter_mut().chain(resident));
            v.opaque(texture);
            sampler.iter_mut().for_each(|sampler| v.opaque(sampler));
            reads(v, coords);
            match level {
                MipLevel::Base => {}
                MipLevel::Level(level) => v.read(level),
                MipLevel::Gradient { x, y } => reads(v, x.iter_mut().chain(y)),
            }
            reads(v, offset.iter_mut().flatten().chain(depth_compare));
        }
        TextureOp::Query { dst, object, level, .. } => {
            v.write(dst);
            v.opaque(object);
            reads(v, level);
        }
        TextureOp::Load { dst, surface, coords, .. } => {
            writes(v, dst);
            v.opaque(surface);
            reads(v, coords);
        }
        TextureOp::Store { src, surface, coords, .. } => {
            v.opaque(surface);
            reads(v, src.iter_mut().chain(coords));
        }
        TextureOp::Reduce { src, surface, coords, .. } => {
            v.opaque(surface);
            reads(v, std::iter::once(src).chain(coords));
        }
        TextureOp::IsType { dst, a, .. } => {
            v.write(dst);
            v.read(a);
        }
    }
}

fn visit_matrix(op: &mut MatrixOp, v: &mut dyn Visitor) {
    match op {
        MatrixOp::WmmaLoad { dst, addr, stride, .. } => {
            writes(v, dst);
            v.address(addr);
            reads(v, stride);
        }
        MatrixOp::WmmaStore { src, addr, stride, .. } => {
            v.address(addr);
            reads(v, src.iter_mut().chain(stride));
        }
        MatrixOp::WmmaMma(product) | MatrixOp::Mma(product) => {
            let Product { d, a, b, c, sparse, .. } = product;
            writes(v, d);
            reads(v, a.iter_mut().chain(b).chain(c));
            sparse.iter_mut().for_each(|(metadata, ..)| v.read(metadata));
        }
        MatrixOp::LdMatrix { dst, addr, .. } => {
            writes(v, dst);
            v.address(addr);
        }
        MatrixOp::StMatrix { src, addr, .. } => {
            v.address(addr);
            reads(v, src);
        }
        MatrixOp::MovMatrix { dst, a } => {
            v.write(dst);
            v.read(a);
        }
    }
}
