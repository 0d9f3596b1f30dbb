#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""syz.py DESCRIPTION HEADER FILE: compare a description for syzkaller with the ABI in a header, of
which FILE has the numbers (see abi.py).

Each ioctl, structure, code and flag of the header is in the description, which has no others. An
ioctl takes the structure of its number, and in its direction. A structure, and each variant of it,
whose name begins with that of the structure, has its fields at their places. Prints what differs.
"""
import re
import sys

INTEGERS = {"int8": 1, "int16": 2, "int32": 4, "int64": 8}
SIZES = {**INTEGERS, "ptr64": 8, "pid": 4, "fd": 4, "fd_event": 4}
DIRECTIONS = {1: "in", 2: "out", 3: "inout"}
# No call takes it: the kernel writes it once, and never reads it.
NO_CALL = {"twheel_map"}
# Constants of the header that are about times, words and the mapping: no call names them.
NO_CODE = re.compile(r"TWHEEL_(NEVER_NS|NO_LIMIT|CELL_\w+|MAP_\w+|IOC_TYPE)$")


class Description:
    def __init__(self, text):
        self.text = re.sub(r"#.*", "", text)
        self.names = set(re.findall(r"\bTWHEEL_\w+", re.sub(r"\$\w+", "", self.text)))
        self.resources = dict(re.findall(r"^resource (\w+)\[(\w+)\]", self.text, re.M))
        # Name: is it a union, and its fields with their types.
        self.structs = {
            name: (opening == "[", re.findall(r"^\t(\w+)\t+(\w+(?:\[.*\])?)", body, re.M))
            for name, opening, body in re.findall(
                r"^(?:type )?(\w+)(?:\[\w+\])? ([{[])\n(.*?)^[}\]]$", self.text, re.S | re.M)}

    def size(self, kind):
        base = kind.partition("[")[0]
        if base in self.resources:
            return self.size(self.resources[base])
        if base in self.structs:
            union, fields = self.structs[base]
            sizes = [self.size(of) for _, of in fields]
            return max(sizes) if union else sum(sizes)
        # A constant, flags or a length: the last option is what holds it.
        held = re.search(r"\b(int\d+)\]$", kind)
        size = SIZES.get(base) or held and INTEGERS.get(held[1])
        return size or sys.exit(f"{kind} is no type that is known here")

    def places(self, name):
        place = 0
        for field, kind in self.structs[name][1]:
            yield field, place, self.size(kind)
            place += self.size(kind)


def compare(text, header, known):
    description = Description(text)
    header = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    numbers = {what: int(number, 0)
               for what, number in re.findall(r"^(.*) (\d+|0x[0-9a-f]+)$", known, re.M)}
    codes = {code for code in re.findall(r"^(?:\s+|#define\s+)(TWHEEL_\w+)\b", header, re.M)
             if code in numbers and not NO_CODE.match(code)}
    for code in sorted(codes ^ description.names):
        yield f"{code} is only in {'the ABI' if code in codes else 'the description'}"
    structs = set(re.findall(r"^struct (\w+) \{", header, re.M)) - NO_CALL
    for name in sorted(structs - set(description.structs)):
        yield f"struct {name} is not described"
    for name, (union, _) in description.structs.items():
        of = max((one for one in structs if f"{name}_".startswith(f"{one}_")), key=len, default="")
        size = description.size(name)
        if numbers.get(f"sizeof(struct {of})") != size:
            yield f"{name} has {size} bytes, which struct {of} has not"
        for field, *place in [] if union else description.places(name):
            field = f"struct {of}.{field}"
            if [numbers.get(field), numbers.get(field + " bytes")] != place:
                yield f"{name}: at {place[0]} are not the {place[1]} bytes of {field}"
    calls = re.findall(r"^ioctl\$(\w+)\(.*\bcmd const\[(\w+)\], arg ptr\[(\w+), (\w+)\]\)",
                       description.text, re.M)
    for name, command, direction, struct in calls:
        number = numbers.get(command, 0)
        if name != command or DIRECTIONS.get(number >> 30) != direction or \
                struct not in description.structs or \
                number >> 16 & 0x3fff != description.size(struct):
            yield f"ioctl${name}: {command} is {number:#x}, not {direction} of {struct}"
    for command in sorted(code for code in codes if code.startswith("TWHEEL_IOC_")):
        if command not in [call[1] for call in calls]:
            yield f"{command} has no call"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    texts = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    different = list(compare(*texts))
    print("\n".join(different), end="\n" if different else "")
    sys.exit(bool(different))


main()
