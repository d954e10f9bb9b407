"""Operators of DALI on pictures, videos and signals: those that run on a device, against DALI's own for the processor where it has them."""
import io

import numpy
import pytest
from nvidia.dali import fn, pipeline_def, types
from PIL import Image

BATCH = 3
HEIGHT, WIDTH = 120, 160
ROWS, COLUMNS = numpy.mgrid[0:HEIGHT, 0:WIDTH]


def picture(number):
    waves = 128 + 100 * numpy.sin(COLUMNS / (17.0 + number)) * numpy.cos(ROWS / 11.0)
    channels = [waves, (COLUMNS * 1.5 + 20 * number) % 256, ROWS * 2.0]
    return numpy.stack(channels, 2).clip(0, 255).astype(numpy.uint8)


PICTURES = [picture(number) for number in range(BATCH)]
VIDEOS = [numpy.stack([numpy.roll(frame, step, 1) for step in range(4)]) for frame in PICTURES]
SIGNALS = [numpy.sin(numpy.arange(4000) * 0.05 * (number + 1)).astype("float32") for number in range(BATCH)]


def run(device, build, samples=PICTURES, layout="HWC"):
    """What a pipeline of one operator makes of samples, on a device (`gpu`) or not."""

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=0, seed=7)
    def pipeline():
        given = fn.external_source(source=lambda: samples, batch=True, layout=layout)
        return build(given.gpu() if device == "gpu" else given, device)

    made = pipeline()
    made.build()
    (results,) = made.run()
    results = results.as_cpu()
    return [numpy.array(results[number]) for number in range(BATCH)]


def agree(build, tolerance=0.0, **given):
    """Both executions of an operator agree: everywhere to a unit where pixels are rounded, in the mean to `tolerance`."""
    for expected, found in zip(run("cpu", build, **given), run("gpu", build, **given)):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        difference = numpy.abs(found.astype("float64") - expected.astype("float64"))
        assert difference.mean() <= tolerance
        assert difference.max() <= (1.0 if tolerance and found.dtype == numpy.uint8 else 20 * tolerance)


MATRIX = [1.0, 0.2, 3.0, -0.1, 0.9, 4.0]
PERSPECTIVE = [1.0, 0.1, 2.0, 0.05, 0.9, 3.0, 0.0005, 0.0003, 1.0]
MIXING = (0.5, 0.2, 0.1, 0.1, 0.6, 0.2, 0.3, 0.1, 0.7)
NORMAL = {"mean": [120.0, 110.0, 100.0], "std": [50.0, 51.0, 52.0]}

