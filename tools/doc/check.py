#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks that functions that the documents, their pictures and the manual pages name exist, numbers
of ioctls, and files of for.sh"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DESIGN = HERE / "design.md"
FUNCTION = re.compile(r"\b(\w+)\(\)")
OURS = re.compile(r"\b((?:__)?tw(?:heel)?_\w+)\(\)")
QUOTED = re.compile(r'"(\w+)\(\)"')


def text_of(*folders):
    return "\n".join(path.read_text() for folder in folders
                     for path in (ROOT / folder).rglob("*.[ch]"))


def missing_names():
    """Names in the documents that no source has"""
    module = text_of("module", "include")
    called = re.compile(r"\b\w+\b(?=\()")
    known = set(called.findall(module + text_of("kunit", "tools")))
    ours = set(called.findall(module))
    pictures = HERE / "pictures.py"
    for path in sorted([ROOT / "README.md", *HERE.glob("*.md"), pictures]):
        # What it says of an older release is as it was.
        words = path.read_text().split("\n## twheel 0.2\n")[0]
        named = set((FUNCTION if path == DESIGN else OURS).findall(words)) - known
        # These two name functions of the module alone.
        if path in (DESIGN, pictures):
            named |= set((FUNCTION if path == DESIGN else QUOTED).findall(words)) - ours
        for name in sorted(named):
            yield f"{path.relative_to(ROOT)}: there is no function {name}()"


def missing_calls():
    """Names in the manual pages that no source has. Those of C libraries have a page of their own."""
    asio = (ROOT / "tools/lib/twheel/asio.hpp").read_text()
    known = set(re.findall(r"\btwheel_\w+\b", text_of("include", "tools/lib") + asio))
    for page in sorted((ROOT / "tools/man").glob("*.[1-9]")):
        for name in sorted(set(re.findall(r"^\.F[no] (twheel_\w+)", page.read_text(), re.M)) - known):
            yield f"{page.relative_to(ROOT)}: there is no function {name}()"


def wrong_numbers():
    """Numbers of ioctls in the documents that are not those of the ABI"""
    abi = dict(re.findall(r"^(TWHEEL_IOC_\w+) (\w+)$", (ROOT / "tools/lib/abi.txt").read_text(), re.M))
    for path in sorted(HERE.glob("*.md")):
        for name, number in re.findall(r"`(TWHEEL_IOC_\w+)`[^|\n]*\| (0x\w+)", path.read_text()):
            if abi[name] != number:
                yield f"{path.relative_to(ROOT)}: {name} is {abi[name]}, not {number}"


def missing_files():
    """Patterns of the table in for.sh that no file has"""
    table = (ROOT / "tools/test/for.sh").read_text().split("<< 'END'\n")[1].split("\nEND\n")[0]
    for line in table.splitlines():
        for pattern in line.split() if line[0] != "\t" else ():
            if not any(ROOT.glob(pattern)):
                yield f"tools/test/for.sh: there is no file {pattern}"


def main():
    problems = [*missing_names(), *missing_calls(), *wrong_numbers(), *missing_files()]
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(bool(problems))


main()
