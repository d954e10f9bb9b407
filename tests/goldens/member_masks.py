#!/usr/bin/env python3
"""Records what exchanges between the lanes of a warp do with member masks of every kind (PTX ISA 9.7.9.6, 9.7.13.2, 9.7.13.8 to 9.7.13.12: what they do is not
defined where a mask does not have the lane that executes them): of registers and constants, the same for all lanes or not, for all of a warp and a half of it.
Prints JSON: for each instruction, kind of mask and half what the kernel's end answers, and what the lanes get. Each case has a process of its own; one that does
not end in time is a hang.

    member_masks.py [LIBCUDA] > member_masks.json
    member_masks.py --check member_masks.json [LIBCUDA]
"""
import ctypes as C
import json
import subprocess
import sys

import recorded

SECONDS = 20
FORMS = {
    "vote.ballot": "vote.sync.ballot.b32 %r4, %p1, {mask};",
    "vote.all": "vote.sync.all.pred %p2, %p1, {mask}; selp.u32 %r4, 1, 0, %p2;",
    "match.any": "match.any.sync.b32 %r4, %r3, {mask};",
    "match.all": "match.all.sync.b32 %r4, %r3, {mask};",
    "redux.add": "redux.sync.add.u32 %r4, %r2, {mask};",
    "shfl.bfly": "shfl.sync.bfly.b32 %r4, %r2, 1, 31, {mask};",
    "shfl.up": "shfl.sync.up.b32 %r4, %r2, 3, 0, {mask};",
    "elect": "elect.sync %r4|%p2, {mask};",
    "bar.warp": "bar.warp.sync {mask}; mov.u32 %r4, %r2;",
}
LANES = range(32)
# By what they have in them: the lane itself, lanes that execute the instruction, others.
MASKS = {
    "all": [0xffffffff] * 32,
    "self": [1 << lane for lane in LANES],
    "pairs": [3 << (lane & ~1) for lane in LANES],
    "halves": [0xffff << (lane & 16) for lane in LANES],
    "up to self": [(2 << lane) - 1 for lane in LANES],
    "below self": [(1 << lane) - 1 for lane in LANES],
    "all but self": [0xffffffff ^ 1 << lane for lane in LANES],
    "other half": [0xffff << (lane & 16 ^ 16) for lane in LANES],
    "low half": [0xffff] * 32,
    "none": [0] * 32,
}


def is_constant(masks):
    return len(set(MASKS[masks])) == 1


# A half that waits for the other one would wait for ever. Lanes whose masks overlap come to a shuffle at different times, and read others that are not there.
CASES = [(form, masks, half, constant) for form in FORMS for masks in MASKS for half in (False, True) for constant in (False, True)
         if (not constant or is_constant(masks)) and (not half or masks not in ("all", "all but self"))
         and (masks != "up to self" or not form.startswith("shfl"))]


def text(form, masks, half, constant):
    mask = f"{MASKS[masks][0]:#x}" if constant else "%r1"
    return f""".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 masks)
{{
  .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %d<4>;
  ld.param.u64 %d0, [out];
  ld.param.u64 %d1, [masks];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d2, %r0, 4;
  add.u64 %d0, %d0, %d2;
  add.u64 %d1, %d1, %d2;
  ld.global.u32 %r1, [%d1];
  mad.lo.u32 %r2, %r0, 5, 3;
  rem.u32 %r3, %r0, 3;
  setp.ne.u32 %p1, %r3, 0;
  {"setp.gt.u32 %p0, %r0, 15; @%p0 bra OUT;" if half else ""}
  {FORMS[form].format(mask=mask)}
  st.global.u32 [%d0], %r4;
OUT:
  ret;
}}
"""


def one(library, *case):
    """What a process of its own prints."""
    driver = recorded.Driver(library)
    function, _ = driver.kernel(text(*case))
    out, masks = driver.memory(128), driver.memory(128)
    driver.call("cuMemcpyHtoD_v2", masks, (C.c_uint32 * 32)(*MASKS[case[1]]), C.c_size_t(128))
    driver.call("cuMemsetD32_v2", out, 0, C.c_size_t(32))
    driver.launch(function, 32, out, masks)
    status = driver.library.cuCtxSynchronize()
    results = (C.c_uint32 * 32)()
    if status == 0:
        driver.call("cuMemcpyDtoH_v2", results, out, C.c_size_t(128))
    print(json.dumps({"run": status, "lanes": " ".join(f"{word:x}" for word in results) if status == 0 else None}))


def answer(library, case):
    command = [sys.executable, __file__, "--one", library, json.dumps(case)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {"run": "hang", "lanes": None}
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def cases(driver):
    names = ("form", "masks", "half", "constant")
    return [{**dict(zip(names, case)), **answer(driver.library._name, case)} for case in CASES]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], *json.loads(sys.argv[3]))
    else:
        sys.exit(recorded.main(sys.argv[1:], cases, "exchanges"))
