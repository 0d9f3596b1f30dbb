#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""abi.py FILE [--write | --compiler COMMAND...]: compare the ABI with FILE, or write FILE.

With --compiler, says whether FILE holds for the programs that this compiler makes.

The ABI is what programs are built with: <linux/twheel.h> of include/uapi, and the library's
headers; not the in-kernel API. FILE has sizes of structures, places of fields and values
of constants, for programs of 64 and of 32 bits. It also has the library's functions. Existing
programs rely on all of it. On i386 a number of 64 bits is aligned to 32 bits. Other machines
of 32 bits, as arm, align it to 64.
"""
import re
import subprocess
import sys

HEADERS = ["include/uapi/linux/twheel.h", "tools/lib/twheel.h", "tools/lib/twheel_device.h",
           "tools/lib/twheel_policy.h"]
INCLUDES = ['#include "twheel_device.h"', '#include "twheel_policy.h"']
# What a name that is no number stands for.
NO_NUMBER = {"TWHEEL_API"}
# Numbers that differ from those of 64 bits, and of these that differ where 64 bits are
# aligned as such.
NARROW = " on 32 bits"
ALIGNED = " on 32 bits, aligned"


def plain(text):
    """A header without comments."""
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def expressions(text):
    """The numbers of a header, as (what it is, C expression)."""
    for struct, body in re.findall(r"^struct (\w+) \{\n(.*?)^\};", text, re.S | re.M):
        yield f"sizeof(struct {struct})", f"sizeof(struct {struct})"
        for field in re.findall(r"(\w+)(?:\[[^\]]*\])?;", body):
            where = f"struct {struct}, {field}"
            yield f"struct {struct}.{field}", f"__builtin_offsetof({where})"
            yield (f"struct {struct}.{field} bytes",
                   f"sizeof(((struct {struct} *)0)->{field})")
    for body in re.findall(r"^enum \w+ \{\n(.*?)^\};", text, re.S | re.M):
        for name in re.findall(r"^\s+(\w+)\s*=", body, re.M):
            yield name, name
    for name in re.findall(r"^#define\s+(TWHEEL_\w+)[ \t]+\S", text, re.M):
        if name not in NO_NUMBER:
            yield name, name


def functions(text):
    """The library's declarations, one a line."""
    for declaration in re.findall(r"^TWHEEL_API\s+(?:inline )?([^;{]*)[;{]", text, re.S | re.M):
        yield " ".join(declaration.split()).replace("( ", "(")


def compiled(names, *options):
    """The values of the expressions, for programs by these options. None is linked."""
    lines = INCLUDES + [f"const unsigned long long v{i} = (unsigned long long)({expression});"
              for i, (_, expression) in enumerate(names)]
    command = ["gcc", *options, "-ffreestanding", "-Iinclude/uapi", "-Itools/lib",
               "-xc", "-S", "-o", "-", "-"]
    text = subprocess.run(command, input="\n".join(lines) + "\n", text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    values = {}
    for label, body in re.findall(r"^v(\d+):\n((?:\t\.(?:quad|long|zero).*\n)+)", text, re.M):
        words = re.findall(r"\.(quad|long|zero)\t(-?\d+)", body)
        # Of two halves, the first is the lower one.
        size = 64 // len(words)
        values[int(label)] = sum(0 if kind == "zero" else int(number) % (1 << size) << size * i
                                 for i, (kind, number) in enumerate(words))
    return [values[i] for i in range(len(names))]


def describe():
    """All of the ABI, as lines."""
    texts = [plain(open(header, encoding="utf-8").read()) for header in HEADERS]
    names = [name for text in texts for name in expressions(text)]
    if len(names) < 150:
        sys.exit(f"only {len(names)} numbers found: the headers were not understood")
    for (what, _), wide, narrow, aligned in zip(
            names, compiled(names, "-m64"), compiled(names, "-m32"),
            compiled(names, "-m32", "-malign-double")):
        yield f"{what} {wide:#x}" if wide > 4096 else f"{what} {wide}"
        if narrow != wide:
            yield f"{what}{NARROW} {narrow}"
        if aligned != narrow:
            yield f"{what}{ALIGNED} {aligned}"
    for text in texts[1:]:
        yield from functions(text)


def holds(golden, command):
    """Whether a compiler agrees with every number of FILE. It asserts them, and says where not."""
    with open(golden, encoding="utf-8") as known:
        numbers = dict(re.findall(r"^(.*) (\d+|0x[0-9a-f]+)$", known.read(), re.M))
    names = [name for header in HEADERS
             for name in expressions(plain(open(header, encoding="utf-8").read()))]
    lines = INCLUDES + [
             "struct unaligned { int first; unsigned long long second; };"]
    for what, expression in names:
        wide = numbers[what]
        narrow = numbers.get(what + NARROW, wide)
        aligned = numbers.get(what + ALIGNED, narrow)
        # An ioctl's number differs where read and write have other bits in it, as on powerpc.
        is_ioctl = what.startswith("TWHEEL_IOC_") and what != "TWHEEL_IOC_TYPE"
        other = "_IOC_READ != 2U || " if is_ioctl else ""
        lines.append(
            f"_Static_assert({other}(unsigned long long)({expression}) == "
            f"(sizeof(void *) == 8 ? {wide}ull : "
            f"__builtin_offsetof(struct unaligned, second) == 4 ? {narrow}ull : {aligned}ull), "
            f'"{what} is not as programs rely on it");')
    command = [*command, "-ffreestanding", "-Iinclude/uapi", "-Itools/lib", "-xc",
               "-fsyntax-only", "-"]
    return subprocess.run(command, input="\n".join(lines) + "\n", text=True,
                          check=False).returncode


def main():
    golden = sys.argv[1]
    if sys.argv[2:3] == ["--compiler"]:
        return holds(golden, sys.argv[3:])
    lines = list(describe())
    if "--write" in sys.argv:
        with open(golden, "w", encoding="utf-8") as out:
            out.write("\n".join(["# SPDX-" "License-Identifier: LGPL-2.1-or-later OR MIT",
                                 "# Written by tools/style/abi.py"] + lines) + "\n")
        return 0
    with open(golden, encoding="utf-8") as known:
        old = [line.rstrip("\n") for line in known if not line.startswith("#")]
    wrong = 0
    for line in old:
        if line not in lines:
            print(f"{golden}: programs rely on this, which is gone: {line}")
            wrong = 1
    for line in lines:
        if line not in old:
            print(f"{golden}: not known yet: {line}")
            wrong = 1
    if wrong:
        print(f"If this is meant, and no program breaks: {sys.argv[0]} {golden} --write")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
