"""Brings clients here: packages of Python, crates, repositories. What is there already in the version asked for is left as it is."""
import os
import shutil
import subprocess
import sys
from pathlib import Path


class Unavailable(Exception):
    """Something that must be fetched cannot be; the text says what and why."""


def call(command, what, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Unavailable(f"{what}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")


def is_there(folder, what):
    mark = folder / ".complete"
    return mark.exists() and mark.read_text() == what


def debian(packages):
    """Looks for what Debian's packages install: that is the machine's, and left to whoever it belongs to."""
    missing = [package for package in packages if shutil.which("dpkg-query") is None or not is_installed(package)]
    if missing:
        raise Unavailable(f"install it first: apt-get install {' '.join(missing)}")


def is_installed(package):
    found = subprocess.run(["dpkg-query", "--show", "--showformat=${db:Status-Status}", package], capture_output=True, text=True)
    return found.stdout == "installed"


def environment(folder, packages):
    """An environment with these packages and no others, as each is pinned. The folder that they are in."""
    wanted = "\n".join(packages)
    if not is_there(folder, wanted):
        shutil.rmtree(folder, ignore_errors=True)
        call([sys.executable, "-m", "venv", folder], "venv")
        # Few of the modules are imported: Python compiles those then.
        install = [folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile"]
        if packages:
            call([*install, *packages], f"PyPI does not give {' '.join(packages)}")
        (folder / ".complete").write_text(wanted)
    return next((folder / "lib").glob("python3*/site-packages"))


def sdist(folder, package, constraints, variables, pip):
    """The source archive of a package, unpacked. pip asks it for its dependencies, and for that builds with what `constraints` allow, and these variables."""
    if is_there(folder, package):
        return
    shutil.rmtree(folder, ignore_errors=True)
    archives = folder / "archives"
    archives.mkdir(parents=True)
    allowed = archives / "constraints.txt"
    allowed.write_text("\n".join(constraints))
    download = [pip, "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", package.split("==")[0]]
    variables = os.environ | {"PIP_CONSTRAINT": str(allowed)} | variables
    call([*download, "--dest", archives, package], f"PyPI does not give the source of {package}", env=variables)
    [archive] = archives.glob("*.tar.gz")
    # Python's own tarfile has the filter for foreign archives from 3.11.4 on; Debian 12 has 3.11.2.
    call(["tar", "--extract", "--no-same-owner", "--no-same-permissions", "--directory", archives, "--file", archive], f"{archive.name} is no archive")
    [unpacked] = [path for path in archives.iterdir() if path.is_dir()]
    for path in unpacked.iterdir():
        path.rename(folder / path.name)
    shutil.rmtree(archives)
    (folder / ".complete").write_text(package)


def installed(source, package, variables, environment):
    """Compiles the unpacked source of a package with these variables and installs it, with what that environment holds and nothing else."""
    mark = environment / ".installed"
    if mark.exists() and mark.read_text() == package:
        return
    install = [environment / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", source]
    call(install, f"{package} does not build", env=os.environ | variables)
    mark.write_text(package)


def crate(folder, crate):
    """The source of a crate as crates.io has it, `name=version`."""
    if is_there(folder, crate):
        return
    shutil.rmtree(folder, ignore_errors=True)
    name, version = crate.split("=")
    asking = folder / "asking"
    (asking / "src").mkdir(parents=True)
    (asking / "src/lib.rs").write_text("")
    package = f'[package]\nname = "asking"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n'
    features = "default-features = false"
    (asking / "Cargo.toml").write_text(f'{package}[dependencies]\n{name} = {{ version = "={version}", {features} }}\n')
    call(["cargo", "vendor", "--quiet", asking / "vendor"], f"crates.io does not give {crate}", cwd=asking)
    source = asking / "vendor" / name
    for path in source.iterdir():
        path.rename(folder / path.name)
    shutil.rmtree(asking)
    # A package of its own, though it lies below another.
    manifest = folder / "Cargo.toml"
    if "[workspace]" not in manifest.read_text():
        manifest.write_text(manifest.read_text() + "\n[workspace]\n")
    (folder / ".complete").write_text(crate)


def repository(folder, repository, commit):
    """A repository at a commit."""
    if is_there(folder, commit):
        return
    shutil.rmtree(folder, ignore_errors=True)
    call(["git", "init", "--quiet", folder], "git")
    call(["git", "-C", folder, "fetch", "--quiet", "--depth", "1", repository, commit], f"{repository} at {commit} cannot be fetched")
    call(["git", "-C", folder, "checkout", "--quiet", "FETCH_HEAD"], "git")
    (folder / ".complete").write_text(commit)
