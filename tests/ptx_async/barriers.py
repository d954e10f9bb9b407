"""What mbarriers and copies of single threads refuse (PTX ISA 9.7.13.15, 9.7.9.25.3)."""
from cases import Case
from ptx import *


def objects():
    init = "mbarrier.init.shared.b64 [%bar], {};"
    arrive = "mbarrier.arrive.shared.b64 %d1, [%bar], {};"
    expect = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], %r0;"
    steps = {
        "arrival at an mbarrier of zeros": ["mov.b64 %d0, 0;", "st.shared.b64 [%bar], %d0;", "membar.cta;", arrive.format(1)],
        "no arrival": [init.format(5), "mov.u32 %r0, 0;", arrive.format("%r0")],
        "more arrivals than there are": [init.format(5), "mov.u32 %r0, 7;", arrive.format("%r0")],
        "a count of more than 20 bits": ["mov.u32 %r0, 0x200001;", init.format("%r0"), arrive.format(1)],
        "more bytes than it counts": [init.format(5), "mov.u32 %r0, 0x300010;", expect],
        "as many bytes as it counts": [init.format(5), "mov.u32 %r0, 1048575;", expect],
        "more bytes than it counts, in two steps": [init.format(5), "mov.u32 %r0, 1048575;", expect, expect],
    }
    for name, lines in steps.items():
        yield Case(f"mbarrier: {name}", kernel(one(*lines, "nanosleep.u32 20000;")), out=8, block=32)
    tokens = [init.format(4), "mbarrier.arrive.shared.b64 %d1, [%bar];", "mbarrier.pending_count.b64 %r0, %d1;", "mbarrier.arrive.shared.b64 %d2, [%bar], 3;", "mbarrier.pending_count.b64 %r1, %d2;",
              "mbarrier.arrive.shared.b64 %d3, [%bar], 4;", "mbarrier.pending_count.b64 %r2, %d3;"]
    yield Case("tokens of arrivals", kernel(one(*tokens) + show_wide("%d1", "%d2", "%d3") + "  add.u64 %out, %out, 24;\n" + show("%r0", "%r1", "%r2")), out=36, block=32, fact=True)
    misaligned = "add.u32 %bar, %bar, 4;"
    for op in ("mbarrier.init.shared.b64 [%bar], 1;", "mbarrier.arrive.shared.b64 _, [%bar];", "mbarrier.test_wait.parity.shared.b64 %p, [%bar], 0;"):
        # What is written is refused now and then when the kernel has long ended.
        yield Case(f"misaligned: {op.split(' ')[0]}", kernel(one(misaligned, op)), out=8, block=32, fact="test_wait" not in op)
    yield Case("outside: mbarrier.init", kernel(one("mov.u32 %bar, 0x80000;", "mbarrier.init.shared.b64 [%bar], 1;")), out=8, block=32)
    yield Case("global address: mbarrier.init", kernel(one("mbarrier.init.b64 [%in], 1;")), out=8, block=32)
    yield Case("misaligned: cp.async", kernel(one("add.u32 %buf, %buf, 4;", "cp.async.cg.shared.global [%buf], [%in], 16;", "cp.async.wait_all;")), out=8, block=32)
    yield Case("misaligned source: cp.async", kernel(one("add.u64 %in, %in, 4;", "cp.async.cg.shared.global [%buf], [%in], 16;", "cp.async.wait_all;")), out=8, block=32)
    yield Case("ignored bad source: cp.async", kernel(one("mov.u32 %r0, 0;", "mov.u64 %in, 0;", "cp.async.cg.shared.global [%buf], [%in], 16, %r0;", "cp.async.wait_all;")), out=8, block=32)


def all_cases():
    yield from objects()
