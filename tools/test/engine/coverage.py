#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""coverage.py LCOV UNREACHED: does make engine reach all lines and branches?

LCOV is the export of llvm-cov. UNREACHED lists exceptions: the text of a line without
the white space around it, a tab, and the reason. An exception that is reached is a
failure, too. The last line is "N passed, N failed", counted in lines and branches.
"""
import collections
import os
import sys


def read(lcov):
    """Per file: {line: count}, and {line: [(way, count), ...]}."""
    files = collections.defaultdict(
        lambda: (collections.Counter(), collections.defaultdict(list)))
    for row in open(lcov):
        what, _, rest = row.strip().partition(":")
        if what == "SF":
            lines, branches = files[rest]
        elif what == "DA":
            number, count = rest.split(",")[:2]
            lines[int(number)] += int(count)
        elif what == "BRDA":
            number, _, way, count = rest.split(",")
            count = 0 if count == "-" else int(count)
            branches[int(number)].append((int(way), count))
    return files


def ways(branches, inline):
    """Counts of the branches of a line; those of an inline function are summed."""
    if not branches or not inline:
        return [count for _, count in branches]
    taken = [0, 0]
    for way, count in branches:
        taken[way % 2] += count
    return taken


def reasons(path):
    given = {}
    for row in open(path):
        if row.strip() and not row.startswith("#"):
            text, _, reason = row.rstrip("\n").partition("\t")
            if not reason.strip():
                sys.exit(f"{path}: no reason for: {text}")
            given[text.strip()] = reason.strip()
    return given


def main():
    files = read(sys.argv[1])
    excused = reasons(sys.argv[2])
    used = set()
    passed = failed = 0
    if not files:
        sys.exit("nothing was measured")
    for path, (lines, branches) in sorted(files.items()):
        source = open(path).read().split("\n")
        name = os.path.basename(path)
        reached = [0, 0]
        for number, count in sorted(lines.items()):
            out = ways(branches.get(number, []), path.endswith(".h"))
            text = source[number - 1].strip()
            missing = [what for what, bad in (
                ("line", not count), ("a way out", 0 in out)) if bad]
            reached[0] += bool(count)
            reached[1] += sum(map(bool, out))
            if not missing:
                passed += 1
            elif text in excused:
                used.add(text)
                passed += 1
            else:
                failed += 1
                print(f"not reached: {name}:{number} ({', '.join(missing)}): {text}")
        total = sum(len(ways(b, path.endswith(".h"))) for b in branches.values())
        print(f"{name}: {reached[0]} of {len(lines)} lines, "
              f"{reached[1]} of {total} branches")
    for text in sorted(set(excused) - used):
        failed += 1
        print(f"is reached, and excused: {text}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
