#!/usr/bin/env python3
"""Asynchronous copies, mbarriers and clusters through the CUDA driver API, recorded on hardware and compared with any libcuda.so.1.

    run.py record [LIBCUDA] > recording.json
    run.py check RECORDING [LIBCUDA] [--filter RE] [--verbose]
    run.py ptx NAME
"""
import argparse
import base64
import ctypes as C
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import barriers      # noqa: E402
import bulk          # noqa: E402
import clusters      # noqa: E402
import encode        # noqa: E402
import tensors       # noqa: E402
from device import MAP_BYTES, Device, Refused      # noqa: E402

SECONDS = 8
WORKERS = 8
CASES = [case for topic in (barriers, clusters, bulk, tensors) for case in topic.all_cases()]


class Map(C.Structure):
    _fields_ = [("bytes", C.c_ubyte * MAP_BYTES)]


def run(device, case):
    """What a case comes to: a code with the call that gave it, or the output."""
    out, source = device.buffer(case.out), device.buffer(case.input)
    try:
        _, function = device.kernel(case.text, "k")
        if case.name == "clusters of 16 in a grid of 16":
            device.check("cuFuncSetAttribute", function, C.c_int(14), C.c_int(1))      # non-portable sizes
        maps = [Map() for _ in range(2)]
        for place, (where, spec) in zip(maps, case.maps):
            place.bytes[:] = device.encode(spec, out if where == "out" else source)
        device.launch(function, case.grid, case.block, case.shared, case.cluster, [C.c_uint64(out), C.c_uint64(source), *maps])
        # Faults of the units that copy may be told late.
        time.sleep(0.002)
        device.check("cuCtxSynchronize")
        return {"out": base64.b64encode(zlib.compress(device.read(out, len(case.out)), 9)).decode()}
    except Refused as refused:
        return {"error": str(refused).split("\n")[0], "log": str(refused)}


def code_of(refused):
    return str(refused).split(": ")[1].removeprefix("CUDA_ERROR_")


def serve(library):
    """Runs the cases whose numbers come in, until one leaves the device without use."""
    device = Device(library)
    print(json.dumps(device.description()), flush=True)
    for line in sys.stdin:
        if line.startswith("encode"):
            buffer, answers = device.buffer(bytes(1 << 20)), {}
            for name, spec in encode.all_calls():
                try:
                    device.encode(spec, buffer)
                    answers[name] = "SUCCESS"
                except Refused as refused:
                    answers[name] = code_of(refused)
            for name, spec, offset in encode.all_replacements():
                answers[name] = "SUCCESS"
                try:
                    device.replace(device.encode(spec, buffer), buffer + offset)
                except Refused as refused:
                    answers[name] = code_of(refused)
            print(json.dumps(answers), flush=True)
            continue
        answer = run(device, CASES[int(line)])
        print(json.dumps(answer), flush=True)
        if device.call("cuCtxSynchronize"):
            os._exit(0)


def start(library):
    child = subprocess.Popen([sys.executable, os.path.abspath(__file__), "serve", library], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return child, json.loads(child.stdout.readline())


def answer_of(child, line):
    """The child's answer to a line; None if it ends or takes too long."""
    watch = threading.Timer(SECONDS, child.kill)
    watch.start()
    try:
        child.stdin.write(line + "\n")
        child.stdin.flush()
        text = child.stdout.readline()
    except BrokenPipeError:
        return None
    finally:
        watch.cancel()
    return json.loads(text) if text else None


def run_all(library, chosen):
    """The answers to the chosen cases, and to the calls."""
    waiting, answers, about = queue.Queue(), {}, {}
    for number in chosen:
        waiting.put(number)

    def work():
        child = None
        while True:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                break
            for attempt in range(2):
                if child is None or child.poll() is not None:
                    child, description = start(library)
                    about.update(description)
                answer = answer_of(child, str(number))
                if answer is not None:
                    break
                child.kill()
                child.wait()
            answers[number] = answer or {"error": "no answer"}
            if "error" in answers[number]:
                # It ends by itself if the device is lost to it.
                child.stdin.close()
                child.wait()
        if child is not None and child.poll() is None:
            child.stdin.close()
            child.wait()

    threads = [threading.Thread(target=work) for _ in range(min(WORKERS, max(os.cpu_count() or 1, 1)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers, about


def encoded(library):
    child, _ = start(library)
    answers = answer_of(child, "encode")
    child.stdin.close()
    child.wait()
    return answers or {}


def record(library):
    answers, about = run_all(library, range(len(CASES)))
    lines = []
    for number, case in enumerate(CASES):
        answer = dict(answers[number])
        log = answer.pop("log", "")
        if "\n" in log:
            print(f"{case.name}: {log}", file=sys.stderr)
        lines.append(json.dumps({"name": case.name, "key": case.key(), **answer}))
    calls = ",\n".join(f"{json.dumps(name)}: {json.dumps(code)}" for name, code in encoded(library).items())
    print(json.dumps(about)[:-1] + ', "cases": [\n' + ",\n".join(lines) + '],\n"encode": {\n' + calls + "}}")


def difference(case, wanted, found):
    """Why an answer is not the recorded one, or nothing."""
    if "error" in wanted or "error" in found:
        return None if wanted.get("error") == found.get("error") else f"{found.get('log') or found.get('error', 'runs')}; recorded: {wanted.get('error', 'runs')}"
    wanted, found = (zlib.decompress(base64.b64decode(answer["out"]))[:case.compared] for answer in (wanted, found))
    words = [index for index in range(0, len(wanted), 4) if wanted[index:index + 4] != found[index:index + 4]]
    if not words:
        return None
    shown = ", ".join(f"[{index}] {found[index:index + 4][::-1].hex()} for {wanted[index:index + 4][::-1].hex()}" for index in words[:6])
    return f"{len(words)} words of {len(wanted) // 4} differ: {shown}"


def check(recording, library, only, verbose):
    with open(recording) as file:
        recorded = json.load(file)
    known = {entry["name"]: entry for entry in recorded["cases"]}
    chosen = [number for number, case in enumerate(CASES) if re.search(only, case.name) and not case.fact]
    stale = [number for number in chosen if known.get(CASES[number].name, {}).get("key") != CASES[number].key()]
    chosen = [number for number in chosen if number not in stale]
    answers, _ = run_all(library, chosen)
    wrong = 0
    for number in chosen:
        why = difference(CASES[number], known[CASES[number].name], answers[number])
        wrong += why is not None
        if why or verbose:
            print(f"{'WRONG' if why else 'right'} {CASES[number].name}{': ' + why if why else ''}")
    calls = {name: code for name, code in recorded["encode"].items() if re.search(only, name)}
    if calls:
        found = encoded(library)
        for name, code in calls.items():
            if found.get(name) != code:
                wrong += 1
                print(f"WRONG encode {name}: {found.get(name)} for {code}")
    print(f"{len(chosen) + len(calls) - wrong} right, {wrong} wrong, {len(stale)} without a recording")
    return wrong != 0 or bool(stale)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=("record", "check", "serve", "ptx"))
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--filter", default="")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    rest = given.arguments
    if given.action == "ptx":
        print(next(case.text for case in CASES if case.name == rest[0]))
    elif given.action == "serve":
        serve(rest[0])
    elif given.action == "record":
        record(rest[0] if rest else "libcuda.so.1")
    else:
        raise SystemExit(check(rest[0], rest[1] if len(rest) > 1 else "libcuda.so.1", given.filter, given.verbose))
