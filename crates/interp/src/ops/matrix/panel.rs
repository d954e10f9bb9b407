//! Fragments in registers to panels of numbers, and back.

use warploom_numerics::Rounding;
use warploom_numerics::format::{self, Bf16, E2m1, E2m3, E3m2, E4m3, E5m2, F16};
use warploom_ptx::ir::{Element, FragmentLayout, ScalarType};

use crate::frame::{Row32, Row64};

/// Eight lanes of consecutive quads, of which a warp has four sets.
const EIGHT: usize = 8;

/// Where the elements of a fragment lie in a panel.
#[derive(Clone, Debug)]
enum Route {
    /// The elements of every fourth lane follow each other: where the first one of lanes `quad`, `quad + 4`, ... lies, for each register, each element in it and each `quad`.
    Runs(Vec<u32>),
    /// For each register, each element in it and each lane.
    Places(Vec<u32>),
}

/// The registers of a fragment and the places of their elements in a panel.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// The registers' rows.
    pub(crate) rows: Vec<u32>,
    route: Route,
    bits: u32,
    per_register: u32,
}

impl Panel {
    /// The fragment in `rows`, whose element lies where `place` says.
    pub(crate) fn new(layout: &FragmentLayout, rows: &[u32], place: impl Fn(Element) -> usize) -> Self {
        let per_register = layout.per_register();
        let rows = rows[..layout.distinct(rows.len())].to_vec();
        let all: Vec<u32> = (0..rows.len() as u32)
            .flat_map(|register| (0..per_register).map(move |element| (register, element)))
            .flat_map(|(register, element)| (0..32).map(move |lane| (lane, register, element)))
            .map(|(lane, register, element)| place(layout.place(lane, register, element)) as u32)
            .collect();
        let first = |places: &[u32]| -> Option<Vec<u32>> {
            (0..4)
                .map(|quad| {
                    let run = (0..EIGHT).all(|group| places[4 * group + quad] == places[quad] + group as u32);
                    run.then_some(places[quad])
                })
                .collect()
        };
        let runs: Option<Vec<Vec<u32>>> = all.chunks_exact(32).map(first).collect();
        let route = match runs {
            Some(runs) => Route::Runs(runs.concat()),
            None => Route::Places(all),
        };
        Self { rows, route, bits: layout.bits, per_register }
    }

    /// Puts the elements into `panel`; `value` makes one of a register whose low bits it is.
    #[inline(always)]
    fn read<T: Copy + Default>(&self, registers: &[Row32], panel: &mut [T], value: impl Fn(u32) -> T) {
        let steps = self.per_register as usize;
        match &self.route {
            Route::Runs(runs) => {
                for (row, runs) in self.rows.iter().zip(runs.chunks_exact(4 * steps)) {
                    let quads = by_quad(&registers[*row as usize]);
                    for (element, runs) in runs.chunks_exact(4).enumerate() {
                        let shift = element as u32 * self.bits;
                        for (words, run) in quads.iter().zip(runs) {
                            let place = &mut panel[*run as usize..][..EIGHT];
                            for lane in 0..EIGHT {
                                place[lane] = value(words[lane] >> (shift & 31));
                            }
                        }
                    }
                }
            }
            Route::Places(places) => {
                for (row, places) in self.rows.iter().zip(places.chunks_exact(32 * steps)) {
                    let words = &registers[*row as usize];
                    for (index, place) in places.iter().enumerate() {
                        let shift = (index / 32) as u32 * self.bits;
                        panel[*place as usize] = value(words[index % 32] >> (shift & 31));
                    }
                }
            }
        }
    }

    /// Puts elements of type `ty`, which has at most 32 bits, as numbers into `panel`.
    #[inline(always)]
    pub(crate) fn read_numbers(&self, ty: ScalarType, registers: &[Row32], panel: &mut [f32]) {
        match ty {
            ScalarType::F16 => self.read(registers, panel, |word| format::widen::<F16>(word & 0xffff)),
            ScalarType::Bf16 => self.read(registers, panel, |word| format::widen::<Bf16>(word & 0xffff)),
            ScalarType::E4m3 => self.read(registers, panel, |word| format::widen::<E4m3>(word & 0xff)),
            ScalarType::E5m2 => self.read(registers, panel, |word| format::widen::<E5m2>(word & 0xff)),
            ScalarType::E3m2 => self.read(registers, panel, |word| format::widen::<E3m2>(word & 0x3f)),
            ScalarType::E2m3 => self.read(registers, panel, |word| format::widen::<E2m3>(word & 0x3f)),
            // In a byte it is in the middle (PTX ISA 9.7.14.5.14).
            ScalarType::E2m1 => {
                let shift = (self.bits - 4) / 2;
                self.read(registers, panel, |word| format::widen::<E2m1>(word >> shift & 0xf));
            }
            // The bits that the type lacks have no say.
            ScalarType::Tf32 => self.read(registers, panel, |word| f32::from_bits(word & 0xffff_e000)),
            ScalarType::U8 => self.read(registers, panel, |word| (word & 0xff) as i32 as f32),
            ScalarType::S8 => self.read(registers, panel, |word| i32::from(word as i8) as f32),
            ScalarType::U4 => self.read(registers, panel, |word| (word & 0xf) as i32 as f32),
            ScalarType::S4 => self.read(registers, panel, |word| (((word << 28) as i32) >> 28) as f32),
            _ => self.read(registers, panel, f32::from_bits),
        }
    }

