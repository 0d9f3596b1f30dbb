# SPDX-License-Identifier: GPL-2.0-only
"""Read what a guest has written: results on its second serial port, and its console."""
import re

# A result in KTAP: of a case if it is indented, else of a suite or of a program's test.
RESULT = re.compile(r"(?:\[ *(?P<time>[\d.]+)\] )?(?P<indent> *)(?P<bad>not )?ok (?P<number>\d+)"
                    r"(?: -)? (?P<name>\S+)(?:.*# SKIP ?(?P<skipped>.*))?")
SUBTEST = re.compile(r"(?:\[ *(?P<time>[\d.]+)\] )?    # Subtest: (?P<name>\S+)")
TIMESTAMP = re.compile(r"^\[ *[\d.]+\] ")


def read(path):
    return path.read_text(errors="replace").replace("\r", "") if path.exists() else ""


def suites_on(console):
    """What a console has of suites: (name, lines, seconds of each case) of each"""
    name, lines, took, last = None, [], {}, None
    for line in console.splitlines():
        subtest = SUBTEST.match(line)
        if subtest:
            if name:
                yield name, lines, took
            name, lines, took = subtest["name"], [], {}
            last = subtest["time"]
            continue
        result = name and RESULT.match(line)
        if not result:
            continue
        if not result["indent"]:
            yield name, lines, took
            name = None
        elif len(result["indent"]) == 4:
            lines.append(TIMESTAMP.sub("", line))
            if last and result["time"]:
                took[result["name"]] = float(result["time"]) - float(last)
            last = result["time"]
    if name:
        yield name, lines, took


class Progress:
    """How far a guest has come: what it is doing, how many have passed and failed"""

    def __init__(self, results, console):
        self.where, self.last, self.passed, self.failed = "booting", "", 0, 0
        inside = None
        for line in results.splitlines():
            if line.startswith("@"):
                inside, _, rest = line[1:].partition(" ")
                if inside in ("program", "run", "scenario"):
                    self.where, self.last = rest, ""
                elif inside == "leaks":
                    self.where, self.last = "looking for leaks", ""
                elif inside in ("complete", "over"):
                    self.where, self.last = "ending", ""
            elif inside == "program":
                self.count(RESULT.match(line), "")
        before, last = self.where, self.last
        for suite, lines, _ in suites_on(console):
            self.where, self.last = suite, ""
            for line in lines:
                self.count(RESULT.match(line), "    ")
        if before != "booting" and "twheel_kunit" not in before:
            self.where, self.last = before, last
        for kind, way in re.findall(r"misuse: (begin|end|complete)\b ?([a-z]\w*)?", console):
            self.where = f"misuse.{way}" if way else "ending"
            self.passed += kind == "end"

    def count(self, result, indent):
        if not result or result["indent"] != indent:
            return
        self.last = result["name"]
        if result["bad"]:
            self.failed += 1
        else:
            self.passed += 1

    def __str__(self):
        return self.where + (f", after {self.last}" if self.last else "")
