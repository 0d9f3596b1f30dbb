#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks where the documents lead: links.py FILE.md...

Links to files and to headings exist; so do the tests that a table names like
`suite.case`; each document can be reached from the README.
"""
import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
TEST = re.compile(r"`((?:twheel_\w+|\w+_test|misuse)(?:\.\w+)?)`")


def headings(path):
    """Anchors, as GitHub makes them"""
    return {re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).strip().replace(" ", "-")
            for line in path.read_text().splitlines() if line.startswith("#")}


def tests():
    """All tests there are"""
    names = set()
    for path in [*pathlib.Path("kunit").glob("*.c"), *pathlib.Path("tools/test/engine").glob("*.c")]:
        text = path.read_text()
        arrays = {array: re.findall(r"KUNIT_CASE(?:_SLOW)?\((\w+)\)", body)
                  for array, body in re.findall(
                      r"struct kunit_case (\w+)\[\] = \{(.*?)\n\};", text, re.S)}
        for body in re.findall(r"struct kunit_suite \w+ = \{(.*?)\n\};", text, re.S):
            suite = re.search(r"\.name\s*=\s*\"(\w+)\"", body)[1]
            names |= {f"{suite}.{case}" for case in
                      arrays[re.search(r"\.test_cases\s*=\s*(\w+)", body)[1]]}
    folder = pathlib.Path("tools/test/device")
    for path in folder.glob("*_test.*"):
        if path.suffix in {".o", ".d"}:
            continue
        names.add(path.stem)
        names |= {f"{path.stem}.{case}" for case in
                  re.findall(r"(?<!define )\b(?:TAP|TEST)\((\w+)\)", path.read_text())}
    names |= {f"misuse.{way}" for way in
              re.findall(r"^([a-z]\w*)", (folder / "misuse/expected").read_text(), re.M)}
    return names


def main():
    known = tests()
    problems = []
    reached = {pathlib.Path("README.md").resolve()}
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        text = path.read_text()
        for link in LINK.findall(text):
            if re.match(r"\w+:", link):
                continue
            target, _, anchor = link.partition("#")
            target = (path.parent / target).resolve() if target else path.resolve()
            reached.add(target)
            if not target.exists():
                problems.append(f"{name}: {link} is not there")
            elif anchor and anchor not in headings(target):
                problems.append(f"{name}: there is no heading for {link}")
        if path.name == "features.md":
            problems += [f"{name}: there is no test {test}" for test in TEST.findall(text)
                         if test not in known]
    problems += [f"nothing leads to {name}" for name in sys.argv[1:]
                 if pathlib.Path(name).resolve() not in reached]
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(bool(problems))


main()
