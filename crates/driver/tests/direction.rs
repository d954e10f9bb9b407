//! Which modules of this crate may use which: ARCHITECTURE.md, "Inside the driver".
use std::collections::BTreeSet;
use std::path::Path;

/// From the floor up: a module uses those of its own layer and of the layers below.
const LAYERS: [&[&str]; 6] = [
    // What knows no object.
    &["generated", "error", "handle", "stack", "fault", "coredump", "executor"],
    // Where work is done, and in which order.
    &["device", "context", "green", "stream", "event"],
    // What work is done on.
    &["memory", "array", "module", "texture", "tensor_map"],
    // Work.
    &["launch", "graph"],
    // What is made of several of these.
    &["library", "linker"],
    // The tables of all objects. All functions are methods of `Driver`, so that everybody uses it.
    &["driver"],
];

/// Uses of a higher layer, and why.
const UPWARDS: [(&str, &str, &str); 5] = [
    ("stream", "graph", "a stream that is captured puts its work into a graph"),
    ("stream", "memory", "checkers are told of values that a stream writes as they are told of fills"),
    ("event", "graph", "an event that is recorded in a capture is a place in a graph"),
    ("memory", "graph", "a copy in a captured stream becomes a node, and graphs own memory"),
    ("module", "launch", "a function keeps what the first ABI sets up for its next launch"),
];

fn layer(module: &str) -> usize {
    LAYERS.iter().position(|layer| layer.contains(&module)).unwrap_or_else(|| panic!("{module} is in no layer"))
}

/// Pairs of a module and one that it uses.
fn uses(folder: &Path, of: Option<&str>, found: &mut BTreeSet<(String, String)>) {
    for entry in std::fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("the sources can be read").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("names are text").to_owned();
        let module = of.unwrap_or(&name).to_owned();
        if path.is_dir() {
            uses(&path, Some(&module), found);
        } else if module != "lib" {
            let text = std::fs::read_to_string(&path).expect("the sources can be read");
            for rest in text.split("crate::").skip(1) {
                let used: String =
                    rest.chars().take_while(|letter| letter.is_ascii_lowercase() || *letter == '_').collect();
                if !used.is_empty() && used != module {
                    found.insert((module.clone(), used));
                }
            }
        }
    }
}

#[test]
fn modules_use_what_is_below_them() {
    let mut found = BTreeSet::new();
    uses(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), None, &mut found);
    assert!(found.len() > 40, "{found:?}");
    let upwards: BTreeSet<(&str, &str)> = found
        .iter()
        .map(|(module, used)| (module.as_str(), used.as_str()))
        .filter(|(module, used)| *used != "driver" && layer(used) > layer(module))
        .collect();
    let known = UPWARDS.map(|(module, used, reason)| {
        assert!(!reason.is_empty());
        (module, used)
    });
    assert_eq!(upwards, BTreeSet::from(known));
}
