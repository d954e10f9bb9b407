//! Scalar types, state spaces and the small closed sets that modifiers choose from.
//!
//! Only names and their plain properties live here; which instruction takes which of them is the business of [`crate::isa`].

macro_rules! keywords {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$doc])* #[doc = concat!("`.", $text, "`")] $variant,)* }

        impl $name {
            /// Every value, in the order of the declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The keyword as PTX spells it, without the leading dot.
            pub const fn text(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// The value that PTX spells `text` (without the leading dot).
            pub fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some($name::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(self.text()) }
        }
    };
}
pub(crate) use keywords;

keywords! {
    /// A type specifier of an instruction or a variable (PTX ISA 5.2).
    ScalarType {
        Pred = "pred",
        B1 = "b1", B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", B128 = "b128",
        U2 = "u2", U4 = "u4", U8 = "u8", U16 = "u16", U32 = "u32", U64 = "u64",
        S2 = "s2", S4 = "s4", S8 = "s8", S16 = "s16", S32 = "s32", S64 = "s64",
        U16x2 = "u16x2", S16x2 = "s16x2",
        F16 = "f16", F16x2 = "f16x2", Bf16 = "bf16", Bf16x2 = "bf16x2",
        F32 = "f32", F32x2 = "f32x2", F64 = "f64", Tf32 = "tf32",
        E4m3 = "e4m3", E5m2 = "e5m2", E3m2 = "e3m2", E2m3 = "e2m3", E2m1 = "e2m1",
        E4m3x2 = "e4m3x2", E5m2x2 = "e5m2x2", E3m2x2 = "e3m2x2", E2m3x2 = "e2m3x2", E2m1x2 = "e2m1x2",
        E4m3x4 = "e4m3x4", E5m2x4 = "e5m2x4", E3m2x4 = "e3m2x4", E2m3x4 = "e2m3x4", E2m1x4 = "e2m1x4",
        Ue8m0 = "ue8m0", Ue4m3 = "ue4m3", Ue8m0x2 = "ue8m0x2", S2f6x2 = "s2f6x2",
        U8x4 = "u8x4", S8x4 = "s8x4",
        TexRef = "texref", SamplerRef = "samplerref", SurfRef = "surfref",
    }
}

/// What a type means to the type rules of PTX ISA 9.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeClass {
    /// `.pred`
    Predicate,
    /// `.bX`: agrees with every type of its size.
    Bits,
    /// `.uX`
    Unsigned,
    /// `.sX`
    Signed,
    /// Floating point, packed and alternate formats included.
    Float,
    /// `.texref`, `.samplerref`, `.surfref`
    Opaque,
}

impl ScalarType {
    /// Size in bits; 1 for predicates, 64 for opaque handles.
    pub const fn bits(self) -> u32 {
        use ScalarType::*;
        match self {
            Pred | B1 => 1,
            U2 | S2 => 2,
            U4 | S4 | E2m1 => 4,
            E3m2 | E2m3 => 6,
            B8 | U8 | S8 | E4m3 | E5m2 | Ue8m0 | Ue4m3 | E2m1x2 => 8,
            B16 | U16 | S16 | F16 | Bf16 | E4m3x2 | E5m2x2 | E3m2x2 | E2m3x2 | E2m1x4 | Ue8m0x2 | S2f6x2 => 16,
            B32 | U32 | S32 | U16x2 | S16x2 | F16x2 | Bf16x2 | F32 | Tf32 | E4m3x4 | E5m2x4 | E3m2x4 | E2m3x4
            | U8x4 | S8x4 => 32,
            B64 | U64 | S64 | F64 | F32x2 | TexRef | SamplerRef | SurfRef => 64,
            B128 => 128,
        }
    }

