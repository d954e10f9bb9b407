//! The files of `tests/filetests/ir`: modules in the IR's text, in a folder of the pass that they are sent through, with what comes out
//! behind them (`//| `). `WARPLOOM_BLESS=1` writes those lines.

use crate::texts;
use warploom_ptx::ir::{Module, check_module};
use warploom_ptx::passes::{fill_in_constants, insert_yields, promote_parameters};

#[test]
fn modules_become_what_they_say() {
    let bless = std::env::var_os("WARPLOOM_BLESS").is_some();
    let mut wrong = Vec::new();
    let paths = texts::files(&texts::root().join("tests/filetests/ir"), "ir");
    assert!(paths.len() >= 8, "only {} files", paths.len());
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("file");
        let source: String = text.split_inclusive('\n').filter(|line| !line.starts_with("//|")).collect();
        let mut module = Module::read(&source).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        match path.parent().and_then(|folder| folder.file_name()).and_then(|name| name.to_str()) {
            Some("promote_parameters") => promote_parameters(&mut module),
            Some("fill_in_constants") => fill_in_constants(&mut module),
            Some("insert_yields") => insert_yields(&mut module),
            pass => panic!("{}: no pass {pass:?}", path.display()),
        }
        check_module(&module).unwrap_or_else(|broken| panic!("{}: {broken}\n{module}", path.display()));
        let got: String = module.to_string().lines().map(|line| format!("//| {line}\n")).collect();
        let expected: String = text.split_inclusive('\n').filter(|line| line.starts_with("//|")).collect();
        if bless {
            std::fs::write(&path, format!("{source}{got}")).expect("write");
        } else if got != expected {
            wrong.push(format!("{}: gives\n{got}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
