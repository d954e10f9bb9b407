#!/usr/bin/env python3
"""Records what `mma` computes of operands that are out of the ordinary (PTX ISA 9.7.14.5.14): zeros of both signs, infinities and NaNs among the factors or the summands,
sums that overflow, subnormal numbers, by themselves, from zero, as one factor of each product, and as one of large products beside small ones, and any bits whatever, those that `.tf32` does not have among them. Prints JSON: for each case a digest of all sums, and the first.

    mma_special.py [LIBCUDA] > mma_special.json
    mma_special.py --check mma_special.json [LIBCUDA]
"""
import ctypes as C
import struct
import sys

import recorded

# Shape, type of factors, their bits, and of those of exponent and fraction; type of sums.
KINDS = [("m16n8k16", "f16", 16, 5, 10, "f32"), ("m16n8k16", "f16", 16, 5, 10, "f16"), ("m16n8k16", "bf16", 16, 8, 7, "f32"),
         ("m16n8k8", "tf32", 32, 8, 23, "f32"), ("m16n8k32", "e4m3", 8, 4, 3, "f32"), ("m16n8k32", "e5m2", 8, 5, 2, "f32")]
MODES = ("zeros", "special", "huge", "tiny", "any", "special summands", "tiny from zero", "subnormal left", "subnormal right", "beside subnormal left", "beside subnormal right", "subnormal summands")
ROUNDS = 12
LANES = 32


class Numbers:
    """Numbers that are the same everywhere."""

    def __init__(self, seed):
        self.state = seed * 0x9e3779b97f4a7c15 + 1 & (1 << 64) - 1

    def below(self, limit):
        self.state ^= self.state << 13 & (1 << 64) - 1
        self.state ^= self.state >> 7
        self.state ^= self.state << 17 & (1 << 64) - 1
        return (self.state >> 11) % limit


def factor(numbers, mode, round, register, bits, exponent, fraction):
    sign, low, top = numbers.below(2) << bits - 1, numbers.below(1 << fraction), (1 << exponent) - 1
    middle = top >> 1
    if mode == "zeros":
        return sign | (middle << fraction if numbers.below(10) == 0 else 0)
    if mode == "any":
        return numbers.below(1 << bits)
    if mode == "special" and numbers.below(200) == 0:
        return sign | top << fraction | low * numbers.below(2)
    if "subnormal left" in mode or "subnormal right" in mode:
        # The upper half of `k` is in the third and fourth register on the left, and in the second on the right.
        if mode.startswith("beside") and register in (2, 3, 5):
            return sign | max(middle - 13 + numbers.below(3), 1) << fraction | low
        # From round to round the leading bits lie further down.
        small = (register < 4) == mode.endswith("left")
        return sign | (low >> round % min(6, fraction) if small else top - 2 - numbers.below(4) << fraction | low)
    if mode == "subnormal summands":
        # Products are as small as the least normal number of sums is, if they can be.
        return sign | (middle >> 1) + numbers.below(2) << fraction | low
    first = {"huge": top - 3, "tiny": 0, "tiny from zero": 0}.get(mode, middle - 2)
    return sign | first + numbers.below(3) << fraction | low


def summand(numbers, mode, bits, exponent, fraction):
    sign, low, top = numbers.below(2) << bits - 1, numbers.below(1 << fraction), (1 << exponent) - 1
    if mode in ("zeros", "tiny from zero") or "subnormal left" in mode or "subnormal right" in mode:
        return sign
    if mode == "special summands":
        return (sign | top << fraction, sign | top << fraction | low, sign, sign | low, sign | top - 1 << fraction | low, numbers.below(1 << bits))[numbers.below(6)]
    if mode == "huge":
        return sign | top - 1 << fraction | low
    if mode in ("tiny", "subnormal summands"):
        return sign | numbers.below(2) << fraction | low
    return sign | (top >> 1) - numbers.below(4) << fraction | low


def words(make, bits):
    return sum(make() << at for at in range(0, 32, bits))


def text(shape, factors, sums):
    count = 4 if sums == "f32" else 2
    c = "{" + ", ".join(f"%c{at}" for at in range(count)) + "}"
    return f""".version 8.4
.target sm_89
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
  .reg .b32 %t, %r<6>; .reg .{'f32' if sums == 'f32' else 'b32'} %c<4>; .reg .b64 %in, %out;
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %in, %t, 40, %in;
  mad.wide.u32 %out, %t, 16, %out;
  {" ".join(f"ld.global.b32 %r{at}, [%in+{4 * at}];" for at in range(6))}
  {" ".join(f"ld.global.b32 %c{at}, [%in+{24 + 4 * at}];" for at in range(count))}
  mma.sync.aligned.{shape}.row.col.{sums}.{factors}.{factors}.{sums} {c}, {{%r0, %r1, %r2, %r3}}, {{%r4, %r5}}, {c};
  {" ".join(f"st.global.b32 [%out+{4 * at}], %c{at};" for at in range(count))}
  ret;
}}
"""


def cases(driver):
    given, out = driver.memory(40 * LANES), driver.memory(16 * LANES)
    numbers, made = Numbers(7), []
    for shape, factors, bits, exponent, fraction, sums in KINDS:
        function, module = driver.kernel(text(shape, factors, sums))
        of_sums = (32, 8, 23) if sums == "f32" else (16, 5, 10)
        for mode in MODES:
            for round in range(ROUNDS):
                operands = []
                for _ in range(LANES):
                    operands += [words(lambda: factor(numbers, mode, round, at, bits, exponent, fraction), bits) for at in range(6)]
                    operands += [words(lambda: summand(numbers, mode, *of_sums), of_sums[0]) for _ in range(4)]
                driver.call("cuMemcpyHtoD_v2", given, struct.pack(f"<{len(operands)}I", *operands), C.c_size_t(40 * LANES))
                driver.call("cuMemsetD32_v2", out, 0, C.c_size_t(4 * LANES))
                driver.run(function, LANES, given, out)
                made.append({"factors": factors, "sums": sums, "mode": mode, "round": round, **driver.digest(out, 4 * LANES)})
        driver.call("cuModuleUnload", module)
    return made


sys.exit(recorded.main(sys.argv[1:], cases, "products of special operands"))
