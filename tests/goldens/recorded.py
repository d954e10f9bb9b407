"""What recordings of kernels have in common: a driver, and the answer to whether another one computes the same."""
import ctypes as C
import hashlib
import json
import os
import sys
import tempfile


class Driver:
    """A device's driver with a context."""

    def __init__(self, library):
        self.library = C.CDLL(library)
        device, context, name = C.c_int(), C.c_void_p(), C.create_string_buffer(256)
        self.call("cuInit", 0)
        self.call("cuDeviceGet", C.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", C.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuDeviceGetName", name, 256, device)
        self.name = name.value.decode()

    def call(self, name, *args):
        status = getattr(self.library, name)(*args)
        assert status == 0, f"{name}: {status}"

    def memory(self, size):
        out = C.c_uint64()
        self.call("cuMemAlloc_v2", C.byref(out), C.c_size_t(size))
        return out

    def kernel(self, text):
        """The kernel `k` of a module, and the module."""
        module, function = C.c_void_p(), C.c_void_p()
        self.call("cuModuleLoadData", C.byref(module), text.encode())
        self.call("cuModuleGetFunction", C.byref(function), module, b"k")
        return function, module

    def run(self, function, threads, *params):
        """Runs a CTA, and waits for it."""
        self.launch(function, threads, *params)
        self.call("cuCtxSynchronize")

    def launch(self, function, threads, *params):
        """Starts a CTA."""
        pointers = (C.c_void_p * len(params))(*[C.cast(C.byref(param), C.c_void_p) for param in params])
        self.call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, None, pointers, None)

    def digest(self, memory, words):
        """What is kept of so many words."""
        results = (C.c_uint32 * words)()
        self.call("cuMemcpyDtoH_v2", results, memory, C.c_size_t(C.sizeof(results)))
        return {"first": [f"{word:08x}" for word in results[:4]], "all": hashlib.sha256(bytes(results)).hexdigest()[:16]}


def said_meanwhile(work):
    """What comes of some work, and what is written to standard error, which is where it was afterwards."""
    was = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            result = work()
        finally:
            os.dup2(was, 2)
            os.close(was)
            file.seek(0)
            said = file.read().decode(errors="replace")
            sys.stderr.write(said)
    return result, said


def main(arguments, cases_of, what, compared=lambda case: True, opened=Driver, library="libcuda.so.1"):
    """Prints the cases of a driver, or what else is `opened`; with `--check FILE`, how many of those that are to be `compared` are as there. Where warploom has to compile all kernels, it is wrong if it does not."""
    checked = arguments[1] if arguments[:1] == ["--check"] else None
    rest = arguments[2:] if checked else arguments
    driver = opened(rest[0] if rest else library)
    cases, said = said_meanwhile(lambda: json.loads(json.dumps(cases_of(driver))))
    if checked is None:
        print(json.dumps({"device": driver.name})[:-1] + ', "cases": [')
        print(",\n".join(map(json.dumps, cases)) + "]}")
        return 0
    with open(checked) as file:
        expected = [case for case in json.load(file)["cases"] if compared(case)]
    wrong = [(ours, theirs) for ours, theirs in zip(cases, expected, strict=True) if ours != theirs]
    for ours, theirs in wrong[:10]:
        print(f"{ours}\n  where hardware has {[value for key, value in theirs.items() if ours[key] != value]}")
    print(f"{len(cases) - len(wrong)} of {len(cases)} {what} as recorded")
    interpreted = os.environ.get("WARPLOOM_JIT") == "always" and " is not compiled" in said
    return int(bool(wrong) or interpreted)
