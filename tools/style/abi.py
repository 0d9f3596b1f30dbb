#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""abi.py FILE [--write | --compiler COMMAND... | --self-test]: compare the ABI with FILE, or write
FILE.

What is new, and structures that have grown as programs allow, are told from what breaks
programs. With --compiler, says whether FILE holds for the programs that this compiler makes.
With --self-test, says whether it tells growth from a break.

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
           "tools/lib/twheel_policy.h", "tools/lib/twheel_guard.h"]
INCLUDES = ['#include "twheel_device.h"', '#include "twheel_policy.h"',
            '#include "twheel_guard.h"']
# What a name that is no number stands for.
NO_NUMBER = {"TWHEEL_API"}
# What tells the size of a structure that a program was built with. Only these may grow: others
# are parts of a program's own objects, or stand in arrays with a stride that is known.
SIZED = {
    "twheel_setup": "the number of the ioctl",
    "twheel_op": "the number of the ioctl, or the stride of an array",
    "twheel_ops": "the number of the ioctl",
    "twheel_act": "the number of the ioctl",
    "twheel_info": "the number of the ioctl",
    "twheel_event": "event_size of the setup",
    "twheel_map": "its own size",
    "twheel_config": "twheel_create_size()",
    "twheel_stats": "twheel_get_stats_size()",
}
# Where the number of an ioctl has the size, in bits.
IOC_SIZE_SHIFT, IOC_SIZE_BITS = 16, 14
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


class Known:
    """What lines of FILE say, of each kind of programs."""

    def __init__(self, lines):
        lines = list(lines)
        self.numbers = {what: int(number, 0) for what, number in re.findall(
            r"^(.*) (\d+|0x[0-9a-f]+)$", "\n".join(lines), re.M)}
        self.functions = {line for line in lines if line.endswith(")")}
        self.names = [what for what in self.numbers if not what.endswith((NARROW, ALIGNED))]

    def of(self, what, kind):
        """A number, as programs of 64 bits (kind 0), of 32 (1), or of aligned 32 bits (2) have it."""
        value = self.numbers[what]
        for suffix in (NARROW, ALIGNED)[:kind]:
            value = self.numbers.get(what + suffix, value)
        return value

    def size(self, struct, kind):
        return self.of(f"sizeof(struct {struct})", kind)

    def structs(self):
        return [what[len("sizeof(struct "):-1] for what in self.names
                if what.startswith("sizeof(struct ")]

    def fields(self, struct):
        return [what for what in self.names
                if what.startswith(f"struct {struct}.") and not what.endswith(" bytes")]


def added(old, new, struct):
    """The fields that a structure has now, at its end and without a hole; [] if it is not so."""
    more = [field for field in new.fields(struct) if field not in old.numbers]
    for kind in range(3):
        end = old.size(struct, kind)
        for field in more:
            # What a program of now has in the padding is unknown.
            if new.of(field, kind) != end:
                return []
            end += new.of(field + " bytes", kind)
        if end != new.size(struct, kind):
            return []
    return more


def compare(old_lines, new_lines):
    """What breaks programs, and what has grown or is new, as lists of sentences."""
    old, new = Known(old_lines), Known(new_lines)
    broken, grown, longer = [], [], {}
    for struct in old.structs():
        if struct in new.structs() and (more := added(old, new, struct)) and struct in SIZED:
            longer[f"sizeof(struct {struct})"] = struct
            grown.append(f"struct {struct} has grown, and {SIZED[struct]} tells: " +
                         ", ".join(field.rsplit(".", 1)[1] for field in more))
    for what in old.names:
        struct = what.replace("TWHEEL_IOC_", "twheel_").lower()
        if what not in new.numbers:
            broken.append(f"programs rely on this, which is gone: {what}")
            continue
        for kind in range(3):
            was, now = old.of(what, kind), new.of(what, kind)
            if what.startswith("TWHEEL_IOC_") and f"sizeof(struct {struct})" in longer:
                mask = (1 << IOC_SIZE_BITS) - 1 << IOC_SIZE_SHIFT
                was = was & ~mask | new.size(struct, kind) << IOC_SIZE_SHIFT
            if was != now and what not in longer:
                broken.append(f"programs rely on {what} being {old.of(what, kind):#x}, "
                              f"and not {now:#x}")
                break
    broken += [f"programs rely on this, which is gone: {line}"
               for line in sorted(old.functions - new.functions)]
    # Fields of a structure that was there and has not grown are in the way of others.
    for what in new.names:
        if what in old.numbers or what.endswith(" bytes"):
            continue
        struct = re.match(r"struct (\w+)\.", what)
        if struct and struct[1] in old.structs():
            if f"sizeof(struct {struct[1]})" not in longer:
                broken.append(f"programs do not know this in memory of theirs: {what}")
        elif not struct:
            grown.append(f"new: {what}")
    grown += [f"new: {line}" for line in sorted(new.functions - old.functions)]
    return broken, grown


