"""Links for devices with the nvJitLink that is named, from what the NVRTC that is named makes, and runs what comes out."""
import itertools
import sys
import tempfile

from support import ANY, IMAGE, LTO, PTX, Driver, JitLink, Nvrtc

jitlink, nvrtc, driver = JitLink(sys.argv[1]), Nvrtc(sys.argv[2]), Driver()
major = sys.argv[1].rsplit(".", 1)[-1]


def made(source, result, options):
    status, get, program = nvrtc.compile(source, options)
    assert status == 0, get("ProgramLog")
    _, code = get(result)
    nvrtc.destroy(program)
    return code


KERNEL = """extern __device__ int sum(int, int);
extern "C" __global__ void kernel(int *to) { to[threadIdx.x] = sum(threadIdx.x, __CUDA_ARCH__); }"""
FUNCTION = "__device__ int sum(int a, int b) { return 2 * a + b; }"
EXPECTED = [2 * thread + 900 for thread in range(32)]
FORMS = [
    (PTX, "PTX", ["-arch=compute_90", "-rdc=true"]),
    (IMAGE, "CUBIN", ["-arch=sm_90", "-rdc=true"]),
    (LTO, "LTOIR", ["-arch=sm_90", "-dlto"]),
]
inputs = {
    (name, kind): (name, kind, made(source, result, options))
    for name, source in [("kernel", KERNEL), ("function", FUNCTION)]
    for kind, result, options in FORMS
}

for first, second in itertools.product([PTX, IMAGE, LTO], repeat=2):
    # What is left of code for link-time optimisation is what its own kernels use.
    if (first, second) in [(PTX, LTO), (IMAGE, LTO)]:
        continue
    for version in [None, f"{major}_0"]:
        linker = JitLink(sys.argv[1], version)
        options = ["-arch=sm_90"] + (["-lto"] if LTO in (first, second) else [])
        statuses, get, link = linker.link([inputs["kernel", first], inputs["function", second]], options)
        assert statuses == [0, 0, 0, 0], (first, second, statuses, get("ErrorLog"))
        status, image = get("LinkedCubin")
        assert status == 0 and image[9:13] == b"wrpl", (first, second, status)
        assert driver.run(image, b"kernel", 32) == EXPECTED, (first, second)
        # A link for a device gives no PTX.
        assert get("LinkedPtx")[0] == 3
        linker.destroy(link)

# Inputs that tell their kind themselves, and files; what kernels need is told if that is wanted.
with tempfile.NamedTemporaryFile(suffix=".ptx") as file:
    file.write(inputs["kernel", PTX][2])
    file.flush()
    given = [(None, PTX, file.name), ("function", ANY, inputs["function", IMAGE][2])]
    statuses, get, link = jitlink.link(given, ["-arch=sm_90", "-verbose"])
    assert statuses == [0, 0, 0, 0], (statuses, get("ErrorLog"))
    assert driver.run(get("LinkedCubin")[1], b"kernel", 32) == EXPECTED
    assert b"Compiling entry function 'kernel' for 'sm_90'" in get("InfoLog")[1], get("InfoLog")
    jitlink.destroy(link)

# What is missing is named, as NVIDIA's library names it.
statuses, get, link = jitlink.link([inputs["kernel", PTX]], ["-arch=sm_90"])
assert statuses == [0, 0, 6], statuses
assert get("ErrorLog")[1].startswith(b"error   : Undefined reference to '_Z3sumii' in 'kernel'\n"), get("ErrorLog")
assert get("LinkedCubin")[0] != 0
jitlink.destroy(link)

# So is what is wrong with PTX.
wrong = b".version 8.0\n.target sm_90\n.address_size 64\n.entry kernel() { nothing; }\0"
statuses, get, link = jitlink.link([("wrong", PTX, wrong)], ["-arch=sm_90"])
assert statuses[1] == 4 and b"line 4; error   : " in get("ErrorLog")[1], (statuses, get("ErrorLog"))
jitlink.destroy(link)

# PTX from link-time optimisation, where a program wants that, is NVIDIA's library's alone.
statuses, get, link = jitlink.link([inputs["kernel", LTO], inputs["function", LTO]], ["-arch=compute_90", "-lto", "-ptx"])
assert statuses == [0, 0, 0, 0] and b".entry kernel" in get("LinkedPtx")[1], (statuses, get("ErrorLog"))
jitlink.destroy(link)
print("all is well")
