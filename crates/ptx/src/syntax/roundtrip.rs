//! Printing a tree and parsing the text gives the tree back, for trees of every shape.
//!
//! proptest draws a list of numbers; [`build`] makes a tree of them, a choice at a time, so that shrinking the list
//! shrinks the tree.

mod build;

use proptest::prelude::*;

use super::{dump, parse};

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..64, 1 => any::<u64>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printed_trees_parse_to_themselves(choices in prop::collection::vec(numbers(), 1..400)) {
        let module = build::tree(choices);
        let text = module.to_string();
        let parsed = parse(text.as_bytes());
        prop_assert_eq!(&parsed.diagnostics, &[], "{}", text);
        prop_assert_eq!(dump(&module), dump(&parsed.module), "{}", text);
    }

    #[test]
    fn any_text_parses(text in "[ -~\n]{0,200}") {
        parse(text.as_bytes());
    }

    #[test]
    fn texts_of_tokens_parse(tokens in prop::collection::vec(token(), 0..80)) {
        let parsed = parse(tokens.join(" ").as_bytes());
        // Whatever was understood can be printed and understood again.
        let again = parse(parsed.module.to_string().as_bytes());
        prop_assert_eq!(dump(&parsed.module), dump(&again.module));
    }
}

fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        ".version",
        "8.0",
        ".target",
        "sm_90",
        ".entry",
        ".func",
        ".visible",
        ".global",
        ".reg",
        ".b32",
        ".align",
        "k",
        "%r1",
        "_",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        ";",
        ",",
        ":",
        "|",
        "!",
        "-",
        "+",
        "*",
        "?",
        "=",
        "@",
        "4",
        "0f3F800000",
        "\"s\"",
        ".loc",
        ".section",
        ".branchtargets",
        ".callprototype",
        "call",
        "add",
        ".pragma",
        ".b8",
        "generic",
        ".file",
        ".alias",
        ".param",
        ".ptr",
        "@@DWARF x\n",
        "\n",
        "é",
    ])
}