    /// Size in bytes of a value in memory; sub-byte types round up.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// The class that the type rules look at.
    pub const fn class(self) -> TypeClass {
        use ScalarType::*;
        match self {
            Pred => TypeClass::Predicate,
            B1 | B8 | B16 | B32 | B64 | B128 => TypeClass::Bits,
            U2 | U4 | U8 | U16 | U32 | U64 | U16x2 | U8x4 => TypeClass::Unsigned,
            S2 | S4 | S8 | S16 | S32 | S64 | S16x2 | S8x4 => TypeClass::Signed,
            TexRef | SamplerRef | SurfRef => TypeClass::Opaque,
            _ => TypeClass::Float,
        }
    }

    /// Whether arithmetic on the type sign-extends.
    pub const fn is_signed(self) -> bool {
        matches!(self.class(), TypeClass::Signed)
    }

    /// Whether the type is floating point (packed and alternate formats included).
    pub const fn is_float(self) -> bool {
        matches!(self.class(), TypeClass::Float)
    }

    /// The type of the same class and twice the width: of the product of `mul.wide`. Types that have none stay what they are.
    pub const fn doubled(self) -> ScalarType {
        use ScalarType::*;
        match self {
            U16 => U32,
            S16 => S32,
            U32 => U64,
            S32 => S64,
            other => other,
        }
    }

    /// The type of one of `count` elements that a value of this type is packed from.
    pub const fn element(self, count: usize) -> ScalarType {
        match self.bits() as usize / if count == 0 { 1 } else { count } {
            8 => ScalarType::B8,
            16 => ScalarType::B16,
            32 => ScalarType::B32,
            64 => ScalarType::B64,
            _ => ScalarType::B128,
        }
    }

    /// The type of the registers that hold elements of this type in the fragment of a matrix (PTX ISA 9.7.14.2, 9.7.14.5).
    pub const fn fragment_register(self) -> ScalarType {
        use ScalarType::{B32, F32, F64, S32};
        match self {
            F32 | F64 | S32 => self,
            _ => B32,
        }
    }

    /// The integer type of a width of 8, 16, 32 or 64 bits; `.b128` for any other.
    pub(crate) const fn integer(bits: u32, signed: bool) -> ScalarType {
        use ScalarType::*;
        match (bits, signed) {
            (8, false) => U8,
            (8, true) => S8,
            (16, false) => U16,
            (16, true) => S16,
            (32, false) => U32,
            (32, true) => S32,
            (64, false) => U64,
            (64, true) => S64,
            _ => B128,
        }
    }

    /// The untyped type of the same size, as used for registers.
    pub const fn to_bits(self) -> ScalarType {
        match self.bits() {
            1 => match self {
                ScalarType::Pred => ScalarType::Pred,
                _ => ScalarType::B8,
            },
            2 | 4 | 6 | 8 => ScalarType::B8,
            16 => ScalarType::B16,
            32 => ScalarType::B32,
            64 => ScalarType::B64,
            _ => ScalarType::B128,
        }
    }
}

keywords! {
    /// A state space (PTX ISA 5.1); the absence of one means generic addressing.
    Space {
        Generic = "generic",
        Global = "global",
        /// The ten banks of old PTX versions are one space here.
        Const = "const",
        /// `.shared::cta`, also what plain `.shared` means.
        Shared = "shared",
        SharedCluster = "shared::cluster",
        Local = "local",
        /// Kernel parameters, the parameters of device functions and `.param` variables for calls: see [`super::Base::ParamFrame`].
        Param = "param",
    }
}

keywords! {
    /// Floating-point and integer rounding (PTX ISA 9.7.3, 9.7.9.21).
    Rounding {
        Rn = "rn", Rz = "rz", Rm = "rm", Rp = "rp",
        /// To nearest, ties away from zero.
        Rna = "rna",
        /// Stochastic: takes random bits as an operand.
        Rs = "rs",
        Rni = "rni", Rzi = "rzi", Rmi = "rmi", Rpi = "rpi",
    }
}

