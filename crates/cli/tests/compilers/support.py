"""NVRTC, nvJitLink and the driver, by their C functions."""
import ctypes


class Nvrtc:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def compile(self, source, options):
        """The status, and a function that gives a result of the program by its name: its status and its bytes."""
        program = ctypes.c_void_p()
        create = self.library.nvrtcCreateProgram
        assert create(ctypes.byref(program), source.encode(), b"a.cu", 0, None, None) == 0
        words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        status = self.library.nvrtcCompileProgram(program, len(options), words)

        def get(name):
            size = ctypes.c_size_t()
            status = getattr(self.library, f"nvrtcGet{name}Size")(program, ctypes.byref(size))
            if status != 0:
                return status, b""
            text = ctypes.create_string_buffer(size.value)
            return getattr(self.library, f"nvrtcGet{name}")(program, text), text.raw

        return status, get, program

    def destroy(self, program):
        assert self.library.nvrtcDestroyProgram(ctypes.byref(program)) == 0


IMAGE, PTX, LTO, LIBRARY, ANY = 1, 2, 3, 6, 10


class JitLink:
    def __init__(self, path, version=None):
        """`version` is part of the functions' names, such as 13_0."""
        self.library, self.version = ctypes.CDLL(path), version

    def function(self, name):
        name = f"nvJitLink{name}"
        return getattr(self.library, name if self.version is None else f"__{name}_{self.version}")

    def link(self, inputs, options):
        """The statuses of all calls, and a function that gives a result by its name: its status and its bytes."""
        link = ctypes.c_void_p()
        words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        statuses = [self.function("Create")(ctypes.byref(link), len(options), words)]
        for name, kind, data in inputs if statuses == [0] else []:
            if isinstance(data, str):
                statuses.append(self.function("AddFile")(link, kind, data.encode()))
            else:
                statuses.append(self.function("AddData")(link, kind, data, ctypes.c_size_t(len(data)), name.encode()))
        if statuses[0] == 0:
            statuses.append(self.function("Complete")(link))

        def get(name):
            size = ctypes.c_size_t()
            status = self.function(f"Get{name}Size")(link, ctypes.byref(size))
            if status != 0:
                return status, b""
            text = ctypes.create_string_buffer(max(size.value, 1))
            return self.function(f"Get{name}")(link, text), text.raw[: size.value]

        return statuses, get, link

    def destroy(self, link):
        assert self.function("Destroy")(ctypes.byref(link)) == 0


class Driver:
    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        assert status == 0, f"{name}: {status}"

    def run(self, image, kernel, threads):
        """What `kernel` writes for each thread to the array that is its argument."""
        module, function, array = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        numbers = (ctypes.c_int * threads)()
        self.call("cuModuleLoadData", ctypes.byref(module), image)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, kernel)
        self.call("cuMemAlloc_v2", ctypes.byref(array), ctypes.sizeof(numbers))
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(array))
        self.call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, None, arguments, None)
        self.call("cuMemcpyDtoH_v2", numbers, array, ctypes.sizeof(numbers))
        self.call("cuMemFree_v2", array)
        self.call("cuModuleUnload", module)
        return list(numbers)
