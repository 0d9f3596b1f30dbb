#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Do includes go down only?

The folders of module/ are layers: dev uses api, api uses core, core uses engine. A file
includes headers of its own layer and of those below, compat.h, export.h and param.h; the
engine only its own and export.h. No headers include each other in a circle. Prints what
is otherwise. features/ is no layer: only the compiler reads it, to learn about the kernel.
(tools/doc/check.py keeps the table of layers in design.md.)
"""
import os
import pathlib
import re
import sys

LAYERS = ("engine", "core", "api", "dev")
SHARED = ("compat.h", "export.h", "param.h")
OURS = re.compile(r'^#\s*include "([^"]+)"', re.M)
PUBLIC = re.compile(r"^#\s*include <((?:uapi/)?(?:linux|trace/events)/twheel\w*\.h)>", re.M)
# The lowest layer that may include each of our public headers.
LOWEST = {"linux/twheel_node.h": "engine", "linux/twheel.h": "core",
          "trace/events/twheel.h": "core",
          "linux/twheel_policy.h": "api", "uapi/linux/twheel.h": "dev"}


def height(name):
    """How high a file of module/ is: -1 for what all share, above all layers for main.c"""
    folder, _, base = name.rpartition("/")
    if folder:
        return LAYERS.index(folder)
    return -1 if base in SHARED + ("param.c",) else len(LAYERS)


def read():
    """Each file of module/ by its name there: the headers of ours in it, with line numbers"""
    files, public = {}, {}
    for path in sorted(pathlib.Path("module").rglob("*.[ch]")):
        if path.name.endswith(".mod.c") or path.parent.name == "features":
            continue
        name, text = str(path.relative_to("module")), path.read_text()
        number = lambda match: text.count("\n", 0, match.start()) + 1  # noqa: E731
        files[name] = [(os.path.normpath(os.path.join(os.path.dirname(name), match[1])),
                        number(match)) for match in OURS.finditer(text)]
        public[name] = [(match[1], number(match)) for match in PUBLIC.finditer(text)]
    return files, public


def upward(files, public):
    for name, headers in files.items():
        own = height(name)
        for header, line in headers:
            where = f"module/{name}:{line}: includes {header}"
            if header.startswith("..") or header not in files:
                yield f"{where}, which is not in module/"
            elif height(header) > own:
                yield f"{where}, which is above it"
            elif own == 0 and height(header) == -1 and header != "export.h":
                yield f"{where}; the engine has export.h only"
        for header, line in public[name]:
            if 0 <= own < LAYERS.index(LOWEST.get(header, "dev")):
                yield f"module/{name}:{line}: includes <{header}>, which is above it"


def circles(files):
    """Headers that include each other"""
    done, path = set(), []

    def visit(name):
        if name in path:
            yield " -> ".join(path[path.index(name):] + [name])
        if name in done or name in path:
            return
        path.append(name)
        for header, _ in files.get(name, []):
            yield from visit(header)
        path.pop()
        done.add(name)

    for name in files:
        for circle in visit(name):
            yield f"module/{circle.split(' ')[0]}: includes itself: {circle}"


def main():
    files, public = read()
    if len(files) < 20:
        sys.exit("layers.py: module/ is not where it was")
    wrong = list(upward(files, public)) + list(circles(files))
    print("".join(line + "\n" for line in wrong), end="")
    sys.exit(bool(wrong))


main()
