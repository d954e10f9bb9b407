"""Reads how each test of a run went."""
import re
import xml.etree.ElementTree as xml

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


def of_pytest(report):
    """From pytest's report in JUnit's format. A test that fails and then fails to clean up stands there twice, and counts once."""
    if not report.exists():
        return []
    tests = {}
    for case in xml.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        result = FAILED if kinds & {"failure", "error"} else SKIPPED if "skipped" in kinds else PASSED
        name = f"{case.get('classname')}::{case.get('name')}"
        if tests.get(name) != FAILED:
            tests[name] = result
    return list(tests.items())


def of_cargo(printed):
    """From what `cargo test` prints. What a test prints itself may stand between its name and its result."""
    words = {"ok": PASSED, "FAILED": FAILED, "ignored": SKIPPED}
    tests, name = [], None
    for line in printed.splitlines():
        started = re.match(r"test (.+?)(?: - should panic)? \.\.\. ?(.*)", line)
        if started:
            name, line = started[1], started[2]
        result = re.search(r"(?:^|\W)(ok|FAILED|ignored)(?:$|,)", line)
        if name and result:
            tests.append((name, words[result[1]]))
            name = None
    return tests
