#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks that the documents agree with the sources: check.py [--write]

design.md has a row for each .c and .h of module/: what it is, and which of our
own headers it includes. --write renews the last column. Functions and constants that the
documents and their pictures name have to exist too.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DESIGN = HERE / "design.md"
BEGIN, END = "<!-- layers -->\n", "<!-- end of layers -->\n"
ROW = re.compile(r"\| \[(?P<name>[\w/]+)\]\([^)]*\) \| (?P<what>.*) \| (?P<includes>[^|]*) \|")
LAYERS = ("", "dev", "core", "engine")
FUNCTION = re.compile(r"\b(\w+)\(\)")
OURS = re.compile(r"\b((?:__)?tw(?:heel)?_\w+)\(\)")
QUOTED = re.compile(r'"(\w+)\(\)"')
CONSTANT = re.compile(r"^\| `([A-Z_]+)`", re.M)


def includes(name):
    """Our headers that a file and its header include, those of its folder first"""
    here = pathlib.PurePosixPath(name).parent
    found = set()
    for suffix in (".c", ".h"):
        path = ROOT / "module" / (name + suffix)
        if not path.exists():
            continue
        for header in re.findall(r'^#include "([^"]+)\.h"', path.read_text(), re.M):
            parts = []
            for part in (here / header).parts:
                if part == "..":
                    parts.pop()
                else:
                    parts.append(part)
            found.add("/".join(parts))
    found.discard(name)
    near = sorted(pathlib.PurePosixPath(other).name for other in found
                  if pathlib.PurePosixPath(other).parent == here)
    far = sorted(other for other in found if pathlib.PurePosixPath(other).parent != here)
    return " ".join(near + far) or "–"


def nouns():
    """All files of the module without their suffix, the upper layer first"""
    names = {str(path.relative_to(ROOT / "module").with_suffix(""))
             for path in (ROOT / "module").rglob("*.[ch]")
             if not path.name.endswith(".mod.c") and path.name != "features.c"}
    return sorted(names, key=lambda name: (LAYERS.index(name.rpartition("/")[0]), name))


def text_of(*folders):
    return "\n".join(path.read_text() for folder in folders
                     for path in (ROOT / folder).rglob("*.[ch]"))


def missing_names():
    """Names in the documents that no source has"""
    module = text_of("module", "include")
    called = re.compile(r"\b\w+\b(?=\()")
    known = set(called.findall(module + text_of("kunit", "tools")))
    ours = set(called.findall(module))
    defined = set(re.findall(r"^#define\s+(\w+)", module, re.M))
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
        if path == DESIGN:
            for name in sorted(set(CONSTANT.findall(words)) - defined):
                yield f"{path.relative_to(ROOT)}: there is no constant {name}"


def main():
    before, _, rest = DESIGN.read_text().partition(BEGIN)
    table, _, after = rest.partition(END)
    problems, rows, lines = list(missing_names()), set(), []
    for line in table.splitlines():
        row = ROW.fullmatch(line)
        if row:
            name = row["name"]
            rows.add(name)
            if name not in nouns():
                problems.append(f"design.md: module/{name} does not exist")
            elif row["includes"] != includes(name):
                if "--write" not in sys.argv:
                    problems.append(f"design.md: {name} includes {includes(name)}: "
                                    "tools/doc/check.py --write renews the table")
                line = f"{line[:row.start('includes')]}{includes(name)} |"
        lines.append(line)
    problems += [f"design.md: no row for module/{name}" for name in nouns() if name not in rows]
    if "--write" in sys.argv:
        DESIGN.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + after)
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(bool(problems))


main()
