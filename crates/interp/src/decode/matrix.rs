//! Matrix instructions (PTX ISA 9.7.14, 9.7.15).

use warploom_numerics::Rounding;
use warploom_numerics::matrix::integer::Bits;
use warploom_numerics::matrix::{FactorFormat, Scale, Scheme, Sizes};
use warploom_ptx::ir::{
    self, Address, BitOp, BlockScale, BlockScales, Fragment, FragmentLayout, Layout, MatrixKind, MatrixOp, Operand,
    Product, Reg, ScalarType, Shape, Space, WarpgroupFactor, WarpgroupProduct,
};

use super::access::Location;
use super::{Decoded, Decoder, enter};
use crate::isa::Op;
use crate::ops::matrix::load_store::{self, FragmentSite, Pieces};
use crate::ops::matrix::panel::Panel;
use crate::ops::matrix::product::{self, ProductSite, Selection, Sparse, Sums};
use crate::ops::matrix::scales::{ScaleSite, Scaling, Selected};
use crate::ops::matrix::tile::{self, Order, TileSite};
use crate::ops::matrix::warpgroup::{self, Factor, WarpgroupSite};

impl Decoder<'_> {
    pub(super) fn matrix(&mut self, op: &MatrixOp) -> Decoded {
        match op {
            MatrixOp::WmmaLoad { fragment, layout, shape, space, ty, dst, addr, stride } => {
                let rows: Vec<u32> = dst.iter().map(|&reg| self.out(*ty, reg)).collect();
                let what = (*fragment, *layout, *shape, *ty);
                let site = self.fragment_site(what, *space, addr, *stride, rows)?;
                self.emit(Op::lanes_control::<load_store::LoadFragment>(), 0, [0; 3], site);
            }
            MatrixOp::WmmaStore { layout, shape, space, ty, src, addr, stride } => {
                let rows: Vec<u32> = src.iter().map(|&value| self.source(*ty, value)).collect();
                let what = (Fragment::C, *layout, *shape, *ty);
                let site = self.fragment_site(what, *space, addr, *stride, rows)?;
                self.emit(Op::lanes_control::<load_store::StoreFragment>(), 0, [0; 3], site);
            }
            MatrixOp::WmmaMma(product) | MatrixOp::Mma(product) => {
                let site = self.product(product);
                let site = enter(&mut self.function.products, site);
                self.emit(Op::lanes_control::<product::Product>(), 0, [0; 3], site);
            }
            MatrixOp::LdMatrix { shape, count: _, trans, space, bits, dst, addr } => {
                let rows: Vec<u32> = dst.iter().map(|&reg| self.word_out(reg, false)).collect();
                let site = self.tile_site(*space, addr, (*shape, *trans, *bits), rows)?;
                self.emit(Op::lanes_control::<tile::LoadTiles>(), 0, [0; 3], site);
            }
            MatrixOp::StMatrix { shape, count: _, trans, space, bits, src, addr } => {
                let rows: Vec<u32> = src.iter().map(|&value| self.word(value)).collect();
                let site = self.tile_site(*space, addr, (*shape, *trans, *bits), rows)?;
                self.emit(Op::lanes_control::<tile::StoreTiles>(), 0, [0; 3], site);
            }
            MatrixOp::MovMatrix { dst, a } => {
                let a = self.word(*a);
                let d = self.word_out(*dst, false);
                self.emit(Op::lanes_control::<tile::Transpose>(), d, [a, 0, 0], 0);
            }
            MatrixOp::WarpgroupMma(product) => {
                let site = self.warpgroup_product(product);
                let site = enter(&mut self.function.warpgroup_products, site);
                self.emit(Op::lanes_control::<warpgroup::Product>(), 0, [0; 3], site);
            }
            MatrixOp::WarpgroupFence => self.emit(Op::control(warpgroup::fence), 0, [0; 3], 0),
            MatrixOp::WarpgroupCommit => self.emit(Op::control(warpgroup::commit), 0, [0; 3], 0),
            MatrixOp::WarpgroupWait { pending } => self.emit(Op::control(warpgroup::wait), 0, [0; 3], *pending),
        }
        Ok(())
    }

    fn tile_site(
        &mut self,
        space: Space,
        addr: &Address,
        (shape, trans, bits): ((u16, u16), bool, u32),
        rows: Vec<u32>,
    ) -> Decoded<u32> {
        let Location { space, base, offset } = self.address(space, addr)?;
        let order = match shape {
            (16, 16) => Order::Columns,
            (16, 8) => Order::Accumulator,
            _ if trans => Order::Transposed,
            _ => Order::Rows,
        };
        Ok(enter(&mut self.function.tiles, TileSite { space, base, offset, order, bits, rows }))
    }

    fn fragment_site(
        &mut self,
        (fragment, layout, shape, ty): (Fragment, Layout, Shape, ScalarType),
        space: Space,
        addr: &Address,
        stride: Option<Operand>,
        rows: Vec<u32>,
    ) -> Decoded<u32> {
        let Location { space, base, offset } = self.address(space, addr)?;
        let spread = FragmentLayout::warp(fragment, shape, ty.bits(), rows.len());
        let pieces = Pieces::of(&spread, layout, rows.len());
        let (runs, length) = match layout {
            Layout::Row => (spread.rows, spread.columns),
            Layout::Col => (spread.columns, spread.rows),
        };
        // Without a stride the runs follow each other (PTX ISA 9.7.14.4.11).
        let stride = self.word(stride.unwrap_or(Operand::Imm(u64::from(length))));
        let bits = ty.bits();
        let align = if bits < 8 { 4 } else { u64::from(bits / 8) };
        let (runs, run_bytes) = (usize::from(runs), usize::from(length) * bits as usize / 8);
        let site = FragmentSite { space, base, offset, stride, runs, run_bytes, bits, rows, pieces, align };
        Ok(enter(&mut self.function.fragments, site))
    }

    fn rows_of(&mut self, ty: ScalarType, values: &[Operand]) -> Vec<u32> {
        values.iter().map(|&value| self.source(ty, value)).collect()
    }

    fn rows_for(&mut self, ty: ScalarType, regs: &[Reg]) -> Vec<u32> {
        regs.iter().map(|&reg| self.out(ty, reg)).collect()
    }

    fn product(&mut self, product: &Product) -> ProductSite {
        let Product { shape, a_ty, b_ty, c_ty, d_ty, .. } = *product;
        let bits = a_ty == ScalarType::B1;
        // Products of bits count in words.
        let held = |ty: ScalarType| match product.kind {
            _ if bits => 32,
            Some(kind) if ty.bits() <= 8 => kind.element_bits(),
            _ => ty.bits(),
        };
        let (a_bits, k) = (held(a_ty), if bits { shape.k / 32 } else { shape.k });
        let sizes = Sizes { m: shape.m.into(), n: shape.n.into(), k: k.into() };
        let quad_pairs = a_ty == ScalarType::F16 && (shape.m, shape.n, shape.k) == (8, 8, 4);
        let half = c_ty == ScalarType::F16 && d_ty == ScalarType::F16;
        let is_sparse = product.sparse.is_some();
        let real = Scheme::warp([a_ty, b_ty].map(|ty| format_of(product.kind, ty)), sizes.k, is_sparse, half);
        let sums = match (&product.scales, product.kind, a_ty) {
            (Some(scales), Some(MatrixKind::Mxf4 | MatrixKind::Mxf4nvf4), _) => {
                Sums::Scaled(Scaling::Groups(if is_sparse { 32 } else { 16 }), self.scales(scales))
            }
            (Some(scales), ..) => Sums::Scaled(Scaling::Whole(real.accumulation), self.scales(scales)),
            (.., ScalarType::F64) => Sums::Double(rounding(product.rnd)),
            (.., ScalarType::B1) => Sums::Bits(match product.bit_op {
                Some(BitOp::AndPopc) => Bits::And,
                _ => Bits::Xor,
            }),
            _ if !a_ty.is_float() => Sums::Integer,
            _ if quad_pairs && !half => Sums::RealInOrder,
            _ => Sums::Real(real),
        };
        let order = |k: u16| match sums {
            Sums::Real(scheme) => scheme.place(k.into()),
            _ => k.into(),
        };
        let layout = |fragment, ty: ScalarType, registers: usize| match quad_pairs {
            true => {
                let layout = if fragment == Fragment::A { product.a_layout } else { product.b_layout };
                FragmentLayout::quad_pairs(fragment, layout, held(ty))
            }
            false => FragmentLayout::warp(fragment, Shape { k, ..shape }, held(ty), registers),
        };
        let products = if quad_pairs { 4 } else { 1 };
        let Sizes { m, n, .. } = sizes;
        let part = |matrix: u16, len: usize| usize::from(matrix) * len;
        let a_place = |e: ir::Element| part(e.matrix, m * sizes.k) + order(e.column) * m + usize::from(e.row);
        let b_place = |e: ir::Element| part(e.matrix, n * sizes.k) + order(e.row) * n + usize::from(e.column);
        let d_place = |e: ir::Element| part(e.matrix, m * n) + usize::from(e.column) * m + usize::from(e.row);
        let (a, b, c) =
            (self.rows_of(a_ty, &product.a), self.rows_of(b_ty, &product.b), self.rows_of(c_ty, &product.c));
        let d = self.rows_for(d_ty, &product.d);
        let (a, sparse) = match &product.sparse {
            None => (Panel::new(&layout(Fragment::A, a_ty, a.len()), &a, a_place), None),
            Some((metadata, selector, _)) => {
                let metadata = self.word(*metadata);
                let kept = Shape { k: k / 2, ..shape };
                let kept = FragmentLayout::warp(Fragment::A, kept, a_bits, a.len());
                let panel = Panel::new(&kept, &a, |e| usize::from(e.column) * m + usize::from(e.row));
                let selections =
                    selections(a_bits, kept.columns, shape.m, *selector, |row, k| order(k) * m + usize::from(row));
                (panel, Some(Sparse { metadata, selections }))
            }
        };
        ProductSite {
            sums,
            sizes,
            products,
            satfinite: product.satfinite,
            a_ty,
            b_ty,
            c_ty,
            d_ty,
            a,
            b: Panel::new(&layout(Fragment::B, b_ty, b.len()), &b, b_place),
            c: Panel::new(&layout(Fragment::C, c_ty, c.len()), &c, d_place),
            d: Panel::new(&layout(Fragment::C, d_ty, d.len()), &d, d_place),
            sparse,
        }
    }

    fn scales(&mut self, scales: &BlockScales) -> ScaleSite {
        let format = if scales.ty == ScalarType::Ue4m3 { Scale::Ue4m3 } else { Scale::Ue8m0 };
        let mut selected = |scale: &BlockScale| Selected {
            data: self.word(scale.data),
            byte: self.word(scale.byte),
            thread: self.word(scale.thread),
        };
        let (a, b) = (selected(&scales.a), selected(&scales.b));
        ScaleSite { format, blocks: scales.blocks.into(), a, b }
    }
}