keywords! {
    /// How a comparison relates its operands (PTX ISA 9.3.1). `lo`, `ls`, `hi`, `hs` are folded into their plain forms on unsigned types.
    Compare {
        Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge",
        /// The unordered forms hold if an operand is NaN.
        Equ = "equ", Neu = "neu", Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu",
        /// Both operands are numbers.
        Num = "num",
        /// An operand is NaN.
        Nan = "nan",
    }
}

keywords! {
    /// What combines a comparison with the predicate operand of `set` and `setp`.
    BoolOp { And = "and", Or = "or", Xor = "xor", }
}

keywords! {
    /// Which half of a product.
    MulMode { Lo = "lo", Hi = "hi", Wide = "wide", }
}

keywords! {
    /// Memory ordering (PTX ISA 8.4), `volatile` and `mmio` included.
    Semantics {
        Weak = "weak", Volatile = "volatile", Relaxed = "relaxed", Acquire = "acquire", Release = "release",
        AcqRel = "acq_rel", Sc = "sc", Mmio = "mmio",
    }
}

keywords! {
    /// The threads that a strong operation is seen by (PTX ISA 8.5).
    Scope { Cta = "cta", Cluster = "cluster", Gpu = "gpu", Sys = "sys", }
}

keywords! {
    /// Cache operators (PTX ISA 9.7.9.1); hints, without meaning for results.
    CacheOp { Ca = "ca", Cg = "cg", Cs = "cs", Lu = "lu", Cv = "cv", Wb = "wb", Wt = "wt", }
}

keywords! {
    /// Operations of `atom` and `red` (PTX ISA 9.7.13.5).
    AtomicOp {
        And = "and", Or = "or", Xor = "xor", Exch = "exch", Cas = "cas", Add = "add", Inc = "inc", Dec = "dec",
        Min = "min", Max = "max",
    }
}

keywords! {
    /// Lane selection of `shfl.sync`.
    ShflMode { Up = "up", Down = "down", Bfly = "bfly", Idx = "idx", }
}

keywords! {
    /// What `vote.sync` computes.
    VoteMode { All = "all", Any = "any", Uni = "uni", Ballot = "ballot", }
}

keywords! {
    /// What `redux.sync` computes.
    ReduxOp { Add = "add", Min = "min", Max = "max", And = "and", Or = "or", Xor = "xor", }
}

keywords! {
    /// Selection of `prmt` (PTX ISA 9.7.9.7); without a mode the selector is read nibble by nibble.
    PrmtMode { Index = "idx", F4e = "f4e", B4e = "b4e", Rc8 = "rc8", Ecl = "ecl", Ecr = "ecr", Rc16 = "rc16", }
}

keywords! {
    /// What happens to a shift amount or a bit position out of range.
    ClampMode { Clamp = "clamp", Wrap = "wrap", }
}

keywords! {
    /// What `testp` asks.
    TestpOp {
        Finite = "finite", Infinite = "infinite", Number = "number", NotANumber = "notanumber", Normal = "normal",
        Subnormal = "subnormal",
    }
}

