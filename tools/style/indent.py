#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What clang-format and the kernel agree on: indent.py FILE...

Prints where a statement is indented otherwise than .clang-format says, and includes
that are not in order. For the rest of a statement, for macros and for line breaks, its style
is not the kernel's. checkpatch checks those.
"""
import difflib
import re
import subprocess
import sys

# What a line ends with after which a statement begins: not a : between operands.
END = re.compile(r"([;{}]|\*/|\S:)\s*$")


def depth(line):
    return len(line.expandtabs()) - len(line.expandtabs().lstrip())


def begins(lines, i):
    """Whether a statement begins in that line. None does in a macro, nor in an argument, as of
    TP_fast_assign() in headers of tracepoints"""
    if lines[i].endswith("\\") or (i and lines[i - 1].endswith("\\")):
        return False
    for line in reversed(lines[:i]):
        if line.strip() and depth(line) < depth(lines[i]):
            if line.endswith("TP_fast_assign("):
                return False
            break
    for line in reversed(lines[:i]):
        if line.strip():
            return bool(END.search(line))
    return True


def indented(name, lines, formatted):
    bare = [[line.strip() for line in side] for side in (lines, formatted)]
    bad = 0
    for kind, i, end, j, _ in difflib.SequenceMatcher(None, *bare, False).get_opcodes():
        for k in range(end - i if kind == "equal" else 0):
            if lines[i + k] != formatted[j + k] and begins(lines, i + k):
                print(f"{name}:{i + k + 1}: is indented otherwise:\n"
                      f"    {lines[i + k].expandtabs()}\n"
                      f"    {formatted[j + k].expandtabs()}")
                bad += 1
    return bad


def ordered(name, *sides):
    """Includes of a block, between blank lines or other lines"""
    for ours, theirs in zip(*([line for line in lines if line.startswith("#include")]
                              for lines in sides)):
        if ours != theirs:
            print(f"{name}: {theirs} belongs before {ours}")
            return 1
    return 0


def main():
    bad = 0
    for name in sys.argv[1:]:
        with open(name) as file:
            lines = file.read().splitlines()
        formatted = subprocess.run(["clang-format", "--style=file", name], check=True,
                                   stdout=subprocess.PIPE, text=True).stdout.splitlines()
        bad += indented(name, lines, formatted) + ordered(name, lines, formatted)
    sys.exit(bad != 0)


main()
