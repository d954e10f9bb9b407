#!/usr/bin/env python3
"""Builds the CUDA C++ programs of this folder with NVIDIA's compiler.

    build.py OUT --compiler TOOLKIT --libcuda LIBRARY [--runtime-12 FOLDER] [--jobs N] [NAME ...]

OUT gets `programs/TOPIC/NAME`. TOOLKIT is the folder with the compiler's `bin` and `lib`, as the tests of crates/cudart install it
from PyPI (in the target folder, tmp/cuda-13.0/nvidia/cu13). LIBRARY is a driver to link with. FOLDER has the packages with headers
and libraries of CUDA 12 (there, tmp/cuda-12.9), for programs of that: PyPI has no compiler of CUDA 12, so that the newer one compiles
them. NAME is a program as TOPIC/NAME; without one, all are built. Their names are printed. Programs newer than their sources and this
file are kept. The exit status is 0 when all are built.

Code for the device goes in as PTX of one architecture, so that one file runs on every device. A line `// nvcc: ...` in a source adds
options, `// toolkit: 12` or `13` says that a program is for one only; a folder with several sources is one program of them.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OPTIONS = ["-std=c++17", "-gencode", "arch=compute_75,code=compute_75", "-diag-suppress", "177,550", f"-I{HERE}"]


class Toolkit:
    """The compiler in the folder `compiler`, and the headers and the runtime library of a version; those of 12 are in `folder`."""

    def __init__(self, compiler, folder, version):
        self.compiler, self.folder, self.version = compiler, folder, version

    def package(self, name):
        return self.folder / "nvidia" / name

    def command(self, out):
        """The compiler and its options for all programs. `out` gets the name that the runtime library is linked by."""
        where = self.compiler if self.version == "13" else self.package("cuda_runtime")
        linked = out / "libcudart.so"
        linked.unlink(missing_ok=True)
        linked.symlink_to(where / f"lib/libcudart.so.{self.version}")
        command = [str(self.compiler / "bin/nvcc"), *OPTIONS, f"-L{out}", f"-L{where / 'lib'}"]
        if self.version == "12":
            command.append(f"-I{self.changed_headers(out)}")
            command += [f"-I{self.package(name) / 'include'}" for name in ["cuda_runtime", "cuda_nvcc", "cuda_cccl"]]
        return command

    def changed_headers(self, out):
        """A copy of the headers that the newer compiler tells one thing more."""
        headers = out / "headers"
        shutil.rmtree(headers, ignore_errors=True)
        shutil.copytree(self.package("cuda_nvcc") / "include/crt", headers / "crt")
        header = headers / "crt/host_runtime.h"
        header.write_text(header.read_text().replace("#define __cudaLaunch(fun)", "#define __cudaLaunch(fun, ...)"))
        return headers


def sources(toolkit):
    """The programs for a toolkit: their names, and the sources of each. A line `// toolkit: 12` or `13` says that it is for one only."""
    programs = {}
    for source in sorted(HERE.glob("*/*.cu")):
        programs[str(source.relative_to(HERE).with_suffix(""))] = [source]
    for source in sorted(HERE.glob("*/*/*.cu")):
        programs.setdefault(str(source.parent.relative_to(HERE)), []).append(source)
    return {name: files for name, files in programs.items() if said(files, "toolkit") in ("", toolkit)}


def said(files, what):
    """What the lines `// WHAT: ...` of the sources say."""
    found = [re.search(rf"^// {what}: (.*?)(,.*)?$", file.read_text(), re.MULTILINE) for file in files]
    return " ".join(match.group(1) for match in found if match)


def options(files):
    """The options that the sources ask for."""
    asked = said(files, "nvcc").split()
    return asked if "-cudart" in asked else asked + ["-cudart", "shared"]


def newest(files):
    return max(file.stat().st_mtime for file in files)


def build(compile, libcuda, out, name, files):
    """Compiles one program, unless it is newer than what it comes from. What went wrong, or None."""
    program = out / "programs" / name
    shared = [*HERE.glob("*.h"), *HERE.glob("*/*.h"), Path(__file__)]
    if program.exists() and program.stat().st_mtime > newest(files + shared):
        return None
    program.parent.mkdir(parents=True, exist_ok=True)
    command = compile + options(files) + ["-o", str(program), *map(str, files), str(libcuda)]
    done = subprocess.run(command, capture_output=True, text=True)
    return None if done.returncode == 0 else f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--compiler", type=Path, required=True)
    parser.add_argument("--libcuda", type=Path, required=True)
    parser.add_argument("--runtime-12", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("names", nargs="*")
    asked = parser.parse_intermixed_args()
    out = asked.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    version = "12" if asked.runtime_12 else "13"
    toolkit = Toolkit(asked.compiler.resolve(), asked.runtime_12 and asked.runtime_12.resolve(), version)
    programs = {name: files for name, files in sources(version).items() if not asked.names or name in asked.names}
    # Linked by its name, which is the one that the loader asks for.
    linked = out / "libcuda.so"
    linked.unlink(missing_ok=True)
    linked.symlink_to(asked.libcuda.resolve())
    compile = toolkit.command(out)
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        tasks = [pool.submit(build, compile, linked, out, name, files) for name, files in programs.items()]
        wrong = [task.result() for task in tasks if task.result()]
    print("\n".join(wrong), file=sys.stderr)
    print("\n".join(programs))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
