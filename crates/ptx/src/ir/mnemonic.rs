//! How the source writes instructions, for messages.

use super::Module;
use std::collections::HashMap;

/// Index into [`Module::mnemonics`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MnemonicId(pub u32);

impl MnemonicId {
    /// Of an instruction that no source writes.
    pub const NONE: MnemonicId = MnemonicId(u32::MAX);
}

impl Module {
    /// How the source writes an instruction without its operands: `add.rn.f32`.
    pub fn mnemonic(&self, id: MnemonicId) -> &str {
        self.mnemonics.get(id.0 as usize).map_or("instruction", |text| text)
    }

    /// Puts the mnemonics that are in use into the order in which instructions use them, each once, so that equal instructions make
    /// equal modules wherever they come from.
    pub(crate) fn order_mnemonics(&mut self) {
        let old = std::mem::take(&mut self.mnemonics);
        let mut new: Vec<Box<str>> = Vec::new();
        let mut known: HashMap<&str, MnemonicId> = HashMap::new();
        let mut rename = |id: &mut MnemonicId| {
            let Some(text) = old.get(id.0 as usize) else { return };
            *id = *known.entry(text).or_insert_with(|| {
                new.push(text.clone());
                MnemonicId(new.len() as u32 - 1)
            });
        };
        for body in self.functions.iter_mut().filter_map(|function| function.body.as_mut()) {
            body.insts.iter_mut().for_each(|inst| rename(&mut inst.mnemonic));
            body.unsupported.iter_mut().for_each(|found| rename(&mut found.mnemonic));
        }
        self.mnemonics = new;
    }
}
