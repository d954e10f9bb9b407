"""nvJPEG: an image is decoded as Pillow decodes it, and what it encodes Pillow reads."""
import ctypes
import io
from ctypes import byref, c_int, c_size_t, c_void_p

import numpy
import PIL.Image
import pytest

from libraries import Array, cudart, load

nvjpeg = load("libnvjpeg")
WIDTH, HEIGHT = 157, 123
INTERLEAVED = 5
# NVJPEG_BACKEND_DEFAULT, _HYBRID, _GPU_HYBRID.
BACKENDS = [0, 1, 2]


class Image(ctypes.Structure):
    _fields_ = [("channel", c_void_p * 4), ("pitch", c_size_t * 4)]


def of(array):
    image = Image()
    image.channel[0], image.pitch[0] = array.pointer.value, 3 * WIDTH
    return image


def ok(code):
    assert code == 0, code


@pytest.fixture(scope="module")
def picture():
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    return numpy.stack([y * 2, x * 255 // WIDTH, (x + y) * 255 // (WIDTH + HEIGHT)], -1).astype(numpy.uint8)


def created(backend):
    handle, state = c_void_p(), c_void_p()
    ok(nvjpeg.nvjpegCreateEx(backend, None, None, 0, byref(handle)))
    ok(nvjpeg.nvjpegJpegStateCreate(handle, byref(state)))
    return handle, state


@pytest.mark.parametrize("backend", BACKENDS)
def test_decode(picture, backend):
    file = io.BytesIO()
    # Each pixel with its colour: decoders spread colours of several pixels in different ways.
    PIL.Image.fromarray(picture).save(file, "JPEG", quality=92, subsampling=0)
    data = file.getvalue()
    handle, state = created(backend)
    components, subsampling, widths, heights = c_int(), c_int(), (c_int * 4)(), (c_int * 4)()
    ok(nvjpeg.nvjpegGetImageInfo(handle, data, c_size_t(len(data)), byref(components), byref(subsampling), widths, heights))
    assert (components.value, subsampling.value, widths[0], heights[0]) == (3, 0, WIDTH, HEIGHT)
    decoded = Array(numpy.zeros_like(picture))
    ok(nvjpeg.nvjpegDecode(handle, state, data, c_size_t(len(data)), INTERLEAVED, byref(of(decoded)), None))
    assert cudart.cudaDeviceSynchronize() == 0
    expected = numpy.asarray(PIL.Image.open(io.BytesIO(data))).astype(int)
    # A transformation in floats differs by one now and then, and version 12 cuts off what is behind the point of a colour.
    assert numpy.abs(decoded.get().astype(int) - expected).max() <= 3


def test_encode(picture):
    handle, _ = created(0)
    state, parameters, size = c_void_p(), c_void_p(), c_size_t()
    ok(nvjpeg.nvjpegEncoderStateCreate(handle, byref(state), None))
    ok(nvjpeg.nvjpegEncoderParamsCreate(handle, byref(parameters), None))
    ok(nvjpeg.nvjpegEncoderParamsSetQuality(parameters, 95, None))
    ok(nvjpeg.nvjpegEncoderParamsSetSamplingFactors(parameters, 0, None))
    source = Array(picture)
    ok(nvjpeg.nvjpegEncodeImage(handle, state, parameters, byref(of(source)), INTERLEAVED, WIDTH, HEIGHT, None))
    ok(nvjpeg.nvjpegEncodeRetrieveBitstream(handle, state, None, byref(size), None))
    stream = (ctypes.c_ubyte * size.value)()
    ok(nvjpeg.nvjpegEncodeRetrieveBitstream(handle, state, stream, byref(size), None))
    assert cudart.cudaDeviceSynchronize() == 0
    decoded = numpy.asarray(PIL.Image.open(io.BytesIO(bytes(stream)))).astype(int)
    assert numpy.abs(decoded - picture).mean() < 2