/// The format of factors of a product. sm_120 has its own kinds of products of bytes, which are summed like wider factors.
fn format_of(kind: Option<MatrixKind>, ty: ScalarType) -> FactorFormat {
    match (kind, ty) {
        (None, ScalarType::F16) => FactorFormat::Half,
        (None, ScalarType::E4m3) => FactorFormat::E4m3,
        (None, ScalarType::E5m2) => FactorFormat::E5m2,
        _ => FactorFormat::Wide,
    }
}

impl Decoder<'_> {
    fn warpgroup_product(&mut self, product: &WarpgroupProduct) -> WarpgroupSite {
        let WarpgroupProduct { shape, d_ty, a_ty, b_ty, .. } = *product;
        let bits = a_ty == ScalarType::B1;
        let (held, k) = if bits { (32, shape.k / 32) } else { (a_ty.bits(), shape.k) };
        let rows = warpgroup::ROWS as u16;
        let sizes = Sizes { m: warpgroup::ROWS, n: shape.n.into(), k: k.into() };
        let factors = [a_ty, b_ty].map(|ty| format_of(None, ty));
        let scheme = a_ty.is_float().then(|| Scheme::warpgroup(factors, sizes.k, d_ty == ScalarType::F16));
        let by_column = |e: ir::Element| usize::from(e.column) * sizes.m + usize::from(e.row);
        let a = match &product.a {
            WarpgroupFactor::Shared(descriptor) => {
                Factor::Shared { descriptor: self.double(*descriptor), transposed: product.transpose_a }
            }
            WarpgroupFactor::Registers(values) => {
                let values = self.rows_of(a_ty, values);
                let kept = if product.sparse.is_some() { k / 2 } else { k };
                let layout = FragmentLayout::warp(Fragment::A, Shape { m: rows, n: 8, k: kept }, held, values.len());
                Factor::Registers(Panel::new(&layout, &values, by_column))
            }
        };
        let sparse = product.sparse.map(|(metadata, selector)| {
            let place = |row: u16, k: u16| usize::from(k) * sizes.m + usize::from(row);
            Sparse { metadata: self.word(metadata), selections: selections(held, k / 2, rows, selector, place) }
        });
        let (c, d) = (self.rows_of(d_ty, &product.c), self.rows_for(d_ty, &product.d));
        let layout = FragmentLayout::warp(Fragment::C, Shape { m: rows, ..shape }, d_ty.bits(), d.len());
        WarpgroupSite {
            scheme,
            sizes,
            satfinite: product.satfinite,
            a_ty,
            b_ty,
            d_ty,
            a,
            b: Factor::Shared { descriptor: self.double(product.b), transposed: product.transpose_b },
            c: Panel::new(&layout, &c, by_column),
            d: Panel::new(&layout, &d, by_column),
            adds: self.predicate(product.scale_d),
            negative: product.negate_a != product.negate_b,
            sparse,
        }
    }
}

