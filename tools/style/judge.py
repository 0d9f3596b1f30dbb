#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a check says, less the exceptions: judge.py EXCEPTIONS [TYPE] < FINDINGS

A finding is a line of checkpatch --terse --show-types, or of names.py. Prints those that
no exception covers, and exceptions that cover nothing; the status is 0 only if there are
none. With TYPE, only exceptions of that type count, and without it all but BARE_NAME. TYPE may
be "some": not all files were checked, so an exception may cover nothing.
"""
import fnmatch
import re
import sys

FINDING = re.compile(r"(?P<path>[^:]+):(?P<line>\d+): \w+:(?P<type>\w+): (?P<what>.*)")


class Allowed:
    def __init__(self, number, line):
        self.number = number
        self.type, self.paths, pattern = line.split("\t")
        self.pattern = re.compile(pattern)
        self.used = False

    def covers(self, finding, text):
        hit = (self.type == finding["type"] and
               fnmatch.fnmatch(finding["path"], self.paths) and
               self.pattern.search(text))
        self.used |= bool(hit)
        return hit


def source(finding, files={}):
    """The line that a finding is about; several, where a macro goes on"""
    path = finding["path"]
    if path not in files:
        with open(path) as file:
            files[path] = file.read().splitlines()
    return files[path][int(finding["line"]) - 1]


def main():
    with open(sys.argv[1]) as file:
        exceptions = [Allowed(number, line.rstrip("\n"))
                      for number, line in enumerate(file, 1)
                      if line.strip() and not line.startswith("#")]
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    some = wanted == "some"
    wanted = "" if some else wanted
    exceptions = [exception for exception in exceptions
                  if (exception.type == (wanted or "BARE_NAME")) == bool(wanted)]
    bad = 0
    for line in sys.stdin:
        finding = FINDING.match(line)
        if not finding:
            continue
        text = source(finding)
        # All of them: each is to know that it is needed.
        if not any([exception.covers(finding, text) for exception in exceptions]):
            print(f"{line.rstrip()}\n    {text.strip()}")
            bad += 1
    for exception in exceptions:
        if not exception.used and not some:
            print(f"{sys.argv[1]}:{exception.number}: nothing needs this exception")
            bad += 1
    sys.exit(bad != 0)


main()
