"""hashcat, Debian's, which compiles its kernels with NVRTC: what was hashed is found again. Each run tests itself with a hash of its own first."""
import base64
import hashlib
import re
import subprocess

import pytest

WORDS = [f"{word}{number}" for word in ["battery", "horse", "staple", "warp", "loom"] for number in range(400)]
SECRET = WORDS[1234]


@pytest.fixture
def hashcat(tmp_path):
    def run(*arguments, ends_with=0):
        command = ["hashcat", "--session", tmp_path.name, "--potfile-disable", "--backend-ignore-opencl", "--force", *map(str, arguments)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == ends_with, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words"
    path.write_text("".join(f"{word}\n" for word in WORDS))
    return path


def test_it_sees_the_device(hashcat):
    assert "warploom" in hashcat("-I")


SALT, KEY = (base64.b64encode(of).decode() for of in [b"saltsalt", hashlib.pbkdf2_hmac("sha256", SECRET.encode(), b"saltsalt", 1000)])
HASHES = {
    "md5": (0, hashlib.md5(SECRET.encode()).hexdigest()),
    "md5-salted": (10, hashlib.md5(f"{SECRET}pepper".encode()).hexdigest() + ":pepper"),
    "sha1": (100, hashlib.sha1(SECRET.encode()).hexdigest()),
    "sha256": (1400, hashlib.sha256(SECRET.encode()).hexdigest()),
    "sha512": (1700, hashlib.sha512(SECRET.encode()).hexdigest()),
    "sha3-256": (17400, hashlib.sha3_256(SECRET.encode()).hexdigest()),
    "blake2b": (600, "$BLAKE2$" + hashlib.blake2b(SECRET.encode()).hexdigest()),
    "pbkdf2-sha256": (10900, f"sha256:1000:{SALT}:{KEY}"),
}


@pytest.mark.parametrize("optimised", [False, True], ids=["any-length", "optimised"])
@pytest.mark.parametrize("name", HASHES)
def test_a_word_of_a_list_is_found(name, optimised, hashcat, words):
    mode, digest = HASHES[name]
    printed = hashcat("-m", mode, "-a", 0, *(["-O"] if optimised else []), digest, words)
    assert f"{digest}:{SECRET}" in printed


def test_what_is_not_there_is_not_found(hashcat, words):
    # 1: all was tried.
    printed = hashcat("-m", 0, "-a", 0, hashlib.md5(b"not there").hexdigest(), words, ends_with=1)
    assert re.search(r"Recovered\.+: 0/1", printed)


def test_a_mask(hashcat):
    digest = hashlib.md5(b"x7Qz").hexdigest()
    assert f"{digest}:x7Qz" in hashcat("-m", 0, "-a", 3, digest, "?l?d?u?l")


def test_rules(hashcat, words, tmp_path):
    (tmp_path / "rules").write_text(":\nu\nc $!\nr\n")
    changed = SECRET.capitalize() + "!"
    digest = hashlib.sha1(changed.encode()).hexdigest()
    assert f"{digest}:{changed}" in hashcat("-m", 100, "-a", 0, "-r", tmp_path / "rules", digest, words)


def test_many_at_once(hashcat, words, tmp_path):
    digests = [hashlib.sha256(word.encode()).hexdigest() for word in WORDS[::5]]
    (tmp_path / "hashes").write_text("\n".join(digests))
    printed = hashcat("-m", 1400, "-a", 0, tmp_path / "hashes", words)
    assert f"Recovered........: {len(digests)}/{len(digests)}" in printed
