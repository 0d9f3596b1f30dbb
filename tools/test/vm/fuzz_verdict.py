#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge what guests that fuzz have left.

usage: fuzz_verdict.py WORK [--module TWHEEL.KO] RUN...
           the figures; the last line is "N passed, N failed"
       fuzz_verdict.py WORK --finder RUN     what has found a fault; 1 if nothing has,
                                             2 if nothing has been tried
       fuzz_verdict.py WORK --found FOLDER RUN...   keep the inputs found
       fuzz_verdict.py WORK --merge FOLDER --module TWHEEL.KO RUN   ... and no others
       fuzz_verdict.py WORK --count RUN...   how many calls were made

RUN is a folder in WORK: "results" is what the guest wrote to its second serial port,
"console" its kernel log, "last" the programs that were running when it died.
"""
import argparse
import bisect
import collections
import pathlib
import re
import subprocess
import sys

COMPLAINTS = re.compile(
    r"BUG:|WARNING:|Oops|KASAN|UBSAN|[Kk]ernel panic|general protection"
    r"|possible recursive locking|possible circular locking|inconsistent lock state"
    r"|suspicious RCU|ODEBUG|list_add corruption|list_del corruption|blocked for more"
    r"|rcu: INFO|soft lockup|hard LOCKUP|was never destroyed"
    r"|scheduling while atomic|sleeping function called")

# A fuzzer that covers less of the module, in per cent, has not worked.
LEAST_COVERED = 40


class Run:
    """What a guest has said."""

    def __init__(self, folder):
        self.folder = folder
        self.failures, self.inputs, self.leaks, self.errors = [], {}, [], []
        self.places, self.base = [], 0
        self.figures, self.kinds, self.release = {}, "", "?"
        self.begun = self.over = self.complete = False
        results = folder / "results"
        text = results.read_text(errors="replace") if results.exists() else ""
        part, lines = None, []
        for line in text.replace("\r", "").splitlines():
            if not line.startswith("@"):
                (lines if part else self.errors).append(line)
                continue
            mark, _, rest = line[1:].partition(" ")
            if mark == "end":
                self.end(part, lines)
                part = None
            elif mark in ("failure", "found", "input", "places", "leaks", "kinds"):
                part, lines = (mark, rest), []
            elif mark == "figures":
                self.figures = {k: int(v) for k, v in
                                (word.split("=") for word in rest.split())}
            elif mark == "begin":
                self.begun = True
                self.release = rest.split()[0]
            elif mark == "over":
                self.over = True
            elif mark == "complete":
                self.complete = True
        if part and part[0] == "found":
            self.end(("failure", part[1]), lines)
        console = folder / "console"
        log = console.read_text(errors="replace") if console.exists() else ""
        self.complaints = [line for line in log.splitlines()
                           if COMPLAINTS.search(line)]

    def end(self, part, lines):
        if not part:
            return
        mark, rest = part
        if mark == "failure":
            self.failures.append((rest, lines))
        elif mark == "input":
            self.inputs[rest] = lines
        elif mark == "places":
            self.base = int(rest, 16)
            self.places = [int(line, 16) for line in lines]
        elif mark == "leaks":
            self.leaks = [line for line in lines if "unreferenced object" in line]
        elif mark == "kinds":
            self.kinds = rest

    def finder(self):
        """The first thing that is wrong since it has begun, or None."""
        if self.failures:
            return self.failures[0][0]
        if self.complaints:
            return re.sub(r"^\[ *[\d.]+\] *(\[[^]]*\])?", "", self.complaints[0]).strip()
        if self.leaks:
            return f"{len(self.leaks)} objects are leaked"
        return None if self.over and self.complete else "the guest hangs"


def tell(found):
    """Where a module says that it is covered, and in which functions."""
    places, function = [], "?"
    functions = collections.defaultdict(list)
    address = 0
    for line in found.splitlines():
        if match := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            function = match.group(1)
        elif match := re.match(r" +([0-9a-f]+):\t", line):
            address = int(match.group(1), 16)
            if "__sanitizer_cov_trace_pc" in line:
                functions[function].append(address)
                places.append(address)
        elif "__sanitizer_cov_trace_pc" in line:
            # A relocation: of the call at the address before it.
            functions[function].append(address)
            places.append(address)
    return places, functions


def coverage(module, runs, verbose):
    """Prints what share of the module was covered; returns it in per cent."""
    found = subprocess.run(["objdump", "-dr", "-j", ".text", module], text=True,
                           capture_output=True, check=True).stdout
    places, functions = tell(found)
    places = sorted(set(places))
    covered = set()
    for run in runs:
        for address in run.places:
            # KCOV tells where the call returns to, five bytes after it.
            i = bisect.bisect_right(places, address - run.base - 1) - 1
            if i >= 0 and address - run.base - places[i] <= 5:
                covered.add(places[i])
    entered = [f for f, at in functions.items() if covered.intersection(at)]
    if not places:
        return 0
    share = 100 * len(covered) // len(places)
    print(f"Coverage in system calls: {len(covered)} of {len(places)} places of the "
          f"module ({share} %), {len(entered)} of {len(functions)} functions.")
    if verbose:
        with open(verbose, "w") as file:
            for function, at in sorted(functions.items()):
                n = len(covered.intersection(at))
                file.write(f"{n:4} of {len(set(at)):4} {function}\n")
    return share


def judge(runs, module, work):
    passed = failed = 0

    def test(good, what):
        nonlocal passed, failed
        if good:
            passed += 1
        else:
            failed += 1
            print(f"FAILED: {what}")

    for run in runs:
        f = collections.defaultdict(int, run.figures)
        name = run.folder.name
        print(f"{name}, Linux {run.release}: {f['calls']} calls in {f['programs']} "
              f"programs, {f['operations']} operations in batches, {f['events']} "
              f"events; {f['seconds']} s; corpus {f['corpus']}, {f['new']} new")
        if run.kinds:
            print(f"  {run.kinds}")
        test(run.over and run.complete,
             f"{name}: the guest came to its end, see {run.folder}/console"
             + (f" and {run.folder}/last" if (run.folder / "last").exists() else ""))
        for line in run.errors:
            if "fuzz:" in line:
                print(f"  | {line}")
        test(f["calls"] > 0, f"{name}: calls were made")
        test(not run.complaints,
             f"{name}: the kernel does not complain, see {run.folder}/console")
        for line in run.complaints[:5]:
            print(f"  | {line}")
        test(not run.leaks, f"{name}: no memory is leaked, see {run.folder}/results")
        test(not run.failures, f"{name}: every answer is as twheel(4) says")
        for i, (wrong, lines) in enumerate(run.failures):
            path = run.folder / f"failure-{i}"
            path.write_text(f"# {wrong}\n" + "\n".join(lines) + "\n")
            print(f"  | {wrong}: make fuzz REPLAY={path}")
    guided = [run for run in runs if run.places]
    if guided and module:
        share = coverage(module, guided, work / "functions")
        test(share >= LEAST_COVERED or guided[0].folder.name == "replay",
             f"{LEAST_COVERED} % of the module are covered")
    print(f"{passed} passed, {failed} failed")
    return failed


def keep(runs, folder):
    folder.mkdir(exist_ok=True)
    for run in runs:
        for name, lines in run.inputs.items():
            (folder / name).write_text("\n".join(lines) + "\n")


def renew(run, folder):
    """The kept corpus becomes what a run has printed."""
    if not run.complete or not run.inputs:
        sys.exit("the guest has not come to its end: the corpus stays as it was")
    comments = {path.name: [line for line in path.read_text().splitlines()
                            if line.startswith("#")] for path in folder.iterdir()}
    for path in folder.iterdir():
        path.unlink()
    for name, lines in run.inputs.items():
        head = comments.get(name) or ["# SPDX-License-Identifier: GPL-2.0-only"]
        (folder / name).write_text("\n".join(head + lines) + "\n")
    print(f"{len(run.inputs)} programs are kept")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--module")
    parser.add_argument("--finder", action="store_true")
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--found", type=pathlib.Path)
    parser.add_argument("--merge", type=pathlib.Path)
    parser.add_argument("runs", nargs="*")
    args = parser.parse_intermixed_args()
    runs = [Run(args.work / name) for name in args.runs]
    if args.count:
        print(sum(run.figures.get("calls", 0) for run in runs))
    elif args.finder:
        if not runs[0].begun:
            print("the guest does not come so far as to fuzz")
            sys.exit(2)
        finder = runs[0].finder()
        print(finder or "nothing is wrong")
        sys.exit(finder is None)
    elif args.found:
        keep(runs, args.found)
    else:
        if args.merge:
            renew(runs[0], args.merge)
        sys.exit(judge(runs, args.module, args.work) != 0)


main()
