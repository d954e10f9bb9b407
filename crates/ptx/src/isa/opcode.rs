//! The opcodes: the first word of every instruction.

use crate::ir::keywords;

keywords! {
    /// An opcode, without its modifiers.
    Opcode {
        Add = "add", Sub = "sub", Mul = "mul", Mad = "mad", Clmad = "clmad", Mul24 = "mul24", Mad24 = "mad24", Sad = "sad", Div = "div",
        Rem = "rem", Abs = "abs", Neg = "neg", Min = "min", Max = "max", Popc = "popc", Clz = "clz", Bfind = "bfind",
        Fns = "fns", Brev = "brev", Bfe = "bfe", Bfi = "bfi", Szext = "szext", Bmsk = "bmsk", Dp4a = "dp4a", Dp2a =
        "dp2a", Addc = "addc", Subc = "subc", Madc = "madc", Testp = "testp", Copysign = "copysign", Fma = "fma", Rcp =
        "rcp", Sqrt = "sqrt", Rsqrt = "rsqrt", Sin = "sin", Cos = "cos", Lg2 = "lg2", Ex2 = "ex2", Tanh = "tanh", Set =
        "set", Setp = "setp", Selp = "selp", Slct = "slct", And = "and", Or = "or", Xor = "xor", Not = "not", Cnot =
        "cnot", Lop3 = "lop3", Shf = "shf", Shl = "shl", Shr = "shr", Mov = "mov", Shfl = "shfl", Prmt = "prmt", Ld =
        "ld", Ldu = "ldu", St = "st", Multimem = "multimem", Fabric = "fabric", Prefetch = "prefetch", Prefetchu = "prefetchu",
        Applypriority = "applypriority", Discard = "discard", Createpolicy = "createpolicy", Isspacep = "isspacep", Cvta
        = "cvta", Cvt = "cvt", Mapa = "mapa", Getctarank = "getctarank", Cp = "cp", Tensormap = "tensormap", Tex =
        "tex", Tld4 = "tld4", Txq = "txq", Istypep = "istypep", Suld = "suld", Sust = "sust", Sured = "sured", Suq =
        "suq", Bra = "bra", Brx = "brx", Call = "call", Ret = "ret", Exit = "exit", Stacksave = "stacksave",
        Stackrestore = "stackrestore", Alloca = "alloca", Brkpt = "brkpt", Nanosleep = "nanosleep", Pmevent = "pmevent",
        Trap = "trap", Setmaxnreg = "setmaxnreg", Griddepcontrol = "griddepcontrol", Bar = "bar", Barrier = "barrier",
        Membar = "membar", Fence = "fence", Atom = "atom", Red = "red", Vote = "vote", Match = "match", Activemask =
        "activemask", Redux = "redux", Elect = "elect", Mbarrier = "mbarrier", Clusterlaunchcontrol =
        "clusterlaunchcontrol", Wmma = "wmma", Mma = "mma", Ldmatrix = "ldmatrix", Stmatrix = "stmatrix", Movmatrix =
        "movmatrix", Wgmma = "wgmma", Tcgen05 = "tcgen05", Vadd = "vadd", Vsub = "vsub", Vabsdiff = "vabsdiff", Vmin =
        "vmin", Vmax = "vmax", Vshl = "vshl", Vshr = "vshr", Vmad = "vmad", Vset = "vset", Vadd2 = "vadd2", Vsub2 =
        "vsub2", Vavrg2 = "vavrg2", Vabsdiff2 = "vabsdiff2", Vmin2 = "vmin2", Vmax2 = "vmax2", Vset2 = "vset2", Vadd4 =
        "vadd4", Vsub4 = "vsub4", Vavrg4 = "vavrg4", Vabsdiff4 = "vabsdiff4", Vmin4 = "vmin4", Vmax4 = "vmax4", Vset4 =
        "vset4",
    }
}
