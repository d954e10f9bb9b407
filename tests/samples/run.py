#!/usr/bin/env python3
"""Builds NVIDIA's published samples with NVIDIA's compiler, and runs those of `list.toml` under `warploom run`.

    run.py BUILD --warploom COMMAND [--source FOLDER] [--toolkit FOLDER] [--jobs N] [--all] [NAME ...]

BUILD gets everything: `source` (the samples at the commit of `list.toml`, by git, unless --source names a copy), `toolkit` (NVIDIA's
compiler from PyPI, unless --toolkit names a folder with `bin`, `include` and `lib`, which then gets some links), and
`out/build/CATEGORY/NAME` with the programs, as their own CMake files make them. COMMAND is the `warploom` of a release build, with the
libraries beside it. A sample may take the processor time that `list.toml` grants, however busy the machine is, and ten times that by the
clock. NAME is a sample, as `vectorAdd`; without one, those that pass are run, with --all also those that are known not to.
Each prints a line: seconds to build, seconds to run, and how it went. What a sample has printed last stands in its folder, in
`printed.txt`. The exit status is 0 when each sample that should pass does, 75 when something cannot be fetched.

The samples are built as published, with one change: their lists of devices become one, as PTX, since machine code for GPUs does not run here.
"""
import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
UNAVAILABLE = 75
# What the system ends a program with that has used up its processor time; with a number above 128 where another program tells of it.
OUT_OF_TIME = [status for end in (signal.SIGXCPU, signal.SIGKILL) for status in (-end, 128 + end)]
# What the published CMake files ask of a toolkit, of the version that the samples are written for.
PACKAGES = ["cuda-nvcc", "cuda-runtime", "cuda-crt", "nvvm", "cuda-cccl", "cuda-profiler-api", "nvtx", "cuda-nvrtc", "nvjitlink"]
TOOLKIT = "13.0"
# Libraries of that toolkit, which have versions of their own: of cuRAND the headers, and what works on the host.
LIBRARIES = ["curand==10.4.0.*", "npp==13.0.0.*", "nvjpeg==13.0.0.*", "cusparse==12.6.2.*", "cusolver==12.0.3.*", "cublas==13.0.0.*"]
CMAKE = "cmake==4.*"
ARCHITECTURE = 90
# One sample makes its kernel with LLVM's library, and builds with versions 7 to 14 of it: Debian has the last.
LLVM = ["-DENABLE_CUDA_C_LINKING_SAMPLE=1", "-DLLVM_DIR=/usr/lib/llvm-14/lib/cmake/llvm"]
# Stands in front of the compiler: whatever devices the samples list, one is compiled for, and its PTX is kept.
COMPILER = """#!/bin/sh
for argument; do
  shift
  if [ "$skip" ]; then skip=; continue; fi
  case "$argument" in
    -gencode | --generate-code) skip=1 ;;
    -gencode=* | --generate-code=*) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {nvcc} -gencode arch=compute_{architecture},code=compute_{architecture} "$@"
"""
PROJECT = """cmake_minimum_required(VERSION 3.20)
project(samples LANGUAGES C CXX CUDA)
"""


class Unavailable(Exception):
    """Something that must be fetched cannot be; the text says what and why."""


