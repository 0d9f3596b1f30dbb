#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge runs of make torture.

usage: torture_verdict.py RUN...

A RUN is a folder: "plan" names the scenarios, "results" is what the guest wrote to its
second serial port, "console" its kernel log. Prints the figures of each scenario, one
verdict over all, and "N passed, N failed"; the status is 0 only if none failed.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import complaints  # noqa: E402

TOTALS = ("operations", "fired", "handed back", "early", "lost", "twice or uncounted")


def figures(line, totals):
    for number, name in re.findall(r"(\d+) ([a-z ]+?)(?:,|$)", line):
        if name in TOTALS:
            totals[name] = totals.get(name, 0) + int(number)


def judge(run, totals):
    """Prints a run's scenarios. Returns how many passed, failed, were skipped."""
    passed = failed = skipped = 0
    left = [line.split()[0] for line in complaints.read(run / "plan").splitlines()]
    kernel = "?"
    for line in complaints.read(run / "results").splitlines():
        mark, _, rest = line.partition(" ")
        name, _, cause = rest.partition(" ")
        if mark == "@begin":
            kernel = rest
            print(f"== kernel {name}, {cause} CPUs")
        elif mark == "@scenario":
            print(f"-- {name}")
        elif mark in ("@ok", "@not", "@skip"):
            if name in left:
                left.remove(name)
            if mark == "@ok":
                passed += 1
                print(f"ok: {name}")
            elif mark == "@skip":
                skipped += 1
                print(f"skipped: {name}: {cause}")
            else:
                failed += 1
                print(f"FAILED: {name}: {cause}")
        elif mark in ("@complete", "#"):
            continue
        elif line:
            print(f"   {line}")
            if mark == "verdict:":
                figures(line, totals)
    for name in left:
        failed += 1
        print(f"FAILED: {name}: it has no result, see {run / 'console'}")
    bad = list(complaints.found(complaints.read(run / "console").splitlines()))
    if bad:
        failed += 1
        print(f"FAILED: the kernel complains, see {run / 'console'}")
        for line in bad[:10]:
            print(f"  | {line.rstrip()}")
    else:
        passed += 1
        print(f"ok: the kernel {kernel.split()[0]} does not complain")
    return passed, failed, skipped


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    totals = {}
    counts = [judge(pathlib.Path(run), totals) for run in sys.argv[1:]]
    passed, failed, skipped = (sum(column) for column in zip(*counts))
    print(f"VERDICT: {'FAILED' if failed else 'ok'}: " +
          ", ".join(f"{totals.get(name, 0)} {name}" for name in TOTALS))
    print(f"{passed} passed, {failed} failed"
          + (f", {skipped} skipped" if skipped else ""))
    sys.exit(failed != 0)


main()
