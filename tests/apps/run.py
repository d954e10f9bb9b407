#!/usr/bin/env python3
"""Runs programs that nobody here wrote under `warploom run`: clients of CUDA from PyPI and crates.io, with their own tests where they have any.

    run.py BUILD --warploom COMMAND [--quick] [--nothing] [--list] [--source OWNER/NAME=REPOSITORY ...] [NAME ...]

Each folder beside this file that holds a `recipe.toml` is a client; the README says what stands in it. NAME is such a folder; without
one all run, with --quick those that take seconds. BUILD gets an environment of Python's packages for each client, and its sources.
COMMAND is `warploom`, with the libraries beside it or as installed. --source names a copy of a repository on this machine, where the
one that a recipe names is out of reach.

--nothing runs the recipes on a copy of COMMAND's driver whose launches answer success and execute nothing: each recipe must fail there,
or its passing says nothing.

For each client one line is printed. The exit status is 0 when all went as their recipes say, 1 when not, and 75 when something could not
be fetched and the rest went well.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import fetch
import nothing
import results

HERE = Path(__file__).resolve().parent
UNAVAILABLE = 75
FIELDS = {
    "summary", "quick", "warploom", "debian", "packages", "packages_of", "sdist", "constraints", "building", "installed", "toolkit", "linkable", "crate", "repository", "commit", "kind", "command", "folder", "libraries", "environment",
    "passed", "seconds", "known",
}


class Recipe:
    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        self.fields = tomllib.loads((folder / "recipe.toml").read_text())
        unknown = self.fields.keys() - FIELDS
        if unknown:
            raise SystemExit(f"{folder}/recipe.toml: unknown fields: {', '.join(sorted(unknown))}")

    def get(self, field, default=None):
        return self.fields.get(field, default)

    def reason(self, test):
        """Why a test is known to fail, or None."""
        for known in self.get("known", []):
            if any(re.search(pattern, test) for pattern in known["tests"]):
                return known["reason"]
        return None


def prepare(recipe, build, copies, driver, warploom):
    """Fetches what the recipe names. What stands for names in braces in its command; `driver` is the folder of a libcuda.so to link with."""
    folder = build / recipe.name
    folder.mkdir(parents=True, exist_ok=True)
    fetch.debian(recipe.get("debian", []))
    names = {"here": recipe.folder, "build": folder, "source": folder / "source", "driver": driver}
    owner = Recipe(HERE / recipe.get("packages_of")) if recipe.get("packages_of") else recipe
    names["venv"] = build / owner.name / "venv"
    names["packages"] = fetch.environment(names["venv"], owner.get("packages", []))
    if recipe.get("toolkit") or recipe.get("linkable"):
        name_libraries(names["packages"] / "nvidia/cu13/lib")
    if recipe.get("toolkit"):
        names["toolkit"] = toolkit(folder / "toolkit", names["packages"] / "nvidia/cu13", warploom)
    if recipe.get("sdist"):
        building = {name: filled(value, names) for name, value in recipe.get("building", {}).items()}
        fetch.sdist(names["source"], recipe.get("sdist"), recipe.get("constraints", []), building, names["venv"] / "bin/pip")
        if recipe.get("installed"):
            building["PATH"] = search_path(names)
            fetch.installed(names["source"], recipe.get("sdist"), building, names["venv"])
    elif recipe.get("crate"):
        fetch.crate(names["source"], recipe.get("crate"))
    elif recipe.get("repository"):
        repository = recipe.get("repository")
        short = "/".join(repository.removesuffix(".git").split("/")[-2:])
        fetch.repository(names["source"], copies.get(short, repository), recipe.get("commit"))
    return names


def name_libraries(folder):
    """Gives NVIDIA's libraries of PyPI's packages the names that linkers look for."""
    for library in folder.glob("*.so.*"):
        name = library.with_name(library.name.split(".so.")[0] + ".so")
        if not name.exists():
            name.symlink_to(library.name)


def toolkit(folder, installed, warploom):
    """The toolkit of PyPI's packages with our assembler and linker."""
    subprocess.run([warploom, "toolkit", "--from", installed, folder], check=True, stdout=subprocess.DEVNULL)
    return folder


def search_path(names):
    """PATH with what the client's environment and toolkit bring."""
    tools = [names[name] / "bin" for name in ["venv", "toolkit"] if name in names]
    return ":".join(map(str, [*tools, os.environ["PATH"]]))


def filled(text, names):
    return re.sub(r"\{(\w+)\}", lambda found: str(names[found[1]]), text)


def environment(recipe, names, build):
    """The variables that the client gets."""
    variables = dict(os.environ)
    for variable in ["PYTHONPATH", "PYTHONHOME", "WARPLOOM_DEVICE", "WARPLOOM_DEVICE_COUNT", "WARPLOOM_LOG"]:
        variables.pop(variable, None)
    variables["PATH"] = search_path(names)
    # Caches of kernels are the recipe's own, and empty: a client that compiles is to compile.
    variables["HOME"] = str(names["build"] / "home")
    variables["CARGO_HOME"] = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    variables["RUSTUP_HOME"] = os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))
    # Targets of Rust's clients are all one folder, as they share crates.
    variables["CARGO_TARGET_DIR"] = str(build / "cargo")
    libraries = [str(path) for pattern in recipe.get("libraries", []) for path in sorted(names["packages"].glob(pattern))]
    variables["LD_LIBRARY_PATH"] = ":".join(filter(None, [*libraries, variables.get("LD_LIBRARY_PATH")]))
    variables |= {name: filled(value, names) for name, value in recipe.get("environment", {}).items()}
    return variables


