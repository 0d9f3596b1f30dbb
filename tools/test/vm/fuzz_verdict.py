#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge what guests that fuzz have left.

usage: fuzz_verdict.py WORK RUN...            the figures; the last line is
                                              "N passed, N failed"
       fuzz_verdict.py WORK --count RUN...    how many calls were made

RUN is a folder in WORK: "results" is what the guest wrote to its second serial port,
"console" its kernel log.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import complaints  # noqa: E402


class Run:
    """What a guest has said."""

    def __init__(self, folder):
        text = complaints.read(folder / "results")
        console = complaints.read(folder / "console").splitlines()
        self.folder = folder
        self.begun = re.search(r"^@begin (\S+)", text, re.M)
        self.over = "@over" in text and "@complete" in text
        self.failures = re.findall(r"^@failure (\S+) (.*)\n((?:\|.*\n)*)", text, re.M)
        self.errors = re.findall(r"^# (fuzz: .*)$", text, re.M)
        self.leaks = text.count("unreferenced object")
        self.complaints = list(complaints.found(console))
        self.figures = {key: int(value) for line in re.findall("^@figures (.*)$", text, re.M)
                        for key, value in re.findall(r"(\w+)=(\d+)", line)}
        # The task that the kernel complains of has the number of its program.
        self.programs = sorted({match for line in console
                                for match in re.findall(r"\bComm: fuzz(\d+)\b", line)})


def judge(runs):
    passed = failed = 0
    for run in runs:
        name, figures = run.folder.name, run.figures
        print(f"{name}, Linux {run.begun.group(1) if run.begun else '?'}: "
              + ", ".join(f"{value} {key}" for key, value in figures.items()))
        for good, what in (
                (run.over and not run.errors, "the guest came to its end"),
                (figures.get("calls"), "calls were made"),
                (not run.complaints, "the kernel does not complain"),
                (not run.leaks, "no memory is leaked"),
                (not run.failures, "every answer is as twheel(4) says")):
            passed += bool(good)
            failed += not good
            if not good:
                print(f"FAILED: {name}: {what}, see {run.folder}")
        for line in run.errors + run.complaints[:5]:
            print(f"  | {line}")
        for program in run.programs:
            print(f"  | it ran: make fuzz REPLAY={program}")
        for program, wrong, calls in run.failures:
            print(f"  | {wrong}: make fuzz REPLAY={program}\n{calls}", end="")
    print(f"{passed} passed, {failed} failed")
    return failed


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    runs = [Run(pathlib.Path(sys.argv[1]) / name) for name in sys.argv[2:]
            if not name.startswith("--")]
    if "--count" in sys.argv:
        print(sum(run.figures.get("calls", 0) for run in runs))
    else:
        sys.exit(judge(runs) != 0)


main()
