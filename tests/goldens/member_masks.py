#!/usr/bin/env python3
"""Records what exchanges between the lanes of a warp do with member masks of every kind (PTX ISA 9.7.9.6, 9.7.13.2, 9.7.13.8 to 9.7.13.12: what they do is not
defined where a mask does not have the lane that executes them): of registers and constants, the same for all lanes or not, for all of a warp and a half of it.
Prints JSON: for each instruction, kind of mask and half what the kernel's end answers, and what the lanes get. A process ends behind a case that fails; one that
does not end in time is a hang.

    member_masks.py [LIBCUDA] > member_masks.json
    member_masks.py --check member_masks.json [LIBCUDA]
"""
import ctypes as C
import json
import subprocess
import sys
import threading

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


def run(library, cases):
    """Prints what cases answer, a line each, up to one that fails: that takes the context with it."""
    driver = recorded.Driver(library)
    out, masks = driver.memory(128), driver.memory(128)
    for case in cases:
        function, module = driver.kernel(text(*case))
        driver.call("cuMemcpyHtoD_v2", masks, (C.c_uint32 * 32)(*MASKS[case[1]]), C.c_size_t(128))
        driver.call("cuMemsetD32_v2", out, 0, C.c_size_t(32))
        driver.launch(function, 32, out, masks)
        status = driver.library.cuCtxSynchronize()
        if status:
            print(json.dumps({"run": status, "lanes": None}))
            return
        results = (C.c_uint32 * 32)()
        driver.call("cuMemcpyDtoH_v2", results, out, C.c_size_t(128))
        print(json.dumps({"run": 0, "lanes": " ".join(f"{word:x}" for word in results)}), flush=True)
        driver.call("cuModuleUnload", module)


def some_answers(library, cases):
    """What the first cases answer, in a process of their own: one at least."""
    command = [sys.executable, __file__, "--run", library, json.dumps(cases)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    found, hangs = [], threading.Event()

    def end():
        hangs.set()
        process.kill()

    while True:
        late = threading.Timer(SECONDS, end)
        late.start()
        line = process.stdout.readline()
        late.cancel()
        if not line:
            break
        found.append(json.loads(line))
    status = process.wait()
    if hangs.is_set():
        found.append({"run": "hang", "lanes": None})
    else:
        assert status == 0 and found, f"{cases[len(found):][:1]}: exit status {status}"
    return found


def cases(driver):
    names = ("form", "masks", "half", "constant")
    answers = []
    while len(answers) < len(CASES):
        answers += some_answers(driver.library._name, CASES[len(answers):])
    return [{**dict(zip(names, case)), **answer} for case, answer in zip(CASES, answers, strict=True)]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2], json.loads(sys.argv[3]))
    else:
        sys.exit(recorded.main(sys.argv[1:], cases, "exchanges"))
