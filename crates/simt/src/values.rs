//! Values: what a register holds between writes and the reads that they reach.
//!
//! PTX writes a register as often as it likes, and for several purposes. A value is one of them: all writes of a register of which some
//! read may see either, and those reads. So what holds for a value holds wherever it is read, and a register that is used again for
//! something else does no harm. A write under a guard leaves other lanes with what was there before, so both belong together.

use std::collections::HashMap;

use smallvec::SmallVec;
use warploom_ptx::ir::{Base, Body, Cfg, Op, Operand, OperandRef, Reg, ScalarType};

/// A value, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ValueId(pub u32);

/// What is known of a value from the text.
#[derive(Clone, Debug)]
pub struct Value {
    /// The register.
    pub reg: Reg,
    /// As declared.
    pub ty: ScalarType,
    /// The instructions that write it, in order.
    pub defs: SmallVec<[u32; 2]>,
    /// Some way from the beginning of the kernel to a read passes none of these.
    pub undefined: bool,
    /// How many values of the same register have lower numbers.
    pub version: u32,
}

/// The values of a body.
#[derive(Clone, Debug)]
pub struct Values {
    all: Vec<Value>,
    /// By instruction, then by block: where the operands begin in `operands`.
    starts: Vec<u32>,
    /// In the order of [`warploom_ptx::ir::Inst::operands`]; constants have none.
    operands: Vec<Option<ValueId>>,
    /// By block: those that are read there or later, and hold what they had at its beginning. In ascending order.
    live_in: Vec<Vec<ValueId>>,
    insts: usize,
}

