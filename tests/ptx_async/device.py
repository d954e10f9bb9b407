"""What the cases need of the driver API, through ctypes: memory, modules, launches with clusters, tensor maps."""
import ctypes as C

MAP_BYTES = 128


class Attribute(C.Structure):        # CUlaunchAttribute
    _fields_ = [("id", C.c_uint32), ("pad", C.c_uint32), ("value", C.c_uint32 * 16)]


class Config(C.Structure):           # CUlaunchConfig
    _fields_ = [("grid", C.c_uint32 * 3), ("block", C.c_uint32 * 3), ("shared", C.c_uint32), ("stream", C.c_void_p), ("attributes", C.c_void_p), ("count", C.c_uint32)]


class Refused(Exception):
    """A call of the driver that answered with a code."""


class Device:
    def __init__(self, library):
        self.lib = C.CDLL(library)
        device, context = C.c_int(), C.c_void_p()
        self.check("cuInit", C.c_uint(0))
        self.check("cuDeviceGet", C.byref(device), C.c_int(0))
        self.check("cuDevicePrimaryCtxRetain", C.byref(context), device)
        self.check("cuCtxSetCurrent", context)

    def call(self, name, *args):
        return getattr(self.lib, name)(*args)

    def name_of(self, code):
        text = C.c_char_p()
        self.lib.cuGetErrorName(C.c_int(code), C.byref(text))
        return (text.value or str(code).encode()).decode()

    def check(self, name, *args):
        code = self.call(name, *args)
        if code:
            raise Refused(f"{name}: {self.name_of(code)}")

    def description(self):
        name, version = C.create_string_buffer(256), C.c_int()
        self.lib.cuDeviceGetName(name, 256, C.c_int(0))
        self.lib.cuDriverGetVersion(C.byref(version))
        return {"device": name.value.decode(), "driver": version.value}

    def buffer(self, content):
        address = C.c_uint64()
        self.check("cuMemAlloc_v2", C.byref(address), C.c_size_t(max(len(content), 256)))
        if content:
            self.check("cuMemcpyHtoD_v2", address, C.c_char_p(bytes(content)), C.c_size_t(len(content)))
        return address.value

    def read(self, address, size):
        out = C.create_string_buffer(size)
        self.check("cuMemcpyDtoH_v2", out, C.c_uint64(address), C.c_size_t(size))
        return out.raw

    def free(self, address):
        self.check("cuMemFree_v2", C.c_uint64(address))

    def kernel(self, text, name):
        module, function, log = C.c_void_p(), C.c_void_p(), C.create_string_buffer(4096)
        keys, values = (C.c_int * 2)(5, 6), (C.c_void_p * 2)(C.addressof(log), 4096)      # the error log and its size
        code = self.call("cuModuleLoadDataEx", C.byref(module), C.c_char_p(text.encode()), C.c_uint(2), keys, values)
        if code:
            raise Refused(f"cuModuleLoadDataEx: {self.name_of(code)}\n{log.value.decode(errors='replace')}")
        self.check("cuModuleGetFunction", C.byref(function), module, name.encode())
        return module, function

    def launch(self, function, grid, block, shared, cluster, params):
        """Launches, with clusters of this shape if one is given, and waits."""
        attributes = (Attribute * 1)()
        if cluster:
            attributes[0].id = 4
            attributes[0].value[:3] = cluster
        config = Config((C.c_uint32 * 3)(*grid), (C.c_uint32 * 3)(*block), shared, None, C.cast(attributes, C.c_void_p) if cluster else None, 1 if cluster else 0)
        pointers = (C.c_void_p * len(params))(*[C.cast(C.byref(value), C.c_void_p) for value in params])
        self.check("cuLaunchKernelEx", C.byref(config), function, pointers, None)
        self.check("cuCtxSynchronize")

    def encode(self, spec, address):
        """A tensor map, in memory aligned as it must be. `spec` as in `tensors.tiled` and `tensors.im2col`."""
        storage = C.create_string_buffer(MAP_BYTES + 64)
        start = (C.addressof(storage) + 63) // 64 * 64 + spec.get("misaligned", 0)
        rank = spec["rank"]
        numbers = lambda kind, values: (kind * max(len(values), 1))(*values) if values is not None else None
        head = [C.c_void_p(start), C.c_int(spec["dtype"]), C.c_uint32(rank), C.c_void_p(address + spec["offset"]), numbers(C.c_uint64, spec["dims"]), numbers(C.c_uint64, spec["strides"])]
        tail = [numbers(C.c_uint32, spec["steps"]), *(C.c_int(spec[key]) for key in ("interleave", "swizzle", "promotion", "fill"))]
        if "box" in spec:
            name, middle = "cuTensorMapEncodeTiled", [numbers(C.c_uint32, spec["box"])]
        else:
            name = "cuTensorMapEncodeIm2col"
            middle = [numbers(C.c_int, spec["lower"]), numbers(C.c_int, spec["upper"]), C.c_uint32(spec["channels"]), C.c_uint32(spec["pixels"])]
        self.check(name, *head, *middle, *tail)
        return C.string_at(start, MAP_BYTES)

    def replace(self, content, address):
        storage = C.create_string_buffer(MAP_BYTES + 64)
        start = (C.addressof(storage) + 63) // 64 * 64
        C.memmove(start, content, MAP_BYTES)
        self.check("cuTensorMapReplaceAddress", C.c_void_p(start), C.c_void_p(address))
        return C.string_at(start, MAP_BYTES)
