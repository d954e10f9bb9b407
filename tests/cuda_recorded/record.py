#!/usr/bin/env python3
"""Runs the built programs with the driver and the runtime library of this machine, and keeps what they print.

    record.py BUILT OUT [--runs N]

BUILT is the folder that build.py filled, on a machine with a device of NVIDIA's; libcudart has to be where the loader finds it. Each
program runs N times (3); what it prints goes to OUT/TOPIC/NAME.txt. A program that ends otherwise than with 0, or prints something
else another time, is named, and the exit status is 1. Copied over tests/cuda_recorded, the files are the expectations of the tests.
"""
import argparse
import concurrent.futures
import subprocess
import sys
from pathlib import Path


def run(program):
    try:
        done = subprocess.run([str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        return done.stdout, done.returncode, done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        return late.stdout or b"", "none in 60 s", ""


def record(built, out, runs, program):
    name = program.relative_to(built)
    first, status, errors = run(program)
    problems = [] if status == 0 else [f"{name}: status {status}\n{errors}"]
    target = (out / name).with_suffix(".txt")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(first)
    for _ in range(runs - 1):
        again, _, _ = run(program)
        if again != first:
            before, after = first.decode().splitlines(), again.decode().splitlines()
            lines = [f"  {one} | {other}" for one, other in zip(before, after) if one != other]
            problems.append("\n".join([f"{name}: not the same twice"] + lines[:5]))
            break
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("built", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    built = asked.built / "programs"
    programs = sorted(path for path in built.rglob("*") if path.is_file())
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda program: record(built, asked.out, asked.runs, program), programs))
    problems = [problem for result in results for problem in result]
    print("\n".join(problems + [f"{len(programs)} programs, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