# Where a pixel in ten may be rounded to the other side.
ROUNDED = 0.1
# How it is made, and how far means may be apart.
OPERATORS = {
    "resize": (lambda x, d: fn.resize(x, size=(64, 80), device=d), ROUNDED),
    "resize_cubic": (lambda x, d: fn.resize(x, resize_x=50, interp_type=types.INTERP_CUBIC, device=d), ROUNDED),
    "resize_lanczos": (lambda x, d: fn.resize(x, resize_x=100, interp_type=types.INTERP_LANCZOS3, device=d), ROUNDED),
    "random_resized_crop": (lambda x, d: fn.random_resized_crop(x, size=(50, 50), device=d), ROUNDED),
    "crop_mirror_normalize": (
        lambda x, d: fn.crop_mirror_normalize(x, crop=(100, 100), mirror=1, dtype=types.FLOAT, device=d, **NORMAL),
        1e-6,
    ),
    "rotate": (lambda x, d: fn.rotate(x, angle=30.0, fill_value=0, device=d), ROUNDED),
    "warp_affine": (lambda x, d: fn.warp_affine(x, matrix=MATRIX, device=d), ROUNDED),
    "warp_perspective": (lambda x, d: fn.experimental.warp_perspective(x, matrix=PERSPECTIVE, device=d), ROUNDED),
    "color_twist": (lambda x, d: fn.color_twist(x, brightness=1.2, contrast=0.8, saturation=1.1, hue=20.0, device=d), ROUNDED),
    "hsv": (lambda x, d: fn.hsv(x, hue=30.0, saturation=1.3, value=0.8, device=d), ROUNDED),
    "brightness_contrast": (lambda x, d: fn.brightness_contrast(x, brightness=1.2, contrast=0.7, device=d), ROUNDED),
    "color_space": (
        lambda x, d: fn.color_space_conversion(x, image_type=types.RGB, output_type=types.YCbCr, device=d),
        ROUNDED,
    ),
    "equalize": (lambda x, d: fn.equalize(x, device=d), 0.0),
    "gaussian_blur": (lambda x, d: fn.gaussian_blur(x, sigma=1.5, device=d), ROUNDED),
    "laplacian": (lambda x, d: fn.laplacian(x, device=d), 0.0),
    "water": (lambda x, d: fn.water(x, device=d), ROUNDED),
    "sphere": (lambda x, d: fn.sphere(x, device=d), ROUNDED),
    "grid_mask": (lambda x, d: fn.grid_mask(x, ratio=0.4, angle=0.3, tile=50, device=d), 0.0),
    "erase": (lambda x, d: fn.erase(x, anchor=(10, 10), shape=(30, 40), axis_names="HW", device=d), 0.0),
    "multi_paste": (lambda x, d: fn.multi_paste(x, in_ids=numpy.array([0, 1]), output_size=(200, 200), device=d), 0.0),
    "flip": (lambda x, d: fn.flip(x, horizontal=1, vertical=1, device=d), 0.0),
    "transpose": (lambda x, d: fn.transpose(x, perm=[2, 0, 1], device=d), 0.0),
    "slice": (lambda x, d: fn.slice(x, (0.1, 0.2), (0.5, 0.5), axes=(0, 1), device=d), 0.0),
    "pad": (lambda x, d: fn.pad(x, axes=[0], align=[128], device=d), 0.0),
    "stack": (lambda x, d: fn.stack(x, x), 0.0),
    "cat": (lambda x, d: fn.cat(x, x, axis=1), 0.0),
    "cast": (lambda x, d: fn.cast(x, dtype=types.FLOAT16, device=d), 0.0),
    "arithmetic": (lambda x, d: (x * 2.0 + 1.0) / 3.0, 1e-6),
    "lookup_table": (lambda x, d: fn.lookup_table(x, keys=[*range(256)], values=[*range(255, -1, -1)], device=d), 0.0),
    "one_hot": (lambda x, d: fn.one_hot(fn.cast(x, dtype=types.INT32), num_classes=256), 0.0),
    "coord_transform": (lambda x, d: fn.coord_transform(fn.cast(x, dtype=types.FLOAT), M=MIXING, T=(1, 2, 3), device=d), 1e-5),
    "normalize": (lambda x, d: fn.normalize(x, device=d), 1e-6),
    "mean": (lambda x, d: fn.reductions.mean(x, axes=[0, 1], device=d), 1e-4),
    "deviation": (lambda x, d: fn.reductions.std_dev(x, numpy.full(3, 100, "float32"), axes=[0, 1], device=d), 1e-4),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_picture(name):
    agree(*OPERATORS[name])


def test_video():
    agree(lambda x, d: fn.resize(x, size=(60, 80), device=d), ROUNDED, samples=VIDEOS, layout="FHWC")


SOUNDS = {
    "audio_resample": (lambda x, d: fn.audio_resample(x, in_rate=8000, out_rate=11025, device=d), 1e-4),
    "preemphasis": (lambda x, d: fn.preemphasis_filter(x, device=d), 1e-6),
    "nonsilent": (lambda x, d: fn.nonsilent_region(x, device=d)[0], 0.0),
    "decibels": (lambda x, d: fn.to_decibels(x * x + 0.1, device=d), 1e-4),
}


@pytest.mark.parametrize("name", SOUNDS)
def test_sound(name):
    agree(*SOUNDS[name], samples=SIGNALS, layout="t")


def test_median_blur():
    """Against the median itself, where no pixel is missing."""
    (found, *_) = run("gpu", lambda x, d: fn.experimental.median_blur(x, window_size=3, device=d))
    around = [PICTURES[0][row : HEIGHT - 2 + row, column : WIDTH - 2 + column] for row in range(3) for column in range(3)]
    assert (found[1:-1, 1:-1] == numpy.median(around, 0)).all()


def test_dilate():
    (found, *_) = run("gpu", lambda x, d: fn.experimental.dilate(x, device=d))
    around = [PICTURES[0][row : HEIGHT - 2 + row, column : WIDTH - 2 + column] for row in range(3) for column in range(3)]
    assert (found[1:-1, 1:-1] == numpy.max(around, 0)).all()


def test_remap():
    """By NVIDIA's library for image processing: a shift."""
    to = [(COLUMNS + 5).astype("float32"), (ROWS + 7).astype("float32")]
    (found, *_) = run("gpu", lambda x, d: fn.experimental.remap(x, *to, pixel_origin="center", interp=types.INTERP_NN, device=d))
    assert (found[: HEIGHT - 8, : WIDTH - 6] == PICTURES[0][7 : HEIGHT - 1, 5 : WIDTH - 1]).all()


def test_jpeg():
    """Pictures decoded by nvJPEG, in part on the device."""
    files = []
    for pixels in PICTURES:
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "JPEG", quality=95, subsampling=0)
        files.append(numpy.frombuffer(file.getvalue(), "uint8"))

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=0)
    def decoded():
        return fn.decoders.image(fn.external_source(source=lambda: files, batch=True), device="mixed")

    made = decoded()
    made.build()
    (results,) = made.run()
    results = results.as_cpu()
    for number, file in enumerate(files):
        expected = numpy.asarray(Image.open(io.BytesIO(file.tobytes()))).astype("int32")
        assert numpy.abs(numpy.array(results[number]) - expected).max() <= 3


def test_jpeg_distortion():
    """What compression loses, of pictures with sharp edges: chroma is halved in either one's own way."""
    expected, found = (run(device, lambda x, d: fn.jpeg_compression_distortion(x, quality=90, device=d)) for device in ("cpu", "gpu"))
    for original, picture, other in zip(PICTURES, expected, found):
        difference = numpy.abs(other.astype("int32") - picture)
        assert difference.mean() < 2 and (other != original).any()


def test_batches():
    """Batch after batch, prepared ahead, through several operators."""

    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=0, prefetch_queue_depth=3)
    def several(device):
        given = fn.external_source(source=lambda step: [numpy.roll(frame, step, 0) for frame in PICTURES], batch=True, layout="HWC")
        given = given.gpu() if device == "gpu" else given
        small = fn.resize(given, size=(60, 80), interp_type=types.INTERP_NN, antialias=False)
        return fn.crop_mirror_normalize(fn.flip(small), dtype=types.FLOAT, **NORMAL), fn.reductions.sum(small, axes=[0, 1])

    both = [several(device) for device in ("cpu", "gpu")]
    for made in both:
        made.build()
    for _ in range(6):
        expected, found = (tuple(part.as_cpu() for part in made.run()) for made in both)
        for part, other in zip(expected, found):
            for number in range(BATCH):
                numpy.testing.assert_allclose(numpy.array(other[number]), numpy.array(part[number]), rtol=1e-5, atol=1e-5)
