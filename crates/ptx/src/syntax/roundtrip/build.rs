//! Makes a tree of a list of numbers.
//!
//! Left out are only trees that no text has: a negated literal is a literal, `!p` is not `!(p)`.

use super::super::ast::*;
use super::super::{Names, Span, number};

/// The tree that these numbers stand for, a choice each.
pub(super) fn tree(choices: Vec<u64>) -> Module {
    Build { choices: choices.into_iter(), names: Names::default(), nodes: Nodes::default(), depth: 0 }.module()
}

struct Build {
    choices: std::vec::IntoIter<u64>,
    names: Names,
    nodes: Nodes,
    depth: u32,
}

const AT: Span = Span::new(0, 0);

impl Build {
    fn number(&mut self) -> u64 {
        self.choices.next().unwrap_or(0)
    }

    /// A number below `limit`; zero when the choices are used up, so that every recursion ends.
    fn pick(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.pick(all.len() as u64) as usize]
    }

    fn option<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.pick(3) == 1).then(|| inner(self))
    }

    fn many<T>(&mut self, limit: u64, mut inner: impl FnMut(&mut Self) -> T) -> List<T>
    where
        Nodes: Arena<T>,
    {
        let count = self.pick(limit);
        let nodes: Vec<T> = (0..count).map(|_| inner(self)).collect();
        self.nodes.extend(nodes)
    }

    fn some<T>(&mut self, limit: u64, mut inner: impl FnMut(&mut Self) -> T) -> List<T>
    where
        Nodes: Arena<T>,
    {
        let count = self.pick(limit) + 1;
        let nodes: Vec<T> = (0..count).map(|_| inner(self)).collect();
        self.nodes.extend(nodes)
    }

    fn ident(&mut self) -> Ident {
        const PREFIXES: [&str; 8] = ["%r", "$L__BB", "_Z3foo", "%", "x", "__", "retval", "generic"];
        let text = format!("{}{}", self.one_of(&PREFIXES), self.pick(20));
        Ident { name: self.names.intern(&text), span: AT }
    }

    fn word(&mut self, words: &[&str]) -> Ident {
        let word = self.one_of(words);
        Ident { name: self.names.intern(word), span: AT }
    }

    fn string(&mut self) -> StringLiteral {
        let text = self.one_of(&["", "nounroll", "a b", "tab\\t", "quote\\\"", "// no comment", "ü"]);
        StringLiteral { text: self.names.intern(text), span: AT }
    }

    fn strings(&mut self) -> List<StringLiteral> {
        self.some(2, Self::string)
    }

    fn u32(&mut self) -> u32 {
        self.number() as u32
    }

    fn spanned<T>(value: T) -> Spanned<T> {
        Spanned { value, span: AT }
    }

    fn literal(&mut self) -> Literal {
        let number = self.number();
        match self.pick(4) {
            0 => Literal::Int(number as i64),
            1 => Literal::Uint(number),
            2 => Literal::F32(number as u32),
            _ => Literal::F64(number),
        }
    }

    fn expr(&mut self) -> Expr {
        self.depth += 1;
        let kind = match if self.depth < 5 { self.pick(9) } else { self.pick(2) } {
            0 => ExprKind::Literal(self.literal()),
            1 => ExprKind::Name(self.ident().name),
            2 => ExprKind::Generic(self.expr_id()),
            3 => ExprKind::Mask(self.number(), self.expr_id()),
            4 => {
                let op = self.one_of(&[UnaryOp::Minus, UnaryOp::Plus, UnaryOp::Not, UnaryOp::Complement]);
                let inner = self.expr();
                // `-5` is a literal, `!x` and `-x` are operands of their own.
                let inner = match inner.kind {
                    ExprKind::Literal(_) | ExprKind::Name(_) => {
                        let inner = self.nodes.push(inner);
                        Expr { kind: ExprKind::Unary(UnaryOp::Complement, inner), span: AT }
                    }
                    _ => inner,
                };
                ExprKind::Unary(op, self.nodes.push(inner))
            }
            5 | 6 => {
                use BinaryOp::*;
                const ALL: [BinaryOp; 18] =
                    [Mul, Div, Rem, Add, Sub, Shl, Shr, Lt, Le, Gt, Ge, Eq, Ne, And, Xor, Or, LogicalAnd, LogicalOr];
                let op = self.one_of(&ALL);
                ExprKind::Binary(op, self.expr_id(), self.expr_id())
            }
            7 => ExprKind::Conditional(self.expr_id(), self.expr_id(), self.expr_id()),
            _ => ExprKind::Cast(self.one_of(&[ScalarType::S64, ScalarType::U64]), self.expr_id()),
        };
        self.depth -= 1;
        Expr { kind, span: AT }
    }

    fn expr_id(&mut self) -> Id<Expr> {
        let expr = self.expr();
        self.nodes.push(expr)
    }

    fn initialiser(&mut self) -> Expr {
        self.depth += 1;
        let kind = match if self.depth < 5 { self.pick(5) } else { 0 } {
            0 | 1 => self.expr().kind,
            2 => {
                let string = self.string();
                ExprKind::String(self.nodes.push(string))
            }
            3 => ExprKind::Braces(self.many(4, |build| {
                let field = build.word(&["addr_mode_0", "filter_mode"]);
                Expr { kind: ExprKind::Field(field.name, build.expr_id()), span: AT }
            })),
            _ => ExprKind::Braces(self.many(4, Self::initialiser)),
        };
        self.depth -= 1;
        Expr { kind, span: AT }
    }

    fn variable(&mut self) -> Variable {
        let align = self.option(|build| Self::spanned(1 << build.pick(8)));
        let ptr = self.option(|build| Pointee {
            space: build.option(|build| build.one_of(StateSpace::ALL)),
            align: build.option(|build| 1 << build.pick(8)),
        });
        // Behind `.ptr` an alignment is the pointee's.
        Variable {
            linkage: None,
            space: self.one_of(StateSpace::ALL),
            bank: self.option(Self::u32),
            attribute: self.option(Self::attribute),
            align,
            vector: self.option(|build| build.one_of(&[2, 4, 8])),
            ty: Self::spanned(self.one_of(ScalarType::ALL)),
            ptr,
            name: self.ident(),
            count: self.option(Self::u32),
            dims: self.many(4, |build| build.option(Self::number)),
            init: self.option(|build| {
                let init = build.initialiser();
                build.nodes.push(init)
            }),
            span: AT,
        }
    }

    fn attribute(&mut self) -> Attribute {
        match self.pick(2) {
            0 => Attribute::Managed,
            _ => Attribute::Unified(self.number(), self.number()),
        }
    }

    fn linkage(&mut self) -> Option<Linkage> {
        self.option(|build| build.one_of(Linkage::ALL))
    }

    fn extent(&mut self) -> Extent {
        let given = self.pick(3) as u8 + 1;
        let mut size = [1; 3];
        size.iter_mut().take(usize::from(given)).for_each(|size| *size = self.u32());
        Extent { size, given }
    }

    fn directive(&mut self, is_kernel: bool) -> FunctionDirective {
        use DirectiveKind::*;
        let kind = match if is_kernel { self.pick(10) } else { 10 + self.pick(3) } {
            0 => MaxNReg(self.u32()),
            1 => MaxNTid(self.extent()),
            2 => ReqNTid(self.extent()),
            3 => MinNCtaPerSm(self.u32()),
            4 => MaxNCtaPerSm(self.u32()),
            5 => Pragma(self.strings()),
            6 => ReqNCtaPerCluster(self.extent()),
            7 => ExplicitCluster,
            8 => MaxClusterRank(self.u32()),
            9 => BlocksAreClusters,
            10 => NoReturn,
            11 => AbiPreserve(self.u32()),
            _ => AbiPreserveControl(self.u32()),
        };
        FunctionDirective { kind, span: AT }
    }

    fn operand(&mut self) -> Operand {
        self.depth += 1;
        let kind = match if self.depth < 4 { self.pick(12) } else { self.pick(3) } {
            0 | 1 => OperandKind::Name(self.ident().name),
            2 => OperandKind::Literal(self.literal()),
            3 => OperandKind::Sink,
            4 => self.member(),
            5 | 6 => {
                let address = self.address();
                OperandKind::Address(self.nodes.push(address))
            }
            7 => {
                let address = Address { rest: List::EMPTY, unified: false, ..self.address() };
                OperandKind::Element(self.ident().name, self.nodes.push(address))
            }
            8 => OperandKind::Vector(self.many(5, Self::operand)),
            9 => {
                let inner = Operand { kind: self.member(), span: AT };
                let inner = self.nodes.push(inner);
                if self.pick(2) == 0 { OperandKind::Not(inner) } else { OperandKind::Minus(inner) }
            }
            10 => {
                // Behind a number or an expression `|` would be an operator.
                let first = match self.pick(3) {
                    0 => OperandKind::Name(self.ident().name),
                    1 => OperandKind::Vector(self.many(3, Self::operand)),
                    _ => OperandKind::Sink,
                };
                let first = self.nodes.push(Operand { kind: first, span: AT });
                let second = match self.operand() {
                    Operand { kind: OperandKind::Pair(first, _), .. } => first,
                    operand => self.nodes.push(operand),
                };
                OperandKind::Pair(first, second)
            }
            _ => self.expression_operand(),
        };
        self.depth -= 1;
        Operand { kind, span: AT }
    }

    fn member(&mut self) -> OperandKind {
        OperandKind::Member(self.ident().name, self.word(&["x", "w", "b0", "h1", "b3210"]).name)
    }

    /// A constant expression; numbers and names are operands of their own.
    fn expression_operand(&mut self) -> OperandKind {
        let expr = self.expr();
        match expr.kind {
            ExprKind::Literal(literal) => OperandKind::Literal(literal),
            ExprKind::Name(name) => OperandKind::Name(name),
            _ => OperandKind::Expr(self.nodes.push(expr)),
        }
    }

    fn address(&mut self) -> Address {
        // What is added to a number is part of the number's expression.
        let (kind, offset) = match self.pick(4) {
            0 | 1 => (OperandKind::Name(self.ident().name), self.option(Self::expr_id)),
            2 => (OperandKind::Literal(self.literal()), None),
            _ => (self.member(), self.option(Self::expr_id)),
        };
        let base = self.nodes.push(Operand { kind, span: AT });
        Address { base, offset, rest: self.many(3, Self::operand), unified: self.pick(4) == 3 }
    }

    fn instruction(&mut self) -> Instruction {
        const MODIFIERS: [&str; 10] = [
            "f32",
            "global",
            "L2::128B",
            "shared::cluster",
            "2d",
            "v4",
            "rn",
            "16x256b",
            "mbarrier::complete_tx::bytes",
            "to",
        ];
        let call = self.pick(5) == 4;
        let guard = self.option(|build| Guard { negated: build.pick(2) == 1, predicate: build.ident() });
        let opcode = if call { self.word(&["call"]) } else { self.word(&["add", "ld", "tex", "ret", "wgmma", "setp"]) };
        let modifiers = self.many(5, |build| build.word(&MODIFIERS));
        let operands = self.many(5, |build| {
            if !call {
                return build.operand();
            }
            // A call has no other operand that could begin with a parenthesis.
            let kind = match build.pick(2) {
                0 => OperandKind::Name(build.ident().name),
                _ => OperandKind::Arguments(build.many(3, Self::operand)),
            };
            Operand { kind, span: AT }
        });
        Instruction { guard, opcode, modifiers, operands, span: AT }
    }

    fn statement(&mut self) -> Statement {
        self.depth += 1;
        let statement = match self.pick(12) {
            0..=3 => Statement::Instruction(self.instruction()),
            4 => Statement::Label(self.ident()),
            5 | 6 => {
                let variable = self.variable();
                Statement::Variable(self.nodes.push(variable))
            }
            7 if self.depth < 4 => Statement::Block(Body { statements: self.many(5, Self::statement), span: AT }),
            8 => Statement::BranchTargets { name: self.ident(), targets: self.some(3, Self::ident) },
            9 => Statement::CallTargets { name: self.ident(), targets: self.some(3, Self::ident) },
            10 => {
                let prototype = Prototype {
                    name: self.ident(),
                    returns: self.many(2, Self::variable),
                    params: self.many(3, Self::variable),
                    directives: self.many(3, |build| build.directive(false)),
                    span: AT,
                };
                Statement::CallPrototype(self.nodes.push(prototype))
            }
            11 => Statement::Pragma(self.strings()),
            _ => {
                let loc = self.loc();
                Statement::Loc(self.nodes.push(loc))
            }
        };
        self.depth -= 1;
        statement
    }

    fn source_line(&mut self) -> SourceLine {
        SourceLine { file: self.u32(), line: self.u32(), column: self.u32() }
    }

    fn loc(&mut self) -> Loc {
        Loc {
            at: self.source_line(),
            function: self.option(|build| (build.ident(), build.number())),
            inlined_at: self.option(Self::source_line),
            span: AT,
        }
    }

    fn item(&mut self) -> Item {
        match self.pick(9) {
            0..=2 => {
                let kind = self.one_of(&[FunctionKind::Entry, FunctionKind::Func]);
                let is_kernel = kind == FunctionKind::Entry;
                let function = Function {
                    linkage: self.linkage().filter(|linkage| *linkage != Linkage::Common),
                    kind,
                    attribute: self.option(Self::attribute),
                    returns: if is_kernel { List::EMPTY } else { self.many(2, Self::variable) },
                    name: self.ident(),
                    params: self.many(4, Self::variable),
                    directives: self.many(4, |build| build.directive(is_kernel)),
                    body: self.option(|build| Body { statements: build.many(12, Self::statement), span: AT }),
                    span: AT,
                };
                Item::Function(self.nodes.push(function))
            }
            3 => {
                let variable = Variable { linkage: self.linkage(), ..self.variable() };
                Item::Variable(self.nodes.push(variable))
            }
            4 => Item::Alias { alias: self.ident(), target: self.ident(), span: AT },
            5 => {
                let string = self.string();
                let name = self.nodes.push(string);
                let stamp = self.option(|build| (build.number(), build.number()));
                Item::File { index: self.u32(), name, stamp, span: AT }
            }
            6 => Item::Section {
                name: self.word(&[".debug_info", ".debug_str"]),
                lines: self.many(4, |build| match build.pick(2) {
                    0 => SectionLine::Label(build.ident()),
                    _ => build.section_data(),
                }),
                span: AT,
            },
            7 => Item::Dwarf(self.word(&["@@DWARF .4byte 0x1, 0x2", "@@DWARF .byte 3"])),
            _ => Item::Pragma(self.strings()),
        }
    }

    /// What compilers write into debug sections: numbers, or one place.
    fn section_data(&mut self) -> SectionLine {
        let integer = |build: &mut Self, sign: u64| {
            let literal = Literal::Int((build.number() >> 1) as i64 >> sign);
            Expr { kind: ExprKind::Literal(if sign == 1 { number::negate(literal) } else { literal }), span: AT }
        };
        if self.pick(2) == 0 {
            let ty = self.one_of(&[ScalarType::B8, ScalarType::B16, ScalarType::B32, ScalarType::B64]);
            let values = self.some(3, |build| {
                let sign = build.pick(2);
                integer(build, sign)
            });
            return SectionLine::Data { ty, values };
        }
        let place = |ident: Ident| Expr { kind: ExprKind::Name(ident.name), span: AT };
        let label = place(self.ident());
        let first = if self.pick(2) == 0 { label } else { place(self.word(&[".debug_loc", ".debug_str"])) };
        let value = match self.pick(3) {
            0 => first,
            1 => {
                let [a, b] = [first, integer(self, 0)].map(|expr| self.nodes.push(expr));
                Expr { kind: ExprKind::Binary(BinaryOp::Add, a, b), span: AT }
            }
            _ => {
                let other = place(self.ident());
                let [a, b] = [label, other].map(|expr| self.nodes.push(expr));
                Expr { kind: ExprKind::Binary(BinaryOp::Sub, a, b), span: AT }
            }
        };
        let ty = self.one_of(&[ScalarType::B32, ScalarType::B64]);
        SectionLine::Data { ty, values: self.some(1, |_| value) }
    }

    fn module(mut self) -> Module {
        let version = Version { major: self.u32(), minor: self.u32() };
        let targets = self.some(3, |build| build.word(&["sm_90a", "debug", "texmode_independent"]));
        let address_size = self.option(|build| Self::spanned(build.u32()));
        let items = (0..self.pick(6)).map(|_| self.item()).collect();
        let Self { names, nodes, .. } = self;
        Module { source: "".into(), names, version: Some(Self::spanned(version)), targets, address_size, items, nodes }
    }
}
