"""FFmpeg, Debian's, whose CUDA filters are PTX made by clang: pictures that go through the device, against its own filters for the processor."""
import subprocess

import numpy
import pytest

WIDTH, HEIGHT, PICTURES = 320, 240, 10
MOVING = f"testsrc2=size={WIDTH}x{HEIGHT}:rate=25:duration=0.4"
SMALL = "testsrc=size=64x48:rate=25:duration=0.4"
DEVICE = ["-init_hw_device", "cuda=device", "-filter_hw_device", "device"]


def pictures(arguments, layout="yuv420p"):
    """The bytes of what FFmpeg makes of them."""
    command = ["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", *arguments, "-f", "rawvideo", "-pix_fmt", layout, "-"]
    done = subprocess.run(command, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout, done.stderr.decode()
    return numpy.frombuffer(done.stdout, numpy.uint8).astype(int)


def filtered(graph, layout="yuv420p", source=MOVING):
    """One stream through filters of the processor."""
    return pictures(["-f", "lavfi", "-i", source, "-vf", f"format={layout},{graph}"], layout)


def on_device(graph, layout="yuv420p", source=MOVING, out=None):
    """One stream through filters of the device."""
    through = f"format={layout},hwupload_cuda,{graph},hwdownload,format={out or layout}"
    return pictures([*DEVICE, "-f", "lavfi", "-i", source, "-vf", through], out or layout)


@pytest.mark.parametrize("layout", ["yuv420p", "yuv444p", "nv12", "p010le", "bgr0"])
def test_there_and_back(layout):
    numpy.testing.assert_array_equal(on_device("null", layout), filtered("null", layout))


@pytest.mark.parametrize("size", ["640:480", "200:150", "320:240", "160:120"])
def test_the_nearest_pixels(size):
    numpy.testing.assert_array_equal(on_device(f"scale_cuda={size}:interp_algo=nearest"), filtered(f"scale={size}:flags=neighbor"))


@pytest.mark.parametrize("name", ["bilinear", "bicubic", "lanczos"])
def test_scaled_up(name):
    scaled, expected = on_device(f"scale_cuda=640:480:interp_algo={name}"), filtered(f"scale=640:480:flags={name}")
    assert numpy.abs(scaled - expected).mean() < 2


@pytest.mark.parametrize("layout, out", [("yuv420p", "nv12"), ("nv12", "yuv420p"), ("yuv444p", "yuv444p16le"), ("p010le", "p016le")])
def test_other_layouts(layout, out):
    made = on_device(f"scale_cuda=format={out}:interp_algo=nearest", layout, out=out)
    expected = pictures(["-f", "lavfi", "-i", MOVING, "-vf", f"format={layout}"], out)
    # Of words only the upper bytes: what is below the bits that there were is up to the filter.
    wide = slice(1, None, 2) if "16" in out else slice(None)
    numpy.testing.assert_array_equal(made[wide], expected[wide])


def test_one_picture_over_another():
    inputs = ["-f", "lavfi", "-i", MOVING, "-f", "lavfi", "-i", SMALL]
    up = "format=yuv420p,hwupload_cuda"
    over = pictures([*DEVICE, *inputs, "-filter_complex", f"[0]{up}[a];[1]{up}[b];[a][b]overlay_cuda=x=40:y=30,hwdownload,format=yuv420p"])
    expected = pictures([*inputs, "-filter_complex", "[0]format=yuv420p[a];[1]format=yuv420p[b];[a][b]overlay=x=40:y=30:format=yuv420"])
    numpy.testing.assert_array_equal(over, expected)


@pytest.mark.parametrize("mode", [0, 1])
def test_interlaced_pictures(mode):
    made, expected = on_device(f"yadif_cuda=mode={mode}"), filtered(f"yadif=mode={mode}")
    # Of two directions that are as good the two filters take different ones.
    assert (made != expected).mean() < 0.01
    assert len(made) == PICTURES * (mode + 1) * WIDTH * HEIGHT * 3 // 2


def test_the_picture_that_is_most_like_the_others():
    numpy.testing.assert_array_equal(on_device("thumbnail_cuda=5"), filtered("thumbnail=5"))


def test_what_is_green_is_seen_through():
    keyed = on_device("chromakey_cuda=green:0.2:0.1", out="yuva420p").reshape(PICTURES, -1)
    expected = pictures(["-f", "lavfi", "-i", MOVING, "-vf", "format=yuva420p,chromakey=green:0.2:0.1"], "yuva420p").reshape(PICTURES, -1)
    # The device's filter looks at colours around in their own, smaller picture, and reads between pixels: edges are not the same.
    seen, expected = (of[:, -WIDTH * HEIGHT :] > 127 for of in [keyed, expected])
    assert 0.1 < seen.mean() < 0.9
    assert (seen != expected).mean() < 0.06


def test_a_chain_of_filters():
    chain = "scale_cuda=160:120:interp_algo=nearest,yadif_cuda,scale_cuda=format=nv12:interp_algo=nearest"
    made, expected = on_device(chain, out="nv12"), filtered("scale=160:120:flags=neighbor,yadif,format=nv12,format=yuv420p")
    luma = slice(0, 160 * 120)
    made, expected = (of.reshape(PICTURES, -1)[:, luma] for of in [made, expected])
    assert (made != expected).mean() < 0.02
