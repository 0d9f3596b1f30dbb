#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge runs of the tests in guests.

usage: verdict.py [--built FILE] SOURCES MISUSED RUN...

SOURCES is the root of the sources. A RUN is a folder. Its file "results" is what the guest
wrote to its second serial port, "console" is its kernel log. "only" has the names of the
suites and programs that must have a result. "cpus" is how many CPUs the guest had. "lacks",
if it exists, has the options that its kernel is without. MISUSED, unless it is empty, is
the folder of a guest in which the module was misused. A suite or program without a result
has failed: its guest died or was ended. The last line is "N passed, N failed", with ", N
skipped" where some were; the status is 0 only if none failed. FILE tells of what was built
and checked outside of guests, in lines "STATUS NAME: CAUSE"; the status "-" is of what was
left out.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import complaints  # noqa: E402
import misuse  # noqa: E402

# A result in KTAP: of a case if it is indented, else of a suite or of a program's test.
RESULT = re.compile(r"(?P<indent> *)(?P<bad>not )?ok (?P<number>\d+)(?: -)? (?P<name>\S+)"
                    r"(?:.*# SKIP ?(?P<skipped>.*))?")


class Verdict:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.prefix = ""

    def ok(self, name):
        self.passed += 1

    def skip(self, name, why):
        self.skipped += 1
        print(f"skipped: {self.prefix}{name}: {why}")

    def fail(self, name, why=""):
        self.failed += 1
        print(f"FAILED: {self.prefix}{name}{': ' + why if why else ''}")

    def test(self, good, name, why=""):
        if good:
            self.ok(name)
        else:
            self.fail(name, why)


def expected_cases(sources):
    """Suites of the sources, each with its cases."""
    suites = {}
    for path in sorted((sources / "kunit").glob("*.c")):
        text = path.read_text()
        arrays = {
            array: re.findall(r"KUNIT_CASE(?:_SLOW)?\((\w+)\)", body)
            for array, body in re.findall(
                r"struct kunit_case (\w+)\[\] = \{(.*?)\n\};", text, re.S)}
        for body in re.findall(r"struct kunit_suite \w+ = \{(.*?)\n\};", text, re.S):
            name = re.search(r"\.name\s*=\s*\"(\w+)\"", body).group(1)
            cases = re.search(r"\.test_cases\s*=\s*(\w+)", body).group(1)
            suites[name] = arrays[cases]
    return suites


def expected_programs(sources):
    """Programs of the sources."""
    tests = sources / "tools/test"
    return ({path.stem for folder in ("device", "fuzz") for path in (tests / folder).iterdir()
             if re.fullmatch(r"(?!loop_)\w+_test\.(c|sh)", path.name)} |
            {line + "_32" for line in (tests / "device/compat").read_text().splitlines()
             if not line.startswith("#")})


def sections(text):
    """(mark, arguments, lines) of each marked section."""
    parts = ("suite", "program", "run", "leaks")
    kind, words, lines = None, [], []
    for line in text.splitlines():
        if not line.startswith("@"):
            lines.append(line)
            continue
        mark, *args = line[1:].split()
        if mark in ("end", "status"):
            yield kind, words + args, lines
            kind, lines = None, []
            continue
        if kind in parts:
            yield kind, words + ["cut off"], lines
        kind, words, lines = mark, args, []
        if mark not in parts:
            yield mark, args, []
    if kind in parts:
        yield kind, words + ["cut off"], lines


def judge_lines(verdict, where, lines, indent, cases=()):
    """Results of one suite or program. All of CASES must have one."""
    seen = []
    planned = None
    failed = verdict.failed
    for line in lines:
        plan = re.match(indent + r"1\.\.(\d+)$", line)
        if plan:
            planned = int(plan.group(1))
        result = RESULT.match(line)
        if not result or result["indent"] != indent:
            continue
        name = result["name"]
        seen.append(name)
        if int(result["number"]) != len(seen):
            verdict.fail(f"{where}.{name}", "out of sequence")
        elif result["bad"]:
            verdict.fail(f"{where}.{name}")
        elif result["skipped"] is not None:
            verdict.skip(f"{where}.{name}", result["skipped"])
        else:
            verdict.ok(f"{where}.{name}")
    if planned != len(seen):
        verdict.fail(where, f"{planned} tests were planned, {len(seen)} have a result")
    for case in set(cases) - set(seen):
        verdict.fail(f"{where}.{case}", "has no result")
    if verdict.failed > failed:
        for line in lines:
            if re.match(r"\s*#|not ok|\s+not ok", line):
                print("  | " + line.rstrip())