keywords! {
    /// Predefined read-only registers (PTX ISA 10), by the name that follows `%`.
    SpecialReg {
        TidX = "tid.x", TidY = "tid.y", TidZ = "tid.z",
        NtidX = "ntid.x", NtidY = "ntid.y", NtidZ = "ntid.z",
        Laneid = "laneid", Warpid = "warpid", Nwarpid = "nwarpid",
        CtaidX = "ctaid.x", CtaidY = "ctaid.y", CtaidZ = "ctaid.z",
        NctaidX = "nctaid.x", NctaidY = "nctaid.y", NctaidZ = "nctaid.z",
        Smid = "smid", Nsmid = "nsmid", Gridid = "gridid",
        IsExplicitCluster = "is_explicit_cluster",
        ClusteridX = "clusterid.x", ClusteridY = "clusterid.y", ClusteridZ = "clusterid.z",
        NclusteridX = "nclusterid.x", NclusteridY = "nclusterid.y", NclusteridZ = "nclusterid.z",
        ClusterCtaidX = "cluster_ctaid.x", ClusterCtaidY = "cluster_ctaid.y", ClusterCtaidZ = "cluster_ctaid.z",
        ClusterNctaidX = "cluster_nctaid.x", ClusterNctaidY = "cluster_nctaid.y", ClusterNctaidZ = "cluster_nctaid.z",
        ClusterCtarank = "cluster_ctarank", ClusterNctarank = "cluster_nctarank",
        LanemaskEq = "lanemask_eq", LanemaskLe = "lanemask_le", LanemaskLt = "lanemask_lt",
        LanemaskGe = "lanemask_ge", LanemaskGt = "lanemask_gt",
        Clock = "clock", ClockHi = "clock_hi", Clock64 = "clock64",
        Pm0 = "pm0", Pm1 = "pm1", Pm2 = "pm2", Pm3 = "pm3", Pm4 = "pm4", Pm5 = "pm5", Pm6 = "pm6", Pm7 = "pm7",
        Pm0_64 = "pm0_64", Pm1_64 = "pm1_64", Pm2_64 = "pm2_64", Pm3_64 = "pm3_64",
        Pm4_64 = "pm4_64", Pm5_64 = "pm5_64", Pm6_64 = "pm6_64", Pm7_64 = "pm7_64",
        Envreg0 = "envreg0", Envreg1 = "envreg1", Envreg2 = "envreg2", Envreg3 = "envreg3",
        Envreg4 = "envreg4", Envreg5 = "envreg5", Envreg6 = "envreg6", Envreg7 = "envreg7",
        Envreg8 = "envreg8", Envreg9 = "envreg9", Envreg10 = "envreg10", Envreg11 = "envreg11",
        Envreg12 = "envreg12", Envreg13 = "envreg13", Envreg14 = "envreg14", Envreg15 = "envreg15",
        Envreg16 = "envreg16", Envreg17 = "envreg17", Envreg18 = "envreg18", Envreg19 = "envreg19",
        Envreg20 = "envreg20", Envreg21 = "envreg21", Envreg22 = "envreg22", Envreg23 = "envreg23",
        Envreg24 = "envreg24", Envreg25 = "envreg25", Envreg26 = "envreg26", Envreg27 = "envreg27",
        Envreg28 = "envreg28", Envreg29 = "envreg29", Envreg30 = "envreg30", Envreg31 = "envreg31",
        Globaltimer = "globaltimer", GlobaltimerLo = "globaltimer_lo", GlobaltimerHi = "globaltimer_hi",
        ReservedSmemOffsetBegin = "reserved_smem_offset_begin", ReservedSmemOffsetEnd = "reserved_smem_offset_end",
        ReservedSmemOffsetCap = "reserved_smem_offset_cap",
        ReservedSmemOffset0 = "reserved_smem_offset_0", ReservedSmemOffset1 = "reserved_smem_offset_1",
        TotalSmemSize = "total_smem_size", AggrSmemSize = "aggr_smem_size", DynamicSmemSize = "dynamic_smem_size",
        CurrentGraphExec = "current_graph_exec",
        LocalityDomainId = "locality_domain_id", LocalityDomainSupplementalSm = "locality_domain_supplemental_sm",
    }
}

impl SpecialReg {
    /// The type that the manual gives the register.
    pub const fn ty(self) -> ScalarType {
        use SpecialReg::*;
        match self {
            Gridid | Clock64 | Globaltimer | CurrentGraphExec | Pm0_64 | Pm1_64 | Pm2_64 | Pm3_64 | Pm4_64 | Pm5_64
            | Pm6_64 | Pm7_64 => ScalarType::U64,
            IsExplicitCluster => ScalarType::Pred,
            _ => ScalarType::U32,
        }
    }
}
