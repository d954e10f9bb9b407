//! Video instructions (PTX ISA 9.7.18). Their operands carry selectors, which lowering reads.

pub(super) const FORMS: &[&str] = &[
    // 9.7.18.1: scalar
    "vadd.(u32|s32).(u32|s32).(u32|s32).sat?.(add|min|max)? * * * *? ; 2.0 20",
    "vsub.(u32|s32).(u32|s32).(u32|s32).sat?.(add|min|max)? * * * *? ; 2.0 20",
    "vabsdiff.(u32|s32).(u32|s32).(u32|s32).sat?.(add|min|max)? * * * *? ; 2.0 20",
    "vmin.(u32|s32).(u32|s32).(u32|s32).sat?.(add|min|max)? * * * *? ; 2.0 20",
    "vmax.(u32|s32).(u32|s32).(u32|s32).sat?.(add|min|max)? * * * *? ; 2.0 20",
    "vshl.(u32|s32).(u32|s32).u32.sat?.(clamp|wrap).(add|min|max)? * * * *? ; 2.0 20",
    "vshr.(u32|s32).(u32|s32).u32.sat?.(clamp|wrap).(add|min|max)? * * * *? ; 2.0 20",
    "vmad.(u32|s32).(u32|s32).(u32|s32).po?.sat?.(shr7|shr15)? * * * * ; 2.0 20",
    "vset.(u32|s32).(u32|s32).(eq|ne|lt|le|gt|ge).(add|min|max)? * * * *? ; 2.0 20",
    // 9.7.18.2: two halves, four bytes
    "vadd2.(u32|s32).(u32|s32).(u32|s32).(sat|add)? * * * * ; 3.0 30",
    "vsub2.(u32|s32).(u32|s32).(u32|s32).(sat|add)? * * * * ; 3.0 30",
    "vavrg2.(u32|s32).(u32|s32).(u32|s32).(sat|add)? * * * * ; 3.0 30",
    "vabsdiff2.(u32|s32).(u32|s32).(u32|s32).(sat|add)? * * * * ; 3.0 30",
    "vmin2.(u32|s32).(u32|s32).(u32|s32).(sat|add)? * * * * ; 3.0 30",
    "vmax2.(u32|s32).(u32|s32).(u32|s32).(sat|add)? * * * * ; 3.0 30",
    "vset2.(u32|s32).(u32|s32).(eq|ne|lt|le|gt|ge).add? * * * * ; 3.0 30",
    "vadd4.(u32|s32).(u32|s32).(u32|s32).(sat|add)? * * * * ; 3.0 30",
    "vsub4.(u32|s32).(u32|s32).(u32|s32).(sat|add)? * * * * ; 3.0 30",
    "vavrg4.(u32|s32).(u32|s32).(u32|s32).(sat|add)? * * * * ; 3.0 30",
    "vabsdiff4.(u32|s32).(u32|s32).(u32|s32).(sat|add)? * * * * ; 3.0 30",
    "vmin4.(u32|s32).(u32|s32).(u32|s32).(sat|add)? * * * * ; 3.0 30",
    "vmax4.(u32|s32).(u32|s32).(u32|s32).(sat|add)? * * * * ; 3.0 30",
    "vset4.(u32|s32).(u32|s32).(eq|ne|lt|le|gt|ge).add? * * * * ; 3.0 30",
];