def self_test():
    """Whether growth and breaks are told apart."""
    def struct(name, size, **fields):
        lines = [f"sizeof(struct {name}) {size}"]
        for field, (offset, size_of) in fields.items():
            lines += [f"struct {name}.{field} {offset}", f"struct {name}.{field} bytes {size_of}"]
        return lines

    first = struct("twheel_setup", 8, clock=(0, 4), flags=(4, 4))
    padded = struct("twheel_config", 16, tick_ns=(0, 8), threads=(8, 1))
    timer = struct("twheel_timer", 8, tw_word=(0, 8))
    rest = ["TWHEEL_IOC_SETUP 0x4008e711", "TWHEEL_ABS 1", "int twheel_arm(int fd)"]
    old = first + padded + timer + rest
    longer = struct("twheel_setup", 16, clock=(0, 4), flags=(4, 4), later_ns=(8, 8))
    number = "TWHEEL_IOC_SETUP 0x4010e711"
    # What it is, the ABI of now, how many breaks, how much growth.
    cases = [
        ("nothing", old, 0, 0),
        ("a field at the end", longer + padded + timer + [number] + rest[1:], 0, 1),
        ("two fields at the end", struct("twheel_setup", 16, clock=(0, 4), flags=(4, 4),
         a=(8, 4), b=(12, 4)) + padded + timer + [number] + rest[1:], 0, 1),
        ("a name and a function", old + ["TWHEEL_NEW 2", "int twheel_new(int fd)"], 0, 2),
        ("a structure", old + struct("twheel_new", 8, a=(0, 8)), 0, 1),
        ("growth, but not of the ioctl", longer + padded + timer + rest, 1, 1),
        ("another ioctl", first + padded + timer + ["TWHEEL_IOC_SETUP 0x4008e712"] + rest[1:], 1, 0),
        ("a field that moves", struct("twheel_setup", 16, clock=(0, 4), later=(4, 4),
         flags=(8, 4)) + padded + timer + [number] + rest[1:], 4, 0),
        ("a field that is wider", struct("twheel_setup", 8, clock=(0, 4), flags=(4, 2)) + padded +
         timer + rest, 1, 0),
        ("a field that is gone", struct("twheel_setup", 8, clock=(0, 4)) + padded + timer + rest,
         2, 0),
        ("a hole", struct("twheel_setup", 24, clock=(0, 4), flags=(4, 4), later_ns=(16, 8)) +
         padded + timer + ["TWHEEL_IOC_SETUP 0x4018e711"] + rest[1:], 3, 0),
        ("padding behind it", struct("twheel_setup", 16, clock=(0, 4), flags=(4, 4), later=(8, 4)) +
         padded + timer + [number] + rest[1:], 3, 0),
        ("a field in the padding", first + struct("twheel_config", 16, tick_ns=(0, 8),
         threads=(8, 1), later=(9, 1)) + timer + rest, 1, 0),
        ("one in the padding, one at the end", first + struct("twheel_config", 24, tick_ns=(0, 8),
         threads=(8, 1), a=(12, 4), b=(16, 4)) + timer + rest, 3, 0),
        ("a field in the padding of 32 bits", first + struct("twheel_config", 24, tick_ns=(0, 8),
         threads=(8, 1), later_ns=(16, 8)) + ["struct twheel_config.later_ns on 32 bits 12",
         "sizeof(struct twheel_config) on 32 bits 20"] + timer + rest, 2, 0),
        ("one that tells no size", first + padded + struct("twheel_timer", 16, tw_word=(0, 8),
         later=(8, 8)) + rest, 2, 0),
        ("another value", first + padded + timer + [rest[0], "TWHEEL_ABS 2", rest[2]], 1, 0),
        ("a value that is gone", first + padded + timer + [rest[0], rest[2]], 1, 0),
        ("another function", first + padded + timer + rest[:2] + ["int twheel_arm(long fd)"], 1, 1),
    ]
    wrong = 0
    for what, lines, breaks, more in cases:
        broken, grown = compare(old, lines)
        if (len(broken), len(grown)) != (breaks, more):
            print(f"{what}: {len(broken)} breaks and not {breaks}, growth {len(grown)} "
                  f"and not {more}:", *broken, *grown, sep="\n  ")
            wrong = 1
    return wrong


def main():
    if "--self-test" in sys.argv:
        return self_test()
    golden = sys.argv[1]
    if sys.argv[2:3] == ["--compiler"]:
        return holds(golden, sys.argv[3:])
    lines = list(describe())
    with open(golden, encoding="utf-8") as known:
        old = [line.rstrip("\n") for line in known if not line.startswith("#")]
    broken, grown = compare(old, lines)
    for sentence in broken:
        print(f"{golden}: a break: {sentence}")
    for sentence in grown:
        print(f"{golden}: {sentence}")
    if "--write" in sys.argv:
        with open(golden, "w", encoding="utf-8") as out:
            out.write("\n".join(["# SPDX-" "License-Identifier: LGPL-2.1-or-later OR MIT",
                                 "# Written by tools/style/abi.py"] + lines) + "\n")
        return 0
    if old == lines:
        return 0
    if broken:
        print("Programs that exist would break. After a release, nothing but a new name is right.")
    else:
        print("No program that exists breaks.")
    print(f"If this is meant: {sys.argv[0]} {golden} --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