fn rounding(rounding: Option<ir::Rounding>) -> Rounding {
    match rounding {
        Some(ir::Rounding::Rz) => Rounding::Zero,
        Some(ir::Rounding::Rm) => Rounding::Down,
        Some(ir::Rounding::Rp) => Rounding::Up,
        _ => Rounding::Nearest,
    }
}

/// For each element of the kept half of `a`, `columns` of them in each of `m` rows, where its metadata lie and where they may put it (PTX ISA 9.7.14.6.2).
///
/// Two bits say which of four elements one is, or which of four pairs for elements of 4 bits; four bits which of two for elements of 32 bits. Rows of up to 16
/// bits of metadata lie in the low halves of words, and those of the rows eight on in the high halves; longer ones in words of their own, by lanes of a quad in turn.
/// What does not fill the words of a quad is chosen by the selector.
fn selections(bits: u32, columns: u16, m: u16, selector: u32, place: impl Fn(u16, u16) -> usize) -> Vec<Selection> {
    // How many elements are chosen together, among how many sets of them, by how many bits of metadata.
    let (together, choices, field) = match bits {
        4 => (2, 4, 2),
        32 => (1, 2, 4),
        _ => (1, 4, 2),
    };
    // A word has one row's metadata, or half of it.
    let halves = bits >= 16;
    let per_word: u16 = if halves { 16 } else { 32 } / field;
    let chunks = columns / together / per_word;
    let mut selections = Vec::with_capacity(usize::from(columns * m));
    for column in 0..columns {
        for row in 0..m {
            let chosen = column / together;
            let chunk = u32::from(chosen / per_word);
            // The selector counts the lanes, or pairs of lanes, that take part.
            let word = selector * u32::from(chunks.max(1)) + chunk;
            let (group, upper) = (u32::from(row % 8), u32::from(row / 8));
            let lane = 4 * group + if halves { word } else { 2 * word + upper };
            let shift = chosen % per_word * field + if halves { 16 * upper as u16 } else { 0 };
            // Of each set two are kept, or one of two.
            let kept = if choices == 4 { 2 } else { 1 };
            let set = chosen / kept * choices;
            let places = std::array::from_fn(|value| {
                let choice = match choices {
                    4 => value as u16 % 4,
                    // 0b0100 the first and 0b1110 the second.
                    _ => u16::from(value as u16 >> 2 & 3 == 3),
                };
                place(row, (set + choice) * together + column % together) as u32
            });
            selections.push(Selection { lane: lane as u8, shift: shift as u8, field: (1 << field) - 1, places });
        }
    }
    selections
}