    /// [`Panel::read_numbers`] of summands, which are `.f16` or `.f32`.
    #[inline(always)]
    pub(crate) fn read_summands(&self, ty: ScalarType, registers: &[Row32], panel: &mut [f32]) {
        match ty {
            ScalarType::F16 => self.read(registers, panel, |word| format::widen::<F16>(word & 0xffff)),
            _ => self.read(registers, panel, f32::from_bits),
        }
    }

    /// Makes registers of numbers of `ty`, `.f16` or `.f32`.
    #[inline(always)]
    pub(crate) fn write_numbers(&self, ty: ScalarType, registers: &mut [Row32], panel: &[f32]) {
        let half = |value: f32| format::narrow::<F16>(f64::from(value), Rounding::Nearest, false);
        match ty {
            ScalarType::F16 => self.write(registers, panel, half),
            _ => self.write(registers, panel, f32::to_bits),
        }
    }

    /// Puts registers as they are into `panel`.
    #[inline(always)]
    pub(crate) fn read_words(&self, registers: &[Row32], panel: &mut [u32]) {
        self.read(registers, panel, |word| word);
    }

    /// Makes registers of the elements in `panel`; `word` makes the low bits of a register of one.
    #[inline(always)]
    pub(crate) fn write<T: Copy + Default>(&self, registers: &mut [Row32], panel: &[T], word: impl Fn(T) -> u32) {
        let steps = self.per_register as usize;
        match &self.route {
            Route::Runs(runs) => {
                for (row, runs) in self.rows.iter().zip(runs.chunks_exact(4 * steps)) {
                    let mut quads = [[0; EIGHT]; 4];
                    for (element, runs) in runs.chunks_exact(4).enumerate() {
                        let shift = element as u32 * self.bits;
                        for (words, run) in quads.iter_mut().zip(runs) {
                            let place = &panel[*run as usize..][..EIGHT];
                            for lane in 0..EIGHT {
                                words[lane] |= word(place[lane]) << (shift & 31);
                            }
                        }
                    }
                    registers[*row as usize] = by_lane(&quads);
                }
            }
            Route::Places(places) => {
                for (row, places) in self.rows.iter().zip(places.chunks_exact(32 * steps)) {
                    let mut words = [0; 32];
                    for (index, place) in places.iter().enumerate() {
                        let shift = (index / 32) as u32 * self.bits;
                        words[index % 32] |= word(panel[*place as usize]) << (shift & 31);
                    }
                    registers[*row as usize] = words;
                }
            }
        }
    }

    /// Puts elements of `.f64`, of which a register holds one, into `panel`.
    #[inline(always)]
    pub(crate) fn read_doubles(&self, registers: &[Row64], panel: &mut [f64]) {
        match &self.route {
            Route::Runs(runs) => {
                for (row, runs) in self.rows.iter().zip(runs.as_chunks::<4>().0) {
                    let quads = by_quad(&registers[*row as usize]);
                    for (words, run) in quads.iter().zip(runs) {
                        panel[*run as usize..][..EIGHT].copy_from_slice(&words.map(f64::from_bits));
                    }
                }
            }
            Route::Places(places) => {
                for (row, places) in self.rows.iter().zip(places.as_chunks::<32>().0) {
                    for (word, place) in registers[*row as usize].iter().zip(places) {
                        panel[*place as usize] = f64::from_bits(*word);
                    }
                }
            }
        }
    }

    /// Makes registers of `.f64` of the elements in `panel`.
    #[inline(always)]
    pub(crate) fn write_doubles(&self, registers: &mut [Row64], panel: &[f64]) {
        match &self.route {
            Route::Runs(runs) => {
                for (row, runs) in self.rows.iter().zip(runs.as_chunks::<4>().0) {
                    let quads = runs.map(|run| {
                        let run = &panel[run as usize..][..EIGHT];
                        std::array::from_fn(|lane| run[lane].to_bits())
                    });
                    registers[*row as usize] = by_lane(&quads);
                }
            }
            Route::Places(places) => {
                for (row, places) in self.rows.iter().zip(places.as_chunks::<32>().0) {
                    registers[*row as usize] = places.map(|place| panel[place as usize].to_bits());
                }
            }
        }
    }
}

/// The lanes of a row by their place in a quad.
#[inline(always)]
fn by_quad<W: Copy>(row: &[W; 32]) -> [[W; EIGHT]; 4] {
    std::array::from_fn(|quad| std::array::from_fn(|group| row[4 * group + quad]))
}

/// A row of which the lanes are given by their place in a quad.
#[inline(always)]
fn by_lane<W: Copy>(quads: &[[W; EIGHT]; 4]) -> [W; 32] {
    std::array::from_fn(|lane| quads[lane % 4][lane / 4])
}