def call(command, what, **options):
    """Runs a command that brings something here."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Unavailable(f"{what}: {done.stdout}{done.stderr}")


def source(folder, repository, commit):
    """The samples at the pinned commit, in `folder`."""
    mark = folder / ".complete"
    if not (mark.exists() and mark.read_text() == commit):
        shutil.rmtree(folder, ignore_errors=True)
        call(["git", "init", "--quiet", folder], "git")
        call(["git", "-C", folder, "fetch", "--quiet", "--depth", "1", repository, commit], f"{repository} at {commit} cannot be fetched")
        call(["git", "-C", folder, "checkout", "--quiet", "FETCH_HEAD"], "git")
        mark.write_text(commit)
    return folder


def python(folder):
    """An environment of Python's packages, with CMake in it."""
    environment = folder / "venv"
    if not (environment / "bin/cmake").exists():
        call([sys.executable, "-m", "venv", environment], "venv")
        call([environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check", CMAKE], f"PyPI does not give {CMAKE}")
    return environment / "bin"


def toolkit(folder, pip):
    """NVIDIA's compiler and headers, in `folder`."""
    packages = [*(f"nvidia-{name}=={TOOLKIT}.*" for name in PACKAGES), *(f"nvidia-{library}" for library in LIBRARIES)]
    mark = folder / "complete"
    if not (mark.exists() and mark.read_text().split() == packages):
        shutil.rmtree(folder, ignore_errors=True)
        install = [pip, "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", folder]
        call([*install, *packages], f"PyPI does not give {' '.join(packages)}")
        mark.write_text("\n".join(packages))
    return folder / "nvidia/cu13"


def lay_out(toolkit, libcuda):
    """Gives a toolkit from PyPI the names that CMake looks for: `lib64`, a driver to link with, libraries without a version."""
    lib = toolkit / "lib"
    (lib / "stubs").mkdir(exist_ok=True)
    links = {toolkit / "lib64": "lib", lib / "stubs/libcuda.so": libcuda, toolkit / "nvvm/lib64": "../lib"}
    for library in lib.glob("*.so.*"):
        links.setdefault(lib / (library.name.split(".so.")[0] + ".so"), library.name)
    for link, target in links.items():
        if link.is_symlink() or not link.exists():
            link.unlink(missing_ok=True)
            link.symlink_to(target)


def runs(sample):
    return sample["status"] != "not run"


def configure(out, samples, cmake, source, toolkit):
    """One project of all samples, in `out`. From their folders they look for reference data four floors up, as they do in a build inside
    the repository."""
    out.mkdir(parents=True, exist_ok=True)
    for name in ["Samples", "Common"]:
        link = out.parent / name
        link.unlink(missing_ok=True)
        link.symlink_to(source / name)
    compiler = out / "nvcc"
    compiler.write_text(COMPILER.format(nvcc=toolkit / "bin/nvcc", architecture=ARCHITECTURE))
    compiler.chmod(0o755)
    project = PROJECT
    # Some have their project in the folder above them.
    for folder in dict.fromkeys(sample.get("project", sample["path"]) for sample in filter(runs, samples)):
        project += f"add_subdirectory({source}/Samples/{folder} {folder})\n"
    (out / "CMakeLists.txt").write_text(project)
    command = [cmake, "-S", out, "-B", out / "build", f"-DCMAKE_CUDA_COMPILER={compiler}", f"-DCUDAToolkit_ROOT={toolkit}", *LLVM]
    call(command, "the samples cannot be configured")


def name(sample):
    return sample["path"].rsplit("/", 1)[-1]


def program(sample):
    return sample.get("program", name(sample))


def build(out, sample, cmake, jobs):
    """Builds one sample. What went wrong, or None."""
    folder = out / "build" / sample["path"]
    done = subprocess.run(["make", "-C", folder, "-j", str(jobs)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0 and (folder / program(sample)).exists():
        return None
    (folder / "printed.txt").write_text(done.stdout)
    return "does not build"


def run(out, sample, warploom, limit, libraries):
    """Runs one sample with each of its lists of arguments, each in `limit` seconds of processor time. What went wrong, or None. `libraries` is
    the toolkit's folder of them, which NVRTC looks for a library in that is not linked with it, as the linker's cache of an installed toolkit knows."""

    def limited():
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

    folder = out / "build" / sample["path"]
    printed = folder / "printed.txt"
    command = [warploom, "run", *sample.get("warploom", []), "--", *sample.get("under", []), "./" + program(sample)]
    search = ":".join(filter(None, [str(libraries), os.environ.get("LD_LIBRARY_PATH")]))
    variables = os.environ | {"LD_LIBRARY_PATH": search}
    for arguments in sample.get("runs", [[]]):
        with printed.open("w") as output:
            try:
                kept = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT, "cwd": folder, "env": variables}
                status = subprocess.run([*command, *arguments], timeout=10 * limit, preexec_fn=limited, **kept).returncode
            except subprocess.TimeoutExpired:
                return f"hangs {' '.join(arguments)}"
        if status in OUT_OF_TIME:
            return f"over {limit} s of processor time {' '.join(arguments)}"
        if status != 0:
            return f"exit status {status} {' '.join(arguments)}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--warploom", type=Path, required=True)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--toolkit", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--all", action="store_true")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_intermixed_args()
    listed = tomllib.loads((HERE / "list.toml").read_text())
    samples = listed["sample"]
    warploom = asked.warploom.resolve()
    folder = asked.build.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        tools = python(folder)
        fetched = asked.source.resolve() if asked.source else source(folder / "source", listed["repository"], listed["commit"])
        compiler = asked.toolkit.resolve() if asked.toolkit else toolkit(folder / "toolkit", tools / "pip")
        lay_out(compiler, warploom.parent / "libcuda.so.1")
        configure(folder / "out", samples, tools / "cmake", fetched, compiler)
    except Unavailable as why:
        print(why, file=sys.stderr)
        return UNAVAILABLE
    wrong = 0
    for sample in samples:
        expected = sample["status"] == "passes"
        chosen = name(sample) in asked.names if asked.names else expected or asked.all
        if not (chosen and runs(sample)):
            continue
        started = time.monotonic()
        why = build(folder / "out", sample, tools / "cmake", asked.jobs)
        built = time.monotonic()
        why = why or run(folder / "out", sample, warploom, listed["seconds"], compiler / "lib")
        result = (why or "passes") + ("" if expected == (why is None) else f", but is listed as: {sample['status']}")
        print(f"{sample['path']:55} {built - started:6.1f} s {time.monotonic() - built:6.1f} s  {result}", flush=True)
        wrong += expected and why is not None
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
