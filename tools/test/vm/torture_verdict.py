#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge runs of make torture.

usage: torture_verdict.py RUN...
       torture_verdict.py --caught FAULT RUN

A RUN is a folder: "plan" names the scenarios, "results" is what the guest wrote to its
second serial port, "console" its kernel log. Prints the figures of each scenario, one
verdict over all, and "N passed, N failed"; the status is 0 only if none failed. With
--caught, was a planted fault caught? Prints by which check, and after how long.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True

COMPLAINTS = re.compile(
    r"BUG:|WARNING:|Oops|KASAN|UBSAN|[kK]ernel panic|general protection"
    r"|Internal error|Unable to handle kernel"
    r"|possible recursive locking|possible circular locking|inconsistent lock state"
    r"|suspicious RCU|ODEBUG|list_add corruption|list_del corruption|blocked for more"
    r"|rcu: INFO|soft lockup|hard LOCKUP|was never destroyed"
    r"|scheduling while atomic|sleeping function called")
TOTALS = ("operations", "fired", "handed back", "early", "lost", "twice or uncounted")


def read(path):
    return path.read_text(errors="replace").replace("\r", "") if path.exists() else ""


def complaints(run):
    return [line for line in read(run / "console").splitlines()
            if COMPLAINTS.search(line)]


def figures(line, totals):
    for number, name in re.findall(r"(\d+) ([a-z ]+?)(?:,|$)", line):
        if name in TOTALS:
            totals[name] = totals.get(name, 0) + int(number)


def caught(fault, run):
    """The first sign that something is wrong, if there is one."""
    text = read(run / "results")
    told = re.findall(r"^told: (.*?), after (\d+) ms, (.*)$", text, re.M)
    bad = complaints(run)
    twin = re.search(r"^twin: FAILED: (.*)$", text, re.M)
    cause = re.search(r"^@not \S+ (.*)$", text, re.M)
    console = re.search(r"twheel_torture: (.*?), after (\d+) ms, (.*)$",
                        read(run / "console"), re.M)
    if not told and console:
        told = [console.groups()]
    if told:
        what, ms, detail = told[0]
        print(f"caught: {fault}: {what}, after {int(ms) / 1000:.1f} s ({detail})")
    elif bad:
        print(f"caught: {fault}: the kernel: {bad[0].strip()}")
    elif twin:
        print(f"caught: {fault}: the twin: {twin.group(1)}")
    elif cause:
        print(f"caught: {fault}: {cause.group(1)}")
    elif "@complete" not in text and "@scenario" in text:
        print(f"caught: {fault}: the guest hangs")
    else:
        print(f"NOT CAUGHT: {fault}")
        return 1
    return 0


def judge(run, totals):
    """Prints a run's scenarios. Returns how many passed, failed, were skipped."""
    passed = failed = skipped = 0
    left = [line.split()[0] for line in read(run / "plan").splitlines()]
    kernel = "?"
    for line in read(run / "results").splitlines():
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
            if mark == "twin:":
                figures(line, totals["twin"])
    for name in left:
        failed += 1
        print(f"FAILED: {name}: it has no result, see {run / 'console'}")
    bad = complaints(run)
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
    if len(sys.argv) == 4 and sys.argv[1] == "--caught":
        sys.exit(caught(sys.argv[2], pathlib.Path(sys.argv[3])))
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    totals = {"twin": {}}
    counts = [judge(pathlib.Path(run), totals) for run in sys.argv[1:]]
    passed, failed, skipped = (sum(column) for column in zip(*counts))
    twin = totals["twin"]
    print(f"VERDICT: {'FAILED' if failed else 'ok'}: " +
          ", ".join(f"{totals.get(name, 0)} {name}" for name in TOTALS) +
          f"; the twin: {twin.get('operations', 0)} operations, "
          f"{twin.get('fired', 0)} fired")
    print(f"{passed} passed, {failed} failed"
          + (f", {skipped} skipped" if skipped else ""))
    sys.exit(failed != 0)


main()
