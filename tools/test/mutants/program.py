#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Mutants of a program: the engine, or core and API. See run.sh, which says how
by variables.
"""
import hashlib
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading

import mutate
import tally

WORK = os.environ["WORK"]
# The folders that it is built of.
PARTS = ("module", "kunit", "include", "tools/test/engine", "tools/test/library",
         "tools/test/simulation", "tools/test/interleave")
# Seconds of a CPU that a case may take: as many times what the longest takes, and more.
PATIENCE, LEAST = 4, 2
MEMORY = 2 << 30
# And all of them together.
WHOLE = 600
# How many cases that found the mutants before are tried first.
FINDERS = 6
# Those that a scene of the explorer may take, and how many triples it tries, as make
# interleave does.
SCENE, TRIPLES = 60, "60"
# Suites that take long: they come last, and sanitizers would see in them what they see in others.
LONG = os.environ.get("LONG", "").split()
# Set by a signal.
ended = threading.Event()


class Ended(Exception):
    """A signal has come: nothing is to be judged any more"""


class Program:
    """A program, built from a copy of the sources"""

    def __init__(self, name, sanitizers, like=None, sources="SOURCES"):
        self.folder = os.path.join(WORK, name)
        self.sanitizers = sanitizers
        self.sources = os.environ[sources].split()
        for part in PARTS if not like else ():
            shutil.copytree(part, os.path.join(self.folder, part))
        flags = os.environ["FLAGS"].replace(os.getcwd() + "/", self.folder + "/")
        # Code is compared with that of another folder.
        self.compile = ["gcc", f"-ffile-prefix-map={self.folder}=."] + flags.split() + [
            "-g0", "-O1", "-w", "-MMD"] + sanitizers
        self.patience = 600
        self.needs = {}
        # Cases that have found something, the latest first.
        self.finders = []
        self.planted = None
        if like:
            shutil.copytree(like.folder, self.folder)
            self.patience, self.needs = like.patience, like.needs

    def object(self, source):
        return os.path.join(self.folder, source + ".o")

    def readers(self, path):
        return [source for source in self.sources if path in self.needs[source]]

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

    def limit(self):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # What goes on for ever outside of a case.
        resource.setrlimit(resource.RLIMIT_CPU, (WHOLE, WHOLE))
        # The sanitizer maps more than there is.
        if not self.sanitizers:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def run(self, *case):
        command = [self.folder + "/program", *os.environ.get("ARGUMENTS", "").split()]
        more = {"KUNIT_PATIENCE": str(self.patience)}
        if not case:
            more["WITHOUT"] = " ".join(LONG)
        return subprocess.run([*command, *case], capture_output=True, text=True,
                              errors="replace", preexec_fn=self.limit,
                              env={**os.environ, **more})

    def prepare(self):
        """Build it as it is, and learn what each source reads"""
        said = self.build(self.sources)
        if said:
            sys.exit(said)
        for source in self.sources:
            with open(os.path.join(self.folder, source + ".d")) as file:
                read = re.findall(r"(\S+\.[ch])\b", file.read())
            self.needs[source] = {os.path.relpath(path, self.folder) for path in read}
        self.link()

    def measure(self):
        """Run all cases as it is, and learn how long one takes"""
        self.prepare()
        runs = [self.run(*part) for part in [()] + [(suite,) for suite in LONG]]
        for run in runs:
            if run.returncode:
                sys.exit(f"the program fails as it is:\n{run.stdout}{run.stderr}")
        took = [float(line.split()[2].strip("(")) for run in runs
                for line in run.stdout.splitlines() if line.startswith("ok ")]
        self.patience = LEAST + round(PATIENCE * max(took))

    def finder(self):
        """The case that fails, or None. Those which found the ones before go first."""
        by = next((case for case in self.finders if self.run(case).returncode), None)
        if not by:
            parts = [()] + [(suite,) for suite in LONG if not self.sanitizers]
            runs = (self.run(*part) for part in parts)
            run = next((run for run in runs if run.returncode), None)
            if not run:
                return None
            lines = [line.split() for line in run.stdout.splitlines()]
            # The name of a case that was ended has a colon after it.
            by = next((words[2].rstrip(":") for words in lines
                       if words[:2] == ["not", "ok"]), None)
            if not by:
                return f"after {lines[-1][1] if lines else 'nothing'}"
        self.finders = [by] + [case for case in self.finders if case != by][:FINDERS - 1]
        return by

    def plant(self, path, text):
        """Change a file. Returns what the compiler says, if that does not compile"""
        if self.planted not in (None, path):
            shutil.copyfile(self.planted, os.path.join(self.folder, self.planted))
            self.build(self.readers(self.planted))
        self.planted = path
        with open(os.path.join(self.folder, path), "w") as file:
            file.write(text)
        return self.build(self.readers(path))


class Explorer(Program):
    """The explorer of interleavings, which has scenes instead of cases"""

    def limit(self):
        super().limit()
        # A scene takes a second.
        resource.setrlimit(resource.RLIMIT_CPU, (SCENE, SCENE))

    def measure(self):
        self.prepare()
        scene = self.finder()
        if scene:
            sys.exit(f"the explorer fails as it is, in the scene {scene}")

    def finder(self):
        for scene in self.run().stdout.splitlines():
            if self.run(scene, TRIPLES).returncode:
                return scene
        return None


class Worker:
    """The program as it is, under sanitizers, and the explorer, if there is one"""

    locks = {}

    def __init__(self, number, like=None):
        self.plain = Program(f"plain-{number}", [], like and like.plain)
        self.sane = Program(f"sane-{number}", os.environ["SANITIZERS"].split(),
                            like and like.sane)
        self.explorer = None
        if "EXPLORER" in os.environ:
            self.explorer = Explorer(f"explorer-{number}", [], like and like.explorer,
                                     "EXPLORER")
        if not like:
            self.plain.measure()
            self.sane.measure()
            if self.explorer:
                self.explorer.measure()

    def finder(self, path, changed):
        """What finds a change, which is planted in the plain program; or None"""
        self.plain.link()
        by = self.plain.finder()
        if not by and self.explorer:
            self.explorer.plant(path, changed)
            self.explorer.link()
            by = self.explorer.finder()
        if not by:
            self.sane.plant(path, changed)
            self.sane.link()
            by = self.sane.finder()
            by = by and by + ", sanitized"
        return by

    def notices(self, mutant, source, tallied):
        """Whether something finds that the function of a mutant is left empty"""
        path, function = mutant.path, tally.function_of(source, mutant.start)
        with tallied.lock:
            alone = self.locks.setdefault((path, function), threading.Lock())
        with alone:
            if (path, function) not in tallied.empty:
                # What returns no number does not take one.
                for body in "{ return 0; }", "{ }":
                    changed = mutate.emptied(source, mutant.start, body)
                    if not self.plain.plant(path, changed):
                        break
                # What is compiled elsewhere only, as for debug objects, is the same either way.
                same = self.plain.code(path) == tallied.original[path]
                tallied.emptied(path, function, "not compiled" if same else
                                self.finder(path, changed))
            return not tallied.empty[path, function]

    def judge(self, mutant, source, tallied):
        if not self.notices(mutant, source, tallied):
            tallied.count(mutant, "elsewhere")
            return
        changed = mutate.applied(source, mutant)
        if self.plain.plant(mutant.path, changed):
            tallied.count(mutant, "does not compile")
            return
        code = self.plain.code(mutant.path)
        if not tallied.is_new(mutant, code):
            tallied.count(mutant, "same code", code)
            return
        by = self.finder(mutant.path, changed)
        tallied.count(mutant, "found" if by else "SURVIVED", code, by or "")


def judge_all(workers, items, judge):
    """Call judge(worker, item) for each, as many at a time as there are workers."""
    waiting = queue.Queue()
    for item in items:
        waiting.put(item)

    def work(worker):
        while not ended.is_set():
            try:
                judge(worker, waiting.get_nowait())
            except (queue.Empty, Ended):
                return

    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # A thread also ends with what it raises.
    if ended.is_set() or not waiting.empty():
        raise Ended


def until_ended(main):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        main()
    except Ended:
        sys.exit("cut off: run it again, and it goes on from its log")


def main():
    paths = sys.argv[1:]
    first = Worker(0)
    crew = [first] + [Worker(number, first)
                      for number in range(1, int(os.environ.get("JOBS", 1)))]
    tallied = tally.Tally(paths, os.environ["LOG"])
    sources, found = {}, []
    for path in paths:
        with open(path) as file:
            sources[path] = file.read()
        tallied.original[path] = first.plain.code(path)
        tallied.seen.add((path, tallied.original[path]))
        found += mutate.mutants(path, sources[path])
    chosen = mutate.sample(found)
    todo = [mutant for mutant in chosen if not tallied.is_done(mutant)]
    judge_all(crew, todo, lambda worker, mutant:
              worker.judge(mutant, sources[mutant.path], tallied))
    tallied.verdict(len(chosen) == len(found) and "ALL" in os.environ)


until_ended(main)