def run(recipe, names, warploom, build):
    """Runs the client's tests. How each went, and what was wrong with all of them, if anything."""
    folder = names["build"]
    subprocess.run(["rm", "-rf", folder / "home"], check=True)
    (folder / "home").mkdir()
    printed = folder / "printed.txt"
    report = folder / "results.xml"
    report.unlink(missing_ok=True)
    kind = recipe.get("kind", "pytest")
    command = [filled(word, names) for word in recipe.get("command")]
    variables = environment(recipe, names, build)
    where = Path(filled(recipe.get("folder", "{build}"), names))
    if kind == "pytest":
        command = ["python", "-m", "pytest", "-p", "no:cacheprovider", "-q", "--show-capture=stderr", f"--junitxml={report}", *command]
    else:
        # Compiling is not what is measured, nor limited.
        with printed.open("w") as output:
            built = subprocess.run(["cargo", command[0], "--no-run", *command[1:]], cwd=where, env=variables, stdout=output, stderr=subprocess.STDOUT)
        if built.returncode != 0:
            return [], f"does not build: {printed}"
        command = ["cargo", *command]
    command = [str(warploom), "run", *recipe.get("warploom", []), "--", *command]
    with printed.open("w") as output:
        kept = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT, "cwd": where, "env": variables}
        process = subprocess.Popen(command, start_new_session=True, **kept)
        try:
            status = process.wait(timeout=recipe.get("seconds"))
        except BaseException as why:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(why, subprocess.TimeoutExpired):
                raise
            return [], f"over {recipe.get('seconds')} s: {printed}"
    tests = results.of_pytest(report) if kind == "pytest" else results.of_cargo(printed.read_text(errors="replace"))
    if not tests:
        return [], f"ran no test, exit status {status}: {printed}"
    # pytest and cargo say with their status that tests failed; anything else is an end that no test tells of.
    if status not in ([0, 1] if kind == "pytest" else [0, 101]):
        return tests, f"exit status {status}: {printed}"
    return tests, None


def judge(recipe, tests, wrong):
    """The line of a client, the tests that fail and are not known to, and whether it went as its recipe says."""
    passed = [test for test, result in tests if result == results.PASSED]
    skipped = [test for test, result in tests if result == results.SKIPPED]
    failed = [test for test, result in tests if result == results.FAILED]
    unknown = [test for test in failed if recipe.reason(test) is None]
    expected = recipe.get("passed")
    wrong = [wrong] if wrong else []
    if unknown:
        wrong.append(f"{len(unknown)} fail that are not known to")
    if len(passed) < expected:
        wrong.append("fewer pass than expected")
    counts = f"{len(passed):6} {len(failed):6} {len(skipped):7} {expected:8}"
    return f"{counts}  {'; '.join(wrong) or 'as expected'}", unknown, not wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    parser.add_argument("--warploom", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--nothing", action="store_true")
    parser.add_argument("--list", action="store_true", help="say which clients there are, and run none")
    parser.add_argument("--source", action="append", default=[])
    parser.add_argument("names", nargs="*")
    asked = parser.parse_intermixed_args()
    recipes = [Recipe(path.parent) for path in sorted(HERE.glob("*/recipe.toml"))]
    missing = set(asked.names) - {recipe.name for recipe in recipes}
    if missing:
        parser.error(f"no recipe {', '.join(sorted(missing))}")
    chosen = [
        recipe for recipe in recipes if (recipe.name in asked.names or not asked.names) and (recipe.get("quick", False) or not asked.quick)
    ]
    if asked.list:
        for recipe in chosen:
            print(f"{recipe.name:16} {recipe.get('summary')}")
        return 0
    build = asked.build.resolve()
    copies = dict(copy.split("=", 1) for copy in asked.source)
    warploom = asked.warploom.resolve()
    driver = nothing.libraries_of(warploom)
    if asked.nothing:
        warploom = nothing.copy(warploom, build / "nothing")
    print(f"{'client':16} {'time':>6} passed failed skipped expected", flush=True)
    wrong, unavailable = 0, 0
    for recipe in chosen:
        try:
            names = prepare(recipe, build, copies, driver, warploom)
        except fetch.Unavailable as why:
            print(f"{recipe.name:16} NOT RUN: {why}", flush=True)
            unavailable += 1
            continue
        started = time.monotonic()
        tests, why = run(recipe, names, warploom, build)
        line, unknown, right = judge(recipe, tests, why)
        print(f"{recipe.name:16} {time.monotonic() - started:5.0f}s {line}", flush=True)
        if asked.nothing:
            if right:
                print(f"{'':16} passes on a driver that executes nothing")
            wrong += right
            continue
        for test in unknown:
            print(f"    fails: {test}")
        wrong += not right
    if wrong:
        return 1
    return UNAVAILABLE if unavailable else 0


if __name__ == "__main__":
    sys.exit(main())
