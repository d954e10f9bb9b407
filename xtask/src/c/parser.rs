//! Declarations: typedefs, functions, aggregates and enums.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};

use super::expression::evaluate;
use super::token::Token;
use super::{Aggregate, Enumeration, Type, Variable};

/// One declaration of a header.
#[derive(Debug)]
pub(crate) enum Declaration {
    Typedef(Variable),
    /// A function's prototype.
    Function {
        name: String,
        params: Vec<Variable>,
    },
    /// A struct, union or enum that is not part of a typedef, or its forward declaration.
    Bare(Type),
}

/// Reads declarations one after the other.
pub(crate) struct Parser {
    tokens: Vec<Token>,
    at: usize,
    enumerators: HashMap<String, i64>,
}

/// Words that say nothing about a declaration's meaning here.
const NOISE: [&str; 8] =
    ["extern", "static", "inline", "__inline", "__inline__", "__extension__", "__restrict", "volatile"];

impl Parser {
    pub(crate) fn new(tokens: Vec<Token>) -> Parser {
        Parser { tokens, at: 0, enumerators: HashMap::new() }
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Result<Token> {
        let token = self.peek().cloned().context("the text ends within a declaration")?;
        self.at += 1;
        Ok(token)
    }

    fn mark(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Mark(m)) if *m == mark);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, mark: &str) -> Result<()> {
        if self.mark(mark) {
            return Ok(());
        }
        let around = &self.tokens[self.at.saturating_sub(12)..self.tokens.len().min(self.at + 4)];
        bail!("expected {mark} at the fourth last of {around:?}")
    }

    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(w)) if w == word);
        self.at += usize::from(found);
        found
    }

    /// Skips to the mark that closes the group whose opening mark was read.
    fn skip_group(&mut self, open: &str, close: &str) -> Result<()> {
        let mut depth = 1;
        while depth > 0 {
            match self.next()? {
                Token::Mark(mark) if mark == open => depth += 1,
                Token::Mark(mark) if mark == close => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn skip_noise(&mut self) -> Result<()> {
        loop {
            if self.word("__attribute__") {
                self.expect("(")?;
                self.skip_group("(", ")")?;
            } else if matches!(self.peek(), Some(Token::Word(word)) if NOISE.contains(&word.as_str()))
                || matches!(self.peek(), Some(Token::Text(_)))
            {
                self.at += 1;
            } else {
                return Ok(());
            }
        }
    }

    /// The next declaration of the text, or none at its end.
    pub(crate) fn declaration(&mut self) -> Result<Option<Declaration>> {
        loop {
            self.skip_noise()?;
            // Neither stray semicolons nor the braces of an `extern "C"` matter.
            if !(self.mark(";") || self.mark("{") || self.mark("}")) {
                break;
            }
        }
        if self.peek().is_none() {
            return Ok(None);
        }
        let typedef = self.word("typedef");
        let base = self.base()?;
        if self.mark(";") {
            return Ok(Some(Declaration::Bare(base)));
        }
        let variable = self.declarator(base)?;
        self.skip_noise()?;
        if self.mark("{") {
            self.skip_group("{", "}")?;
        } else {
            self.expect(";")?;
        }
        Ok(Some(match variable {
            variable if typedef => Declaration::Typedef(variable),
            Variable { name, ty: Type::Function(_, params) } => Declaration::Function { name, params },
            variable => bail!("{} is neither a type nor a function", variable.name),
        }))
    }

    /// One parameter or field on its own: `const char *name`.
    pub(crate) fn variable(&mut self) -> Result<Variable> {
        let base = self.base()?;
        self.declarator(base)
    }

    /// Fields up to the end of the text or a closing brace, and the alignment asked for, if any.
    pub(crate) fn fields(&mut self) -> Result<(Vec<Variable>, Option<u64>)> {
        let (mut fields, mut align) = (Vec::new(), None);
        while self.peek().is_some() && !matches!(self.peek(), Some(Token::Mark("}"))) {
            if self.word("_Alignas") || self.word("alignas") {
                self.expect("(")?;
                let Token::Number(bytes) = self.next()? else { bail!("an alignment is a number") };
                self.expect(")")?;
                align = Some(u64::try_from(bytes)?);
            }
            let base = self.base()?;
            if self.mark(";") {
                fields.push(Variable { name: String::new(), ty: base });
                continue;
            }
            fields.push(self.declarator(base)?);
            self.expect(";")?;
        }
        Ok((fields, align))
    }

    /// The type that a declaration starts with.
    fn base(&mut self) -> Result<Type> {
        self.skip_noise()?;
        let mut constant = self.word("const");
        let base = if self.word("struct") {
            self.aggregate(false)?
        } else if self.word("union") {
            self.aggregate(true)?
        } else if self.word("enum") {
            self.enumeration()?
        } else {
            self.named()?
        };
        self.skip_noise()?;
        constant |= self.word("const");
        Ok(if constant { Type::Const(Box::new(base)) } else { base })
    }

    fn named(&mut self) -> Result<Type> {
        let mut words: Vec<String> = Vec::new();
        while let Some(Token::Word(word)) = self.peek() {
            let basic = ["unsigned", "signed", "int", "char", "short", "long", "float", "double", "void"];
            let is_basic = basic.contains(&word.as_str());
            if !is_basic && !words.is_empty() {
                break;
            }
            words.push(word.clone());
            self.at += 1;
            if !is_basic {
                break;
            }
        }
        let name = match words.join(" ").as_str() {
            "" => bail!("expected a type, found {:?}", self.peek()),
            "unsigned" => "unsigned int".to_owned(),
            name => name.to_owned(),
        };
        Ok(Type::Name(name))
    }

    fn tag(&mut self) -> Option<String> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let tag = word.clone();
                self.at += 1;
                Some(tag)
            }
            _ => None,
        }
    }

    fn aggregate(&mut self, is_union: bool) -> Result<Type> {
        let tag = self.tag();
        if !self.mark("{") {
            let keyword = if is_union { "union" } else { "struct" };
            return Ok(Type::Tag(format!("{keyword} {}", tag.context("a struct without a tag has a body")?)));
        }
        let (fields, align) = self.fields()?;
        self.expect("}")?;
        Ok(Type::Aggregate(Aggregate { is_union, tag, align, fields }))
    }

    fn enumeration(&mut self) -> Result<Type> {
        let tag = self.tag();
        if !self.mark("{") {
            return Ok(Type::Tag(format!("enum {}", tag.context("an enum without a tag has a body")?)));
        }
        let (mut values, mut following) = (Vec::new(), 0);
        while !self.mark("}") {
            let Token::Word(name) = self.next()? else { bail!("expected an enumerator") };
            if self.mark("=") {
                let start = self.at;
                while !matches!(self.peek(), Some(Token::Mark("," | "}")) | None) {
                    self.at += 1;
                }
                following = evaluate(&self.tokens[start..self.at], &self.enumerators)?;
            }
            self.enumerators.insert(name.clone(), following);
            values.push((name, following));
            following += 1;
            self.mark(",");
        }
        Ok(Type::Enum(Enumeration { tag, values }))
    }

    /// A declarator: pointers, name, parameter list, array lengths.
    fn declarator(&mut self, base: Type) -> Result<Variable> {
        let mut ty = base;
        while self.mark("*") {
            ty = Type::Pointer(Box::new(ty));
            if self.word("const") {
                ty = Type::Const(Box::new(ty));
            }
            self.skip_noise()?;
        }
        // Only pointers to functions have a declarator in parentheses.
        if self.mark("(") {
            self.expect("*")?;
            let name = self.tag().unwrap_or_default();
            self.expect(")")?;
            self.expect("(")?;
            let params = self.parameters()?;
            return Ok(Variable { name, ty: Type::Pointer(Box::new(Type::Function(Box::new(ty), params))) });
        }
        let name = self.tag().unwrap_or_default();
        if self.mark("(") {
            let params = self.parameters()?;
            return Ok(Variable { name, ty: Type::Function(Box::new(ty), params) });
        }
        let mut lengths = Vec::new();
        while self.mark("[") {
            let start = self.at;
            while !matches!(self.peek(), Some(Token::Mark("]")) | None) {
                self.at += 1;
            }
            lengths.push(evaluate(&self.tokens[start..self.at], &self.enumerators)?);
            self.expect("]")?;
        }
        for length in lengths.into_iter().rev() {
            ty = Type::Array(Box::new(ty), u64::try_from(length)?);
        }
        Ok(Variable { name, ty })
    }

    /// Parameters up to the closing parenthesis.
    fn parameters(&mut self) -> Result<Vec<Variable>> {
        let mut params = Vec::new();
        while !self.mark(")") {
            let base = self.base()?;
            let param = self.declarator(base)?;
            if param.ty != Type::Name("void".to_owned()) {
                params.push(param);
            }
            self.mark(",");
        }
        Ok(params)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{declare, tokens};
    use super::*;

    fn declarations(text: &str) -> Vec<Declaration> {
        let mut parser = Parser::new(tokens(text).unwrap());
        std::iter::from_fn(|| parser.declaration().unwrap()).collect()
    }

    #[test]
    fn declarators_read_back_as_they_were() {
        for text in [
            "const char *name",
            "void **kernelParams",
            "const CUgraphNode **dependencies_out",
            "unsigned long long reserved[4]",
            "float matrix[2][3]",
            "void (*fn)(void *userData)",
            "char *const *names",
        ] {
            let variable = Parser::new(tokens(text).unwrap()).variable().unwrap();
            assert_eq!(declare(&variable.ty, &variable.name), text);
        }
    }

    #[test]
    fn enumerators_count_on_and_name_each_other() {
        let text = "typedef enum E_enum { A = 1 << 2, B, C = A | 0x10, D = C, F = (1 << 31), G = ~0u } E;";
        let [Declaration::Typedef(Variable { name, ty: Type::Enum(read) })] = &declarations(text)[..] else {
            panic!("one typedef of an enum");
        };
        let values: Vec<i64> = read.values.iter().map(|(_, value)| *value).collect();
        assert_eq!((name.as_str(), values), ("E", vec![4, 5, 20, 20, -2_147_483_648, -1]));
    }

    #[test]
    fn sizes_of_enums_and_pointers_are_known() {
        let text = "typedef struct { char a[8 - sizeof(E)]; char b[64 - sizeof(E *) - 2 * sizeof(unsigned int)]; } S;";
        let [Declaration::Typedef(Variable { ty: Type::Aggregate(read), .. })] = &declarations(text)[..] else {
            panic!("one typedef of a struct");
        };
        let length = |field: &Variable| match field.ty {
            Type::Array(_, length) => length,
            _ => panic!("an array"),
        };
        assert_eq!(read.fields.iter().map(length).collect::<Vec<_>>(), [4, 48]);
    }

    #[test]
    fn functions_with_bodies_and_attributes_are_prototypes() {
        let text = "extern \"C\" { __attribute__((deprecated)) int f(void); static inline int g(int a) { if (a) { return 1; } return 2; } }";
        let read: Vec<(String, usize)> = declarations(text)
            .into_iter()
            .map(|declaration| match declaration {
                Declaration::Function { name, params } => (name, params.len()),
                other => panic!("{other:?} is no function"),
            })
            .collect();
        assert_eq!(read, [("f".to_owned(), 0), ("g".to_owned(), 1)]);
    }
}
