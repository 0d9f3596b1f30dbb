# SPDX-License-Identifier: GPL-2.0-only
"""Judge the guest in which the module is misused, by its kernel log."""
import re

import complaints

MARK = re.compile(r"misuse: (begin|end|complete)\b ?(.*)")


def expectations(path):
    """The ways of misuse, each with its reports, what else has to be found, and the
    options of the kernel that it takes."""
    ways = {}
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith("\t"):
            way, *options = line.split()
            reports, others, _ = ways.setdefault(way, ([], [], options))
        elif line.startswith("\t+ "):
            others.append(line[3:])
        else:
            reports.append(line[1:])
    return ways


def lacking(run):
    """The options that the kernel of this run is without."""
    return complaints.read(run / "lacks").split()


def sections(text):
    """(way, status, lines) of each; way is None for what is outside of all."""
    way, lines, outside = None, [], []
    for line in text.splitlines():
        mark = MARK.search(line)
        if not mark:
            (lines if way else outside).append(line)
            continue
        if way:
            status = mark.group(2).split()[-1] if mark.group(1) == "end" else "cut off"
            yield way, status, lines
        way, lines = None, []
        if mark.group(1) == "begin":
            way = mark.group(2)
        elif mark.group(1) == "complete":
            yield "complete", mark.group(2), []
    if way:
        yield way, "cut off", lines
    yield None, None, outside


def wrong(reports, others, status, lines, is_report=complaints.complains):
    """What is wrong with a section, if anything."""
    found = [line for line in lines if is_report(line)]
    for line, report in zip(found, reports):
        if not re.search(report, line):
            return f"expected {report!r}, found {line!r}"
    if len(found) > len(reports):
        return f"unexpected: {found[len(reports)]!r}"
    if len(found) < len(reports):
        return f"not reported: {reports[len(found)]!r}"
    for other in others:
        if not any(re.search(other, line) for line in lines):
            return f"not found: {other!r}"
    if status != "0":
        return f"status {status}: " + " ".join(
            line for line in lines if "twheel_misuse: " in line)
    return None


def says(line):
    """What the module itself says is a report, too, but not that it taints."""
    return complaints.complains(line) or bool(re.search(r"\btwheel: ", line))


def in_order(lines):
    """With what a warning says before it, as where a trap raises warnings. Elsewhere, as on
    arm, it comes after."""
    lines = list(lines)
    for i, line in enumerate(lines[:-1]):
        if "WARNING: CPU: " in line and re.search(r"\btwheel: ", lines[i + 1]):
            lines[i:i + 2] = lines[i + 1], line
    return lines


def judge(verdict, run, expected):
    ways = expectations(expected)
    console = run / "console"
    lacks = lacking(run)
    for way in list(ways):
        missing = [option for option in ways[way][2] if option in lacks]
        if missing:
            del ways[way]
            verdict.skip(f"misuse.{way}", "the kernel lacks " + " ".join(missing))
    complete = False
    text = complaints.read(console)
    # Before its first program the kernel has not met the module: it may have been
    # kept waiting by a busy host, and say so.
    booted = text.find("Run /init")
    for way, status, lines in sections(text[max(booted, 0):]):
        if way == "complete":
            complete = status == "0"
        elif way is None:
            why = wrong([], [], "0", lines)
            verdict.test(not why, "misuse: nothing else is reported", why)
        else:
            expects = ways.pop(way, None)
            why = (wrong(*expects[:2], status, in_order(lines), says) if expects else
                   "is not expected at all")
            verdict.test(not why, f"misuse.{way}", why)
    for way in ways:
        verdict.fail(f"misuse.{way}", "has no result")
    verdict.test(complete, "misuse: the guest came to its end", f"see {console}")
