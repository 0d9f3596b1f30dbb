#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Mutants of the engine, run as a program: see engine.sh, which says how by variables."""
import hashlib
import os
import resource
import shutil
import subprocess
import sys

import mutate
import tally

WORK = os.environ["WORK"]
# Seconds of a CPU that a case may take: as many times what it takes, and at least so many.
PATIENCE, LEAST = 10, 2
MEMORY = 2 << 30


class Program:
    """The engine's program, built from a copy of the sources"""

    def __init__(self, name, sanitizers):
        self.folder = os.path.join(WORK, name)
        self.sanitizers = sanitizers
        self.sources = os.environ["SOURCES"].split()
        for part in ("module", "kunit", "include", "tools/test/engine",
                     "tools/test/native"):
            shutil.copytree(part, os.path.join(self.folder, part))
        flags = os.environ["FLAGS"].replace(os.getcwd() + "/", self.folder + "/")
        self.compile = ["gcc"] + flags.split() + ["-g0", "-O1", "-w"] + sanitizers
        self.times = {}
        self.last = None

    def object(self, source):
        return os.path.join(self.folder, source + ".o")

    def readers(self, path):
        """The sources that see a file of the engine. All include its header."""
        return [source for source in self.sources
                if source == path or path.endswith(".h")]

    def build(self, sources):
        """Returns what the compiler says, if it does not compile"""
        for source in sources:
            run = subprocess.run(self.compile + ["-c", "-o", self.object(source),
                                 os.path.join(self.folder, source)],
                                 capture_output=True, text=True)
            if run.returncode:
                return run.stderr
        return ""

    def code(self, path):
        seen = hashlib.sha256()
        for source in self.readers(path):
            with open(self.object(source), "rb") as file:
                seen.update(file.read())
        return seen.hexdigest()

    def link(self):
        subprocess.run(["gcc", os.environ["WRAP"]] + self.sanitizers +
                       ["-o", self.folder + "/program"] +
                       [self.object(source) for source in self.sources], check=True)

    def limit(self, seconds):
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # The sanitizer maps more than there is.
        if not self.sanitizers:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def run(self, case=None, seconds=600):
        corpus = os.path.join(self.folder, "tools/test/engine/corpus")
        command = [self.folder + "/program", corpus] + ([case] if case else [])
        return subprocess.run(command, capture_output=True, text=True, errors="replace",
                              preexec_fn=lambda: self.limit(seconds))

    def measure(self):
        """Run all cases of the engine as it is, and learn how long they take"""
        said = self.build(self.sources)
        if said:
            sys.exit(said)
        self.link()
        run = self.run()
        if run.returncode:
            sys.exit(f"the engine fails as it is:\n{run.stdout}{run.stderr}")
        for line in run.stdout.splitlines():
            if line.startswith("ok "):
                name, took = line.split()[1:3]
                self.times[name] = float(took.strip("("))

    def finder(self):
        """The case that fails, or None. That which found the one before goes first."""
        for case in sorted(self.times, key=lambda name: (name != self.last,
                                                         self.times[name])):
            seconds = LEAST + round(PATIENCE * self.times[case])
            if self.run(case, seconds).returncode:
                self.last = case
                return case
        return None

    def put(self, path, text):
        with open(os.path.join(self.folder, path), "w") as file:
            file.write(text)


def judge(mutant, source, plain, sane, tallied):
    changed = mutate.applied(source, mutant)
    plain.put(mutant.path, changed)
    if plain.build(plain.readers(mutant.path)):
        tallied.count(mutant, "does not compile")
        return
    code = plain.code(mutant.path)
    if not tallied.is_new(mutant, code):
        tallied.count(mutant, "same code", code)
        return
    plain.link()
    by = plain.finder()
    if not by:
        sane.put(mutant.path, changed)
        sane.build(sane.readers(mutant.path))
        sane.link()
        by = sane.finder()
        by = by and by + ", sanitized"
        sane.put(mutant.path, source)
        sane.build(sane.readers(mutant.path))
    if by:
        tallied.count(mutant, "found", code, by)
    else:
        tallied.survived(mutant, code)


def main():
    paths = sys.argv[1:]
    plain = Program("plain", [])
    sane = Program("sane", os.environ["SANITIZERS"].split())
    plain.measure()
    sane.measure()
    tallied = tally.Tally(paths, os.environ["LOG"])
    sources, found = {}, []
    for path in paths:
        with open(path) as file:
            sources[path] = file.read()
        tallied.seen.add((path, plain.code(path)))
        found += mutate.mutants(path, sources[path])
    chosen = mutate.sample(found)
    for path in paths:
        for mutant in chosen:
            if mutant.path == path and not tallied.is_done(mutant):
                judge(mutant, sources[path], plain, sane, tallied)
        plain.put(path, sources[path])
        plain.build(plain.readers(path))
    tallied.verdict(len(chosen) == len(found))


main()
