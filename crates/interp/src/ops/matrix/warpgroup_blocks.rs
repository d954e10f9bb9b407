//! Products of a warpgroup whose factors come from shared memory by whole tiles, as registers have them, and need no panels between: those of `.f16`, `.bf16` and `.tf32`.

use pulp::bytemuck::{cast, pod_read_unaligned};
use warploom_exec::fault::FaultKind;
use warploom_numerics::matrix::Arrays;
use warploom_ptx::ir::ScalarType;

use super::descriptor::{Descriptor, UNIT};
use super::fragments::{self, Blocks};
use super::product::Panels;
use super::tile::transposed;
use super::warpgroup::{Factor, ROWS, WARPS, WarpgroupSite};
use crate::frame::Row32;
use crate::isa::Isa;
use crate::machine::Machine;
use crate::memory::StateSpace;
use crate::ops::shared::range;

/// Rows or columns of a tile, and its units.
const EIGHT: usize = 8;

impl WarpgroupSite {
    /// Whether the product is one for this.
    pub(super) fn is_of_blocks(&self) -> bool {
        let wide = matches!(self.a_ty, ScalarType::F16 | ScalarType::Bf16 | ScalarType::Tf32);
        wide && self.a_ty == self.b_ty && self.sparse.is_none() && self.scheme.is_some()
    }

    /// What turns the sign of a word's elements, if products have the opposite one.
    fn signs(&self) -> u32 {
        match (self.negative, self.a_ty) {
            (false, _) => 0,
            (true, ScalarType::Tf32) => 1 << 31,
            (true, _) => 0x8000_8000,
        }
    }
}

impl Machine<'_> {
    /// Computes the product of a warp.
    #[inline(never)]
    pub(super) fn warpgroup_blocks(&mut self, site: &WarpgroupSite, panels: &mut Panels) -> Result<(), FaultKind> {
        let Some(scheme) = site.scheme else { return Ok(()) };
        let mut left = [[0; 32]; 4];
        match &site.a {
            Factor::Registers(panel) => {
                for (tile, row) in left.iter_mut().zip(&panel.rows) {
                    *tile = self.frame.r32[*row as usize];
                }
            }
            &Factor::Shared { descriptor, transposed } => {
                let descriptor = self.matrix_descriptor(descriptor)?;
                let first = self.warp.index as usize % WARPS * (ROWS / EIGHT);
                for (number, tile) in left.iter_mut().enumerate() {
                    *tile = self.tile_of(&descriptor, transposed, first + number % 2, number / 2)?;
                }
            }
        }
        let signs = site.signs();
        left.as_flattened_mut().iter_mut().for_each(|word| *word ^= signs);
        let &Factor::Shared { descriptor, transposed } = &site.b else { return Ok(()) };
        let descriptor = self.matrix_descriptor(descriptor)?;
        let Panels { ready, tiles, .. } = panels;
        tiles.clear();
        for block in 0..site.sizes.n / EIGHT {
            for half in 0..2 {
                tiles.push(self.tile_of(&descriptor, transposed, block, half)?);
            }
        }
        let adds = self.predicate(site.adds) & 1 != 0;
        let blocks = Blocks {
            how: scheme.accumulation,
            ty: site.a_ty,
            sums: site.d_ty,
            left: &left,
            right: tiles,
            c: adds.then_some(&site.c.rows),
            d: &site.d.rows,
        };
        let registers = &mut self.frame.r32;
        match self.isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(token) => fragments::multiply_blocks(token, &blocks, registers, ready),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(token) => fragments::multiply_blocks(token, &blocks, registers, ready),
            Isa::Baseline => fragments::multiply_blocks(Arrays, &blocks, registers, ready),
        }
        Ok(())
    }

    /// A tile of a matrix: the `eight`th eight rows or columns, in half of `k`.
    #[inline(always)]
    fn tile_of(
        &mut self,
        descriptor: &Descriptor,
        is_transposed: bool,
        eight: usize,
        half: usize,
    ) -> Result<Row32, FaultKind> {
        // Addresses of descriptors have no room for the rank of a CTA.
        let own = u64::from(self.cta.base);
        let place = |row: usize| match is_transposed {
            true => descriptor.across(eight as u64, (EIGHT * half + row) as u64),
            false => descriptor.along((EIGHT * eight + row) as u64, half as u64),
        };
        let mut tile: Row32 = [0; 32];
        for (row, words) in tile.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let place = place(row);
            *words = match range(&self.cta.shared, place, UNIT as usize, UNIT as usize).map(pod_read_unaligned) {
                Some(words) => words,
                None => cast(self.load(StateSpace::Shared, own + place, UNIT as u32, 0)?),
            };
        }
        Ok(if is_transposed { transposed(&tile) } else { tile })
    }
}
