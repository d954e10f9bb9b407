"""What the driver API is told of arrays, copies and textures (cuda.h), for recordings of those."""
import ctypes as C


class Array3D(C.Structure):          # CUDA_ARRAY3D_DESCRIPTOR
    _fields_ = [("width", C.c_size_t), ("height", C.c_size_t), ("depth", C.c_size_t), ("format", C.c_int), ("channels", C.c_uint), ("flags", C.c_uint)]


class Copy3D(C.Structure):           # CUDA_MEMCPY3D
    _fields_ = [(side + name, type) for side in ("src", "dst") for name, type in
                (("X", C.c_size_t), ("Y", C.c_size_t), ("Z", C.c_size_t), ("LOD", C.c_size_t), ("Type", C.c_int), ("Host", C.c_void_p), ("Device", C.c_uint64), ("Array", C.c_void_p),
                 ("Reserved", C.c_void_p), ("Pitch", C.c_size_t), ("Height", C.c_size_t))] + [("width", C.c_size_t), ("height", C.c_size_t), ("depth", C.c_size_t)]


class Resource(C.Structure):         # CUDA_RESOURCE_DESC
    _fields_ = [("type", C.c_int), ("pad", C.c_int), ("union", C.c_uint64 * 16), ("flags", C.c_uint), ("pad2", C.c_uint)]


class Sampler(C.Structure):          # CUDA_TEXTURE_DESC
    _fields_ = [("address", C.c_int * 3), ("filter", C.c_int), ("flags", C.c_uint), ("anisotropy", C.c_uint), ("mip", C.c_int), ("bias", C.c_float), ("low", C.c_float), ("high", C.c_float),
                ("border", C.c_float * 4), ("reserved", C.c_int * 12)]


class View(C.Structure):             # CUDA_RESOURCE_VIEW_DESC
    _fields_ = [("format", C.c_int), ("pad", C.c_int), ("width", C.c_size_t), ("height", C.c_size_t), ("depth", C.c_size_t), ("level", C.c_uint), ("last_level", C.c_uint), ("layer", C.c_uint),
                ("last_layer", C.c_uint), ("reserved", C.c_uint * 16)]