impl Values {
    /// Finds them.
    pub fn new(body: &Body) -> Values {
        Builder::new(body).build()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (ValueId, &Value)> {
        (0u32..).map(ValueId).zip(&self.all)
    }

    /// One of them.
    pub fn get(&self, id: ValueId) -> &Value {
        &self.all[id.0 as usize]
    }

    /// The values of an instruction's operands, in the order of [`warploom_ptx::ir::Inst::operands`].
    pub fn of_inst(&self, inst: u32) -> &[Option<ValueId>] {
        let inst = inst as usize;
        &self.operands[self.starts[inst] as usize..self.starts[inst + 1] as usize]
    }

    /// The values of the operands of a block's end, likewise.
    pub fn of_end(&self, block: u32) -> &[Option<ValueId>] {
        let at = self.insts + block as usize;
        &self.operands[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// What is alive at the beginning of a block.
    pub fn live_in(&self, block: u32) -> &[ValueId] {
        &self.live_in[block as usize]
    }

    /// The value that an instruction reads as an operand; none of a constant.
    pub fn read(&self, body: &Body, inst: u32, operand: Operand) -> Option<ValueId> {
        let reg = operand.reg()?;
        let operands = body.insts[inst as usize].operands();
        paired(&operands, self.of_inst(inst)).find(|(operand, _)| operand.read() == Some(reg))?.1
    }

    /// The value that is the address of an access, of one whose address is in a register.
    pub fn address(&self, body: &Body, inst: u32) -> Option<ValueId> {
        let (Op::Ld { addr, .. } | Op::St { addr, .. } | Op::Atom { addr, .. }) = &body.insts[inst as usize].op else {
            return None;
        };
        let Base::Reg(reg) = addr.base else { return None };
        self.read(body, inst, Operand::Reg(reg))
    }

    /// The first value that an instruction writes.
    pub fn written(&self, body: &Body, inst: u32) -> Option<ValueId> {
        let operands = body.insts[inst as usize].operands();
        operands.iter().zip(self.of_inst(inst)).find_map(|(operand, value)| value.filter(|_| operand.def().is_some()))
    }
}

/// Joins what may be one value, with disjoint sets of nodes: one for each write, and one for each register and block at whose
/// beginning it is alive.
struct Builder<'b> {
    body: &'b Body,
    cfg: Cfg,
    joined: Vec<u32>,
    /// By node: the register.
    regs: Vec<Reg>,
    /// By node: the instruction that makes it, for writes.
    writes: Vec<Option<u32>>,
    /// Nodes that stand for a register at the beginning of the kernel.
    undefined: Vec<u32>,
    /// By register and block: what it holds at the beginning.
    begins: HashMap<(Reg, u32), u32>,
    /// By block and register: what the last write in it makes.
    ends: Vec<HashMap<Reg, u32>>,
    pending: Vec<(Reg, u32)>,
}

impl<'b> Builder<'b> {
    fn new(body: &'b Body) -> Self {
        Builder {
            body,
            cfg: Cfg::new(body),
            joined: Vec::new(),
            regs: Vec::new(),
            writes: Vec::new(),
            undefined: Vec::new(),
            begins: HashMap::new(),
            ends: vec![HashMap::new(); body.blocks.len()],
            pending: Vec::new(),
        }
    }

    fn node(&mut self, reg: Reg, write: Option<u32>) -> u32 {
        let node = self.joined.len() as u32;
        self.joined.push(node);
        self.regs.push(reg);
        self.writes.push(write);
        node
    }

    fn find(&mut self, mut node: u32) -> u32 {
        while self.joined[node as usize] != node {
            self.joined[node as usize] = self.joined[self.joined[node as usize] as usize];
            node = self.joined[node as usize];
        }
        node
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.joined[a.max(b) as usize] = a.min(b);
    }

    /// What a register holds at the beginning of a block.
    fn begin(&mut self, reg: Reg, block: u32) -> u32 {
        if let Some(&node) = self.begins.get(&(reg, block)) {
            return node;
        }
        let node = self.node(reg, None);
        self.begins.insert((reg, block), node);
        self.pending.push((reg, block));
        node
    }

    fn build(mut self) -> Values {
        let body = self.body;
        let mut starts = Vec::with_capacity(body.insts.len() + body.blocks.len() + 1);
        let mut nodes: Vec<Option<u32>> = Vec::new();
        let mut of_ends = Vec::new();
        for (number, block) in body.blocks.iter().enumerate() {
            let mut now: HashMap<Reg, u32> = HashMap::new();
            for inst in block.insts.clone() {
                starts.push(nodes.len() as u32);
                let instruction = &body.insts[inst as usize];
                let operands = instruction.operands();
                let first = nodes.len();
                for operand in &operands {
                    let read = operand.read().map(|reg| self.read(&now, reg, number as u32));
                    nodes.push(read);
                }
                for (at, operand) in operands.iter().enumerate() {
                    let Some(reg) = operand.def() else { continue };
                    let node = self.node(reg, Some(inst));
                    if instruction.guard.is_some() {
                        let before = self.read(&now, reg, number as u32);
                        self.join(node, before);
                    }
                    now.insert(reg, node);
                    nodes[first + at] = Some(node);
                }
            }
            let operands = block.terminator.operands();
            of_ends.push(operands.iter().map(|o| o.read().map(|reg| self.read(&now, reg, number as u32))).collect());
            self.ends[number] = now;
        }
        for of_end in of_ends {
            let of_end: Vec<Option<u32>> = of_end;
            starts.push(nodes.len() as u32);
            nodes.extend(of_end);
        }
        starts.push(nodes.len() as u32);
        self.connect();
        self.finish(starts, nodes)
    }

    fn read(&mut self, now: &HashMap<Reg, u32>, reg: Reg, block: u32) -> u32 {
        match now.get(&reg) {
            Some(&node) => node,
            None => self.begin(reg, block),
        }
    }

    /// Joins what a register holds at the beginning of a block with what it holds at the ends of those before.
    fn connect(&mut self) {
        while let Some((reg, block)) = self.pending.pop() {
            let node = self.begins[&(reg, block)];
            if block == 0 {
                self.undefined.push(node);
            }
            for at in 0..self.cfg.predecessors[block as usize].len() {
                let from = self.cfg.predecessors[block as usize][at].0;
                let end = match self.ends[from as usize].get(&reg) {
                    Some(&end) => end,
                    None => self.begin(reg, from),
                };
                self.join(node, end);
            }
        }
    }

    fn finish(mut self, starts: Vec<u32>, nodes: Vec<Option<u32>>) -> Values {
        let mut ids: HashMap<u32, ValueId> = HashMap::new();
        let mut all: Vec<Value> = Vec::new();
        let mut versions: HashMap<Reg, u32> = HashMap::new();
        let operands = nodes
            .into_iter()
            .map(|node| {
                let root = self.find(node?);
                let id = *ids.entry(root).or_insert_with(|| {
                    let reg = self.regs[root as usize];
                    let version = versions.entry(reg).or_default();
                    let ty = self.body.regs[reg.0 as usize].ty;
                    all.push(Value { reg, ty, defs: SmallVec::new(), undefined: false, version: *version });
                    *version += 1;
                    ValueId(all.len() as u32 - 1)
                });
                Some(id)
            })
            .collect();
        for node in 0..self.joined.len() as u32 {
            let root = self.find(node);
            if let (Some(write), Some(id)) = (self.writes[node as usize], ids.get(&root)) {
                all[id.0 as usize].defs.push(write);
            }
        }
        for at in 0..self.undefined.len() {
            let root = self.find(self.undefined[at]);
            if let Some(id) = ids.get(&root) {
                all[id.0 as usize].undefined = true;
            }
        }
        let mut live_in = vec![Vec::new(); self.body.blocks.len()];
        let begins: Vec<((Reg, u32), u32)> = self.begins.iter().map(|(at, node)| (*at, *node)).collect();
        for ((_, block), node) in begins {
            let root = self.find(node);
            if let Some(id) = ids.get(&root) {
                live_in[block as usize].push(*id);
            }
        }
        live_in.iter_mut().for_each(|live: &mut Vec<ValueId>| live.sort_unstable());
        Values { all, starts, operands, live_in, insts: self.body.insts.len() }
    }
}

/// The operands of an instruction with their values.
pub(crate) fn paired<'v>(
    operands: &'v [OperandRef],
    values: &'v [Option<ValueId>],
) -> impl Iterator<Item = (&'v OperandRef, Option<ValueId>)> + 'v {
    operands.iter().zip(values.iter().copied())
}
