//! What every function of the driver answers in situations that all of them meet, against what NVIDIA's driver answered (CUDA 13.0,
//! H100): before `cuInit`, without a context, with arguments that are zero, in a capture, in callbacks.
//! `tests/c/every_function/every_function.c` makes the calls.
#[path = "support/library.rs"]
mod library;
#[path = "support/program.rs"]
mod program;

use std::collections::{BTreeMap, BTreeSet};

const GOLDEN: &str = include_str!("../../../tests/goldens/every_function.txt");
const NULLS: &str = include_str!("../../../tests/goldens/null_arguments.txt");

/// Functions whose answer differs on purpose, and why. `ours` is what they answer instead.
struct Difference {
    functions: &'static str,
    situations: &'static [&'static str],
    ours: &'static str,
    reason: &'static str,
}

include!("every_function/differences.rs");

/// Symbols without a handler.
fn unhandled() -> BTreeSet<&'static str> {
    let list = include_str!("generated/exports.rs").split("call!(").skip(1);
    let words = list.map(|call| call.split([',', '(', ' ', '\n']).map(str::trim).filter(|word| !word.is_empty()));
    let calls = words.map(|mut words| (words.next().unwrap_or_default().trim_matches('"'), words.next()));
    calls.filter(|(_, handled)| *handled == Some("false")).map(|(symbol, _)| symbol).collect()
}

/// By function: the answers, in the order of the first line.
fn table(text: &str) -> (Vec<&str>, BTreeMap<&str, Vec<&str>>) {
    let mut lines = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let situations = lines.next().expect("there is a first line").split_off(1);
    (situations, lines.map(|mut line| (line.remove(0), line)).collect())
}

/// The function without the suffix of its per-thread variant.
fn plain(symbol: &str) -> &str {
    symbol.strip_suffix("_ptsz").or_else(|| symbol.strip_suffix("_ptds")).unwrap_or(symbol)
}

impl Difference {
    fn covers(&self, symbol: &str, situation: &str) -> bool {
        self.situations.contains(&situation)
            && self.functions.split_whitespace().any(|function| function == plain(symbol))
    }
}

fn run(arguments: &[&str]) -> String {
    let program = program::build("every_function/every_function.c", arguments[0], &["-w"]);
    program.run(|command| {
        command.args(arguments).env("WARPLOOM_CUDA_VERSION", "13.0");
    })
}

/// Whether `ours` is as good an answer as what was recorded, whatever the function.
fn is_as_good(recorded: &str, ours: &str, handled: bool) -> bool {
    // Where the recorded driver crashes or waits for ever, any error will do.
    let answers = !["SUCCESS", "crash", "hang", "exit", "UNKNOWN"].contains(&ours);
    // What is not implemented says so, and looks at its arguments as far as the registry knows.
    recorded == ours || (recorded == "crash" || recorded == "hang") && answers || !handled && ours == "NOT_SUPPORTED"
}

#[test]
fn every_function_answers_as_recorded_in_every_situation() {
    let (situations, recorded) = table(GOLDEN);
    let arguments: Vec<&str> = ["-j", "2"].into_iter().chain(situations.iter().copied()).collect();
    let text = run(&arguments);
    let (_, ours) = table(&text);
    let unhandled = unhandled();
    assert!(unhandled.len() > 20, "{unhandled:?}");
    let mut wrong = Vec::new();
    let mut met = vec![false; DIFFERENCES.len()];
    for (symbol, answers) in &recorded {
        for ((situation, recorded), ours) in situations.iter().zip(answers).zip(&ours[symbol]) {
            // The recorded driver lacks it, or it must not be called there.
            if ["absent", "-"].contains(recorded) || is_as_good(recorded, ours, !unhandled.contains(symbol)) {
                continue;
            }
            let known = DIFFERENCES.iter().position(|known| known.covers(symbol, situation) && known.ours == *ours);
            match known {
                Some(known) => met[known] = true,
                None => wrong.push(format!("{symbol}, {situation}: ours {ours}, recorded {recorded}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} answers differ:\n{}", wrong.len(), wrong.join("\n"));
    for (known, met) in DIFFERENCES.iter().zip(met) {
        assert!(met && !known.reason.is_empty(), "{} does not differ any more", known.functions);
    }
}

#[test]
fn an_argument_that_is_refused_first_is_refused_before_cu_init() {
    let text = run(&["nulls"]);
    let ours: BTreeMap<&str, Vec<&str>> =
        text.lines().map(|line| line.split(' ').collect::<Vec<_>>()).map(|mut line| (line.remove(0), line)).collect();
    for line in NULLS.lines() {
        let mut recorded = line.split(' ');
        let symbol = recorded.next().expect("a line starts with a function");
        // The first answer is with no argument zero.
        let (baseline, ours) = ours[symbol].split_first().expect("every function is called");
        assert_eq!(*baseline, "NOT_INITIALIZED", "{symbol}");
        for (index, (recorded, ours)) in recorded.zip(ours).enumerate() {
            assert!(
                recorded == "-" || recorded == *ours,
                "{symbol}, parameter {index}: ours {ours}, recorded {recorded}"
            );
        }
    }
}