class Run:
    """What a guest did."""

    def __init__(self, verdict, sources, folder):
        self.verdict, self.folder = verdict, folder
        self.only = set((folder / "only").read_text().split())
        self.cpus = (folder / "cpus").read_text().strip()
        self.complete, self.stuck, self.took, self.seed = False, "", [], 1
        self.suites, self.programs = expected_cases(sources), expected_programs(sources)
        for name in self.only - set(self.suites) - self.programs:
            if name.partition(":")[0] != "example":
                verdict.fail(name, "there is no such suite or program")
        self.suites = {name: cases for name, cases in self.suites.items()
                       if name in self.only}
        self.programs &= self.only
        if "KUNIT" in misuse.lacking(folder):
            for name in self.suites:
                verdict.skip(name, "the kernel lacks KUNIT")
            self.suites = {}

    def judge(self):
        for kind, words, lines in sections(complaints.read(self.folder / "results")):
            getattr(self, "judge_" + kind, self.ignore)(words, lines)
        for name in sorted(self.suites) + sorted(self.programs):
            self.verdict.fail(name, "has no result")
        self.verdict.test(self.complete, "the guest came to its end",
                          f"{self.stuck or 'it died'}, see {self.folder / 'console'}")
        console = complaints.read(self.folder / "console").splitlines()
        # The results of suites are written when all of a module have ended.
        if not self.complete:
            for line in [line for line in console if "not ok " in line][:10] + console[-10:]:
                print("  | " + line)
        found = list(complaints.found(console))
        self.verdict.test(not found, "the kernel does not complain",
                          f"see {self.folder / 'console'}")
        for line in found[:10]:
            print("  | " + line)
        # Tasks of the fuzzer have the numbers of their programs.
        for program in sorted(set(re.findall(r"Comm: fuzz(\d+)", "\n".join(console)))):
            print(f"  | it ran: make fuzz SEED={self.seed} REPLAY={program}")

    def ignore(self, words, lines):
        pass

    def judge_complete(self, words, lines):
        self.complete = True

    def judge_begin(self, words, lines):
        self.verdict.prefix = f"with {words[1]} CPUs: "
        self.verdict.test(words[1] == self.cpus, "the guest has the CPUs that it was given",
                          f"{self.cpus} they were: was its kernel built for so many?")

    def judge_stuck(self, words, lines):
        self.stuck = " ".join(words)

    def judge_suite(self, words, lines):
        name = words[0]
        if name in self.suites and words[-1] != "cut off":
            judge_lines(self.verdict, name, lines, "    ", self.suites.pop(name))

    def judge_program(self, words, lines):
        name = words[0]
        failed = self.verdict.failed
        self.seed = max([self.seed] + [int(line[7:]) for line in lines
                                       if line.startswith("# SEED=")])
        self.programs.discard(name)
        judge_lines(self.verdict, name, lines, "")
        if words[-1] == "cut off":
            self.verdict.fail(name, "was running when the guest ended")
            return
        self.took.append((int(words[1]), name))
        if words[-1] != "0" and failed == self.verdict.failed:
            self.verdict.fail(name, f"ended with status {words[-1]}")

    def judge_run(self, words, lines):
        self.verdict.test(words[-1] == "0", " ".join(words[:-1]),
                          f"status {words[-1]}: " + " ".join(lines))

    def judge_leaks(self, words, lines):
        leaks = [line for line in lines if "unreferenced object" in line]
        self.verdict.test(not leaks, "no memory is leaked", f"{len(leaks)} objects")
        if leaks:
            print("\n".join("  | " + line for line in lines[:40]))


def main():
    verdict, words, took = Verdict(), sys.argv[1:], []
    if words[:1] == ["--built"]:
        for line in pathlib.Path(words[1]).read_text().splitlines():
            status, _, what = line.partition(" ")
            if status == "-":
                verdict.skip(*what.split(": ", 1))
            else:
                verdict.test(status == "0", *what.split(": ", 1))
        del words[:2]
    if len(words) < 2:
        sys.exit(__doc__)
    sources, misused = pathlib.Path(words[0]), words[1]
    for folder in words[2:]:
        verdict.prefix = ""
        run = Run(verdict, sources, pathlib.Path(folder))
        run.judge()
        took += run.took
    verdict.prefix = ""
    if misused:
        misuse.judge(verdict, pathlib.Path(misused),
                     sources / "tools/test/device/misuse/expected")
    if len(took) > 9:
        print("slowest: " + ", ".join(f"{name} {seconds:.0f} s"
                                      for seconds, name in sorted(took)[:-10:-1]))
    print(f"{verdict.passed} passed, {verdict.failed} failed"
          + (f", {verdict.skipped} skipped" if verdict.skipped else ""))
    sys.exit(verdict.failed != 0)


main()
