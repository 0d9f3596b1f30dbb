#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge runs of the tests in guests.

usage: verdict.py SOURCES MISUSED RUN...

SOURCES is the root of the sources. A RUN is a folder: "results" is what the guest
wrote to its second serial port, "console" its kernel log, "only" the names of those
suites and programs that have to have a result, or the words "suites" and "programs" for
every one that stands in the sources, "cpus" how many CPUs it was given, and "lacks", if
there, the options that its kernel is without. MISUSED, unless it is empty, is the folder
of a guest in which the module was misused. The last line printed is "N passed, N failed",
with ", N skipped" where some were; the status is 0 only if none failed.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import complaints  # noqa: E402
import misuse  # noqa: E402


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
    tests = sources / "tools/test/user"
    compat = {line + "_32" for line in (tests / "compat").read_text().splitlines()
              if not line.startswith("#")}
    return compat | {p.stem for suffix in ("c", "sh")
                     for p in tests.glob("*_test." + suffix)}


def sections(text):
    """(mark, arguments, lines) of each marked section."""
    kind, words, lines = None, [], []
    for line in text.splitlines():
        if line.startswith("@"):
            mark, *args = line[1:].split()
            if mark in ("end", "status"):
                yield kind, words + args, lines
                kind, lines = None, []
            else:
                if kind in ("suite", "program", "run", "leaks"):
                    yield kind, words + ["cut off"], lines
                kind, words, lines = mark, args, []
                if mark in ("begin", "complete"):
                    yield mark, args, []
        else:
            lines.append(line)
    if kind in ("suite", "program", "run", "leaks"):
        yield kind, words + ["cut off"], lines


def judge_lines(verdict, where, lines, indent):
    """Results of one suite or program. Returns the names that have one."""
    seen = []
    planned = None
    failed = verdict.failed
    for line in lines:
        plan = re.match(indent + r"1\.\.(\d+)$", line)
        if plan:
            planned = int(plan.group(1))
        result = re.match(indent + r"(not )?ok (\d+)(?: -)? (\S+)(?:.*# SKIP ?(.*))?", line)
        if not result:
            continue
        bad, number, name, skipped = result.groups()
        seen.append(name)
        if int(number) != len(seen):
            verdict.fail(f"{where}.{name}", "out of sequence")
        elif bad:
            verdict.fail(f"{where}.{name}")
        elif skipped is not None:
            verdict.skip(f"{where}.{name}", skipped)
        else:
            verdict.ok(f"{where}.{name}")
    if planned != len(seen):
        verdict.fail(where, f"{planned} tests were planned, {len(seen)} have a result")
    if verdict.failed > failed:
        for line in lines:
            if re.match(r"\s*#|not ok|\s+not ok", line):
                print("  | " + line.rstrip())
    return seen


def judge_run(verdict, sources, run):
    """What a guest did."""
    results, console = run / "results", run / "console"
    only = set((run / "only").read_text().split())
    cpus = (run / "cpus").read_text().strip()
    lacks = misuse.lacking(run)
    suites = expected_cases(sources)
    programs = expected_programs(sources)
    for name in only - set(suites) - programs - {"suites", "programs", "example"}:
        verdict.fail(name, "there is no such suite or program")
    if "suites" not in only:
        suites = {name: suites[name] for name in suites if name in only}
    if "programs" not in only:
        programs &= only
    if "KUNIT" in lacks:
        for name in suites:
            verdict.skip(name, "the kernel lacks KUNIT")
        suites = {}

    text = results.read_text(errors="replace").replace("\r", "") if results.exists() else ""
    complete = False
    took = []
    for kind, words, lines in sections(text):
        where = words[0] if words else kind
        if kind == "complete":
            complete = True
        elif kind == "begin":
            verdict.prefix = f"with {words[1]} CPUs: "
            verdict.test(words[1] == cpus, "the guest has the CPUs that it was given",
                         f"{cpus} they were: was its kernel built for so many?")
        elif kind == "suite":
            if "suites" not in only and where not in only:
                continue
            seen = judge_lines(verdict, where, lines, r"    ")
            for case in suites.pop(where, []):
                if case not in seen:
                    verdict.fail(f"{where}.{case}", "has no result")
        elif kind == "program":
            failed = verdict.failed
            judge_lines(verdict, where, lines, "")
            programs.discard(where)
            if len(words) == 3:
                took.append((int(words[1]), where))
            if words[-1] != "0" and failed == verdict.failed:
                verdict.fail(where, f"ended with status {words[-1]}")
        elif kind == "run":
            verdict.test(words[-1] == "0", " ".join(words[:-1]),
                         f"status {words[-1]}: " + " ".join(lines))
        elif kind == "leaks":
            leaks = [line for line in lines if "unreferenced object" in line]
            verdict.test(not leaks, "no memory is leaked", f"{len(leaks)} objects")
            if leaks:
                print("\n".join("  | " + line for line in lines[:40]))
    for name in sorted(suites):
        verdict.fail(name, "the suite has no result")
    for name in sorted(programs):
        verdict.fail(name, "the program has no result")
    verdict.test(complete, "the guest came to its end", f"see {console}")

    if len(took) > 3:
        print("slowest: " + ", ".join(f"{name} {seconds} s"
                                      for seconds, name in sorted(took)[:-4:-1]))

    log = console.read_text(errors="replace") if console.exists() else ""
    found = list(complaints.found(log.splitlines()))
    verdict.test(not found, "the kernel does not complain", f"see {console}")
    for line in found[:10]:
        print("  | " + line)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sources, misused = pathlib.Path(sys.argv[1]), sys.argv[2]
    verdict = Verdict()
    for run in sys.argv[3:]:
        verdict.prefix = ""
        judge_run(verdict, sources, pathlib.Path(run))
    verdict.prefix = ""
    if misused:
        misuse.judge(verdict, pathlib.Path(misused),
                     sources / "tools/test/user/misuse/expected")
    print(f"{verdict.passed} passed, {verdict.failed} failed"
          + (f", {verdict.skipped} skipped" if verdict.skipped else ""))
    sys.exit(verdict.failed != 0)


main()
