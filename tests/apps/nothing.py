"""Makes a copy of a driver that executes nothing: its launches answer success, and that is all. Tests that pass on it prove nothing."""
import re
import shutil
import subprocess

# "Return zero" of the processors that the library is built for, by the name that readelf has for them.
RETURN_ZERO = {"X86-64": bytes.fromhex("31c0c3"), "AArch64": bytes.fromhex("00008052c0035fd6")}
LAUNCHES = re.compile(r"cu(Launch(?!HostFunc)|GraphLaunch)")


def libraries_of(warploom):
    """The folder with the libraries of a command: its own in a build tree, else as installed."""
    beside = warploom.parent
    return beside if (beside / "libcuda.so").exists() else beside.parent / "lib/warploom"


def copy(warploom, folder):
    """The command of a copy in `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    beside = warploom.parent
    libraries = libraries_of(warploom)
    copies = folder / libraries.relative_to(beside.parent)
    copies.mkdir(parents=True)
    (folder / beside.name).mkdir(exist_ok=True)
    shutil.copy(warploom, folder / beside.name)
    for path in [*libraries.glob("*.so*"), libraries / "bin"]:
        if path.exists() and not path.is_symlink():
            (copies / path.name).symlink_to(path)
    for name in ["libcuda.so", "libcuda.so.1"]:
        (copies / name).unlink(missing_ok=True)
    driver = copies / "libcuda.so.1"
    shutil.copy((libraries / "libcuda.so.1").resolve(), driver)
    (copies / "libcuda.so").symlink_to(driver.name)
    without_launches(driver)
    return folder / beside.name / warploom.name


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def without_launches(library):
    machine = re.search(r"Machine:.*?(" + "|".join(RETURN_ZERO) + ")", printed("readelf", "-hW", library))[1]
    loads = re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", printed("readelf", "-lW", library))
    loads = [tuple(int(number, 16) for number in load) for load in loads]
    symbols = re.findall(r"^(\w+) T (\w+)$", printed("nm", "-D", "--defined-only", library), re.MULTILINE)
    found = [int(address, 16) for address, name in symbols if LAUNCHES.match(name)]
    assert found, f"{library} has no function that launches"
    with library.open("r+b") as file:
        for address in found:
            [offset] = [address - start + offset for offset, start, size in loads if start <= address < start + size]
            file.seek(offset)
            file.write(RETURN_ZERO[machine])
