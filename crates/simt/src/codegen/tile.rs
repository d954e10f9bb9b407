//! Tiles of eight rows of 16 bytes between the CTA's shared memory and registers (PTX ISA 9.7.14.5.15, 9.7.14.5.16), by functions.

use warploom_ptx::ir::{Address, Base, Inst, MatrixOp, Operand, ScalarType, Space};

use super::by_function::{Place, Written, parameters};
use super::exchange::WARP;
use super::function::{Val, Writer};
use super::names::Ty;
use super::window;

/// Rows of a tile.
const ROWS: u32 = 8;
/// Bytes of a row, which is also its alignment.
const ROW: i64 = 16;
/// Words of a tile: one of each lane.
const WORDS: u32 = WARP;

impl Writer<'_> {
    /// Loads or stores tiles of 8 by 8 elements of 16 bits, if all of them lie in shared memory.
    pub(super) fn tiles(&mut self, inst: &Inst, op: &MatrixOp) -> Result<Written, String> {
        let (MatrixOp::LdMatrix { shape, count, trans, space, bits, addr, .. }
        | MatrixOp::StMatrix { shape, count, trans, space, bits, addr, .. }) = op
        else {
            return Ok(Written::Nothing);
        };
        let is_covered = matches!(addr.base, Base::Reg(_)) && matches!(space, Space::Shared | Space::Generic);
        if (*shape, *bits) != ((8, 8), 16) || !is_covered {
            return Ok(Written::Nothing);
        }
        let (tiles, transposed) = (u32::from(*count), *trans);
        let other = self.for_all_lanes();
        self.steps = self.steps.max(1 + tiles);
        let offsets = self.offsets_of_rows(inst, addr, *space == Space::Shared)?;
        let at = self.offset("%steps", 0);
        self.store(&offsets, &at);
        let (results, places, name): (Vec<Place>, Vec<String>, String) = match op {
            MatrixOp::StMatrix { src, .. } => {
                let place = |(operand, slot): (&Operand, u32)| self.place_of_operand(*operand, ScalarType::B32, slot);
                let places = src.iter().zip(1..).map(place).collect();
                (Vec::new(), places, self.stores_tiles(tiles, transposed))
            }
            _ => {
                let place = |at: u32| self.place_of_result(inst, at as usize, 1 + at);
                let results: Vec<Place> = (0..tiles).map(place).collect();
                let places = results.iter().map(|place| place.pointer.clone()).collect();
                (results, places, self.loads_tiles(tiles, transposed))
            }
        };
        let (shared, size) = self.shared_memory();
        let places: Vec<String> = places.iter().map(|place| format!("ptr {place}")).collect();
        let call = format!("call i1 {name}(ptr {at}, ptr {shared}, i64 {}, {})", size.text, places.join(", "));
        let fine = self.set(Ty::int(1, 0), call);
        self.done_if(&fine, other, inst, (&results, 32))
    }

    /// How far behind the start of shared memory each lane's row begins.
    fn offsets_of_rows(&mut self, inst: &Inst, addr: &Address, is_shared: bool) -> Result<Val, String> {
        let Base::Reg(base) = addr.base else { return Err(self.lacks(inst)) };
        let address = self.operand(Operand::Reg(base), ScalarType::U64);
        let address = self.splat(&address);
        let by = self.constant(address.ty, addr.offset - if is_shared { 0 } else { window::SHARED });
        Ok(self.binary("add", &address, &by))
    }

    /// What functions begin with: they leave with 0 where a row of the tiles does not lie in shared memory.
    fn checks_rows(&mut self, tiles: u32) {
        let rows = Ty::int(64, ROWS * tiles);
        let offsets = self.load(rows, "%at");
        let (size, last) = (Val { text: "%size".to_owned(), ty: Ty::int(64, 0) }, ROW - 1);
        let last_of_all = self.constant(size.ty, last);
        let (room, limit) = (self.compare("ugt", &size, &last_of_all), self.binary("sub", &size, &last_of_all));
        let first = format!("insertelement {} poison, i64 {}, i64 0", rows.text(), limit.text);
        let first = self.set(rows, first);
        let limit = self.shuffled(&first, (0..rows.lanes).map(|_| 0));
        let (last, none) = (self.constant(rows, last), self.constant(rows, 0));
        let low = self.binary("and", &offsets, &last);
        let (inside, aligned) = (self.compare("ult", &offsets, &limit), self.compare("eq", &low, &none));
        let legal = self.binary("and", &inside, &aligned);
        let bits = Ty::int(rows.lanes, 0);
        let legal = self.set(bits, format!("bitcast {} {} to {}", legal.ty.text(), legal.text, bits.text()));
        let every = self.constant(bits, -1);
        let every = self.compare("eq", &legal, &every);
        let fine = self.binary("and", &every, &room);
        self.line(format!("br i1 {}, label %go, label %leave, !prof !2\nleave:\nret i1 false\ngo:", fine.text));
        self.known.clear();
    }

    /// Where a row is, of those that have been looked at.
    fn row_of_tile(&mut self, row: u32) -> String {
        let i64 = Ty::int(64, 0);
        let at = self.set(i64, format!("getelementptr i8, ptr %at, i64 {}", 8 * row));
        let offset = self.set(i64, format!("load i64, ptr {}", at.text));
        self.set(i64, format!("getelementptr i8, ptr %shared, i64 {}", offset.text)).text
    }

    /// A tile of 8 by 8 halves with rows and columns exchanged.
    fn exchanged_halves(&mut self, tile: &Val) -> Val {
        let halves = Ty::int(16, 2 * WORDS);
        let tile = self.set(halves, format!("bitcast {} {} to {}", tile.ty.text(), tile.text, halves.text()));
        let rows = i64::from(ROWS);
        let tile = self.shuffled(&tile, (0..i64::from(halves.lanes)).map(|at| at % rows * rows + at / rows));
        let words = Ty::int(32, WORDS);
        self.set(words, format!("bitcast {} {} to {}", tile.ty.text(), tile.text, words.text()))
    }

    /// The name of the function that loads so many tiles.
    fn loads_tiles(&mut self, tiles: u32, transposed: bool) -> String {
        self.function_of_rows("load", tiles, transposed, |this| {
            for tile in 0..tiles {
                let rows = (ROWS * tile..ROWS * (tile + 1)).map(|row| {
                    let row = this.row_of_tile(row);
                    this.load_memory(Ty::int(32, WORDS / ROWS), &row, ROW as u32)
                });
                let rows = rows.collect();
                let mut words = this.joined_in_pairs(rows);
                if transposed {
                    words = this.exchanged_halves(&words);
                }
                this.store(&words, &format!("%p{tile}"));
            }
        })
    }

    /// The name of the function that stores so many tiles.
    fn stores_tiles(&mut self, tiles: u32, transposed: bool) -> String {
        self.function_of_rows("store", tiles, transposed, |this| {
            for tile in 0..tiles {
                let mut words = this.load(Ty::int(32, WORDS), &format!("%p{tile}"));
                if transposed {
                    words = this.exchanged_halves(&words);
                }
                for row in 0..ROWS {
                    let to = this.row_of_tile(ROWS * tile + row);
                    let each = i64::from(WORDS / ROWS);
                    let first = each * i64::from(row);
                    let words = this.shuffled(&words, first..first + each);
                    this.store_memory(&words, &to, ROW as u32);
                }
            }
        })
    }

    /// Declares a function that does something with rows, if all are in shared memory, and names it.
    fn function_of_rows(&mut self, does: &str, tiles: u32, transposed: bool, write: impl FnOnce(&mut Self)) -> String {
        let body = self.written_apart(|this| {
            this.checks_rows(tiles);
            write(this);
            this.line("ret i1 true");
        });
        let name = format!("@{does}_{tiles}_tiles{}", if transposed { "_transposed" } else { "" });
        let registers = parameters(tiles as usize);
        self.plan.declare(format!(
            "define internal i1 {name}(ptr %at, ptr %shared, i64 %size, {registers}) #2 {{\n{body}}}"
        ));
        name
    }
}
