//! Control flow (PTX ISA 9.7.12), stack manipulation (9.7.17) and the miscellaneous instructions (9.7.19).

pub(super) const FORMS: &[&str] = &[
    "bra.uni? *",
    "brx.idx.uni? u32 * ; 6.0 30",
    "call.uni? **",
    "ret.uni?",
    "exit",
    "stacksave.(u32|u64) =0 ; 7.3 52",
    "stackrestore.(u32|u64) 0 ; 7.3 52",
    "alloca.(u32|u64) =0 * #? ; 7.3 52",
    "brkpt",
    "nanosleep.u32 u32 ; 6.3 70",
    "pmevent # ; 1.4",
    "pmevent.mask # ; 3.0 20",
    "trap",
    "setmaxnreg.(inc|dec).sync.aligned.u32 # ; 8.0 90a",
    "setmaxnreg.(inc|dec).sync.aligned.u32 # ; 8.6 100a",
    "griddepcontrol.(launch_dependents|wait) ; 7.8 90",
];
