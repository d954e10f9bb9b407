//! In which order calls are refused: registry/refusals.toml.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::entry_points::Abi;
use super::errors::ErrorCode;

/// By symbol.
pub(crate) struct Refusals(HashMap<String, Refusal>);

/// What a call answers before what it is for is looked at.
#[derive(Default)]
pub(crate) struct Refusal {
    /// Parameters, and the answer where one is zero, before anything else.
    pub(crate) first: Vec<Zero>,
    /// The same once the driver is initialised.
    pub(crate) then: Vec<Zero>,
    /// Whether it asks for a current context before it looks at `then` and all that may be wrong besides.
    pub(crate) context_first: bool,
    pub(crate) in_callbacks: InCallbacks,
    pub(crate) capture: Option<Forbidden>,
}

/// What it answers that an argument is zero.
pub(crate) struct Zero {
    pub(crate) param: String,
    /// The result code without `CUDA_ERROR_`.
    pub(crate) code: String,
}

/// Whether callbacks of streams may make a call.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InCallbacks {
    #[default]
    Never,
    /// If it names a stream, other than the default ones.
    WithStream,
    Always,
}

/// Which captures a call fails, and is refused for, before it looks at its arguments.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Forbidden {
    /// That of its stream.
    Stream,
    /// Those that forbid the calling thread what may wait for other work.
    Unsafe,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRefusal {
    #[serde(default)]
    first: Vec<String>,
    #[serde(default)]
    then: Vec<String>,
    #[serde(default)]
    context_first: bool,
    #[serde(default)]
    in_callbacks: InCallbacks,
    capture: Option<Forbidden>,
}

impl Refusals {
    /// What holds for `symbol`, one of `abi`'s.
    pub(crate) fn of(&self, abi: &Abi, symbol: &str) -> Option<&Refusal> {
        self.0.get(symbol).or_else(|| self.0.get(&abi.symbol))
    }

    /// Fails unless every symbol and parameter is one of `abis`.
    pub(super) fn check<'a>(&self, abis: impl Iterator<Item = &'a Abi>) -> Result<()> {
        let mut known = HashMap::new();
        for abi in abis {
            known.insert(abi.symbol.clone(), abi);
            known.extend(abi.per_thread_symbol().map(|symbol| (symbol, abi)));
        }
        for (symbol, refusal) in &self.0 {
            let abi = known.get(symbol).with_context(|| format!("refusals.toml: there is no symbol {symbol}"))?;
            for zero in refusal.first.iter().chain(&refusal.then) {
                if !abi.params.iter().any(|param| param.variable.name == zero.param) {
                    bail!("refusals.toml: {symbol} has no parameter {}", zero.param);
                }
            }
        }
        Ok(())
    }
}

pub(super) fn load(folder: &Path, codes: &[ErrorCode]) -> Result<Refusals> {
    let raw: HashMap<String, RawRefusal> = super::read_toml(&folder.join("refusals.toml"))?;
    let check = |code: &str| -> Result<()> {
        if !codes.iter().any(|known| known.name.strip_prefix("CUDA_ERROR_") == Some(code)) {
            bail!("refusals.toml: there is no result code {code}");
        }
        Ok(())
    };
    let zero = |text: &String| -> Result<Zero> {
        let (param, code) = text.split_once(' ').with_context(|| format!("{text:?} is no parameter with an answer"))?;
        check(code)?;
        Ok(Zero { param: param.to_owned(), code: code.to_owned() })
    };
    let convert = |(symbol, raw): (String, RawRefusal)| -> Result<(String, Refusal)> {
        let zeros = |texts: &[String]| -> Result<Vec<Zero>> { texts.iter().map(zero).collect() };
        let (first, then) = (zeros(&raw.first)?, zeros(&raw.then)?);
        let RawRefusal { context_first, in_callbacks, capture, .. } = raw;
        Ok((symbol, Refusal { first, then, context_first, in_callbacks, capture }))
    };
    Ok(Refusals(raw.into_iter().map(convert).collect::<Result<_>>()?))
}
