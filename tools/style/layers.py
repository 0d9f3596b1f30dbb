#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks that includes go down only: layers.py [--list]

The folders of module/ are layers: core, the wheels of modules, and dev, the device, stand on
engine, and know nothing of each other. A file includes headers of its own layer, of those
that it stands on, and clock.h, compat.h and export.h. The engine includes only its own
headers. No headers include each other in a circle. Prints each exception. features.c is in
no layer: only the compiler reads it, to learn about the kernel. --list prints each file with
what its head says of it, and with our headers that it includes.
"""
import os
import pathlib
import re
import sys

# Each layer with those that it stands on.
LAYERS = {"engine": (), "core": ("engine",), "dev": ("engine",)}
SHARED = ("clock.h", "compat.h", "export.h")
OURS = re.compile(r'^#\s*include "([^"]+)"', re.M)
PUBLIC = re.compile(r"^#\s*include <((?:uapi/)?(?:linux|trace/events)/twheel\w*\.h)>", re.M)
# The layers that may include each of our public headers.
READERS = {"linux/twheel_node.h": tuple(LAYERS), "linux/twheel.h": ("core",),
           "linux/twheel_state.h": ("core",), "linux/twheel_stats.h": ("core",),
           "linux/twheel_many.h": ("core",), "linux/twheel_virtual.h": ("core",),
           "trace/events/twheel.h": ("core", "dev"),
           "linux/twheel_policy.h": ("core",), "linux/twheel_idle.h": ("core",),
           "linux/twheel_periodic.h": ("core",),
           "uapi/linux/twheel.h": ("dev",)}


def layer(name):
    """The folder of a file of module/, or "" for one that is in none"""
    folder = name.rpartition("/")[0]
    if folder and folder not in LAYERS:
        sys.exit(f"layers.py: module/{folder} is no layer")
    return folder


def what_it_is(name):
    """The first sentence of a file's head"""
    text = pathlib.Path("module", name).read_text()
    head = re.search(r"^/\*(?! SPDX)(.*?)\*/", text, re.M | re.S)
    words = " ".join(re.sub(r"^ \* ?", "", head[1], flags=re.M).split()) if head else ""
    return re.match(r"(?:.*?\.(?= [A-Z]|$))?", words)[0]


def show(files):
    """The table of layers: the upper ones first"""
    layers = ["", *reversed(LAYERS)]
    for name in sorted(files, key=lambda name: (layers.index(layer(name)), name)):
        print(name, what_it_is(name), sep=": ")
        own = name.rpartition("/")[0]
        headers = [header.removeprefix(own + "/") if own else header
                   for header, _ in files[name]]
        print("\t" + (" ".join(headers) or "-"))


def read():
    """Each file of module/ by its name there: the headers of ours in it, with line numbers"""
    files, public = {}, {}
    for path in sorted(pathlib.Path("module").rglob("*.[ch]")):
        if path.name.endswith(".mod.c") or path.name == "features.c":
            continue
        name, text = str(path.relative_to("module")), path.read_text()
        number = lambda match: text.count("\n", 0, match.start()) + 1  # noqa: E731
        files[name] = [(os.path.normpath(os.path.join(os.path.dirname(name), match[1])),
                        number(match)) for match in OURS.finditer(text)]
        public[name] = [(match[1], number(match)) for match in PUBLIC.finditer(text)]
    return files, public


def outside(files, public):
    """Includes of what a file does not stand on; main.c stands on everything"""
    for name, headers in files.items():
        own = layer(name)
        for header, line in headers:
            where = f"module/{name}:{line}: includes {header}"
            if header.startswith("..") or header not in files:
                yield f"{where}, which is not in module/"
            elif own == "engine" and header in SHARED:
                yield f"{where}; the engine has its own headers only"
            elif name in SHARED + ("clock.c",) and header not in SHARED:
                yield f"{where}, which is above it"
            elif own and header not in SHARED and layer(header) not in (own, *LAYERS[own]):
                yield f"{where}, which {own} does not stand on"
        for header, line in public[name]:
            if own and own not in READERS.get(header, ()):
                yield f"module/{name}:{line}: includes <{header}>, which is not for {own}"


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
    if sys.argv[1:] == ["--list"]:
        show(files)
        return
    wrong = list(outside(files, public)) + list(circles(files))
    wrong += [f"module/{name}: no sentence at its head says what it is" for name in files
              if not what_it_is(name)]
    print("".join(line + "\n" for line in wrong), end="")
    sys.exit(bool(wrong))


main()
