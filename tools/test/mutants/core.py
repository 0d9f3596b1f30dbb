#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Mutants of the core, run in user-mode Linux: see core.sh, which says how by variables."""
import hashlib
import os
import pathlib
import queue
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

import mutate
import tally

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../vm"))
import misuse  # noqa: E402

SOURCE = os.environ["SOURCE"]
KERNEL = os.environ["KERNEL"]
WORK = os.environ["WORK"]
# A guest that prints nothing hangs: after so many seconds of its CPUs, or of the clock.
# The longest case on real clocks keeps two CPUs busy for 15 s.
SPIN, SPIN_SMP, SLEEP = 10, 60, 90
# What no guest prints that works.
COMPLAINT = re.compile(r"\bnot ok |BUG:|WARNING: (?!suspicious RCU)|Kernel panic|ODEBUG"
                       r"|possible .* detected|bad unlock balance|mutant: cannot")
# With two CPUs this comes from Linux 7.2 itself, about once in thirty boots, when an idle
# CPU is interrupted. Such a guest judges nothing, and another is booted.
OF_ITSELF = re.compile(r"WARNING: (kernel/sched/|include/trace/)")
MODULES = ["module/twheel", "kunit/twheel_kunit", "kunit/twheel_kunit_smp"]
# The suites that get two CPUs.
SMP = "twheel_kunit_smp"
# The suite on real clocks that is about a file: it comes before all others.
FIRST = {
    "module/core/budget.h": "twheel_share",
    "module/core/server.c": "twheel_server",
    "module/core/user_budget.h": "twheel_share",
}
# What reaches a file beside the suites: programs, and misuse.
MORE = {
    "module/core/base.c": ["trace_test", "overload_test"],
    "module/core/base.h": ["trace_test", "overload_test"],
    "module/core/budget.h": ["overload_test"],
    "module/core/clock.c": ["overload_test"],
    "module/core/debug.c": ["misuse"],
    "module/core/pass.c": ["trace_test", "overload_test", "misuse"],
    "module/core/server.c": ["overload_test"],
    "module/core/trace.c": ["trace_test"],
    "module/core/trace.h": ["trace_test"],
    "module/core/user_budget.h": ["overload_test"],
}


# Set by a signal: guests, which are in sessions of their own, are to be ended.
ended = threading.Event()


class Ended(Exception):
    """A signal has come: nothing is to be judged any more"""


def command_of(path):
    """The command by which kbuild has made a file"""
    folder, name = os.path.split(path)
    with open(f"{folder}/.{name}.cmd") as file:
        return file.readline().split(" := ", 1)[1].strip()


def needs_of(path):
    """The sources of ours that an object is made of: their paths begin at our folder"""
    folder, name = os.path.split(path)
    with open(f"{folder}/.{name}.cmd") as file:
        paths = re.findall(r"^ *(?:\S+ := )?([a-z][\w/.]*\.[ch])\b", file.read(), re.M)
        return {os.path.normpath(path) for path in paths}


class Verdict:
    """What misuse.py finds"""

    def __init__(self):
        self.failed = None

    def test(self, good, what, why=""):
        if not good:
            self.fail(what, why)

    def fail(self, what, why=""):
        self.failed = self.failed or f"{what}: {why}"

    def skip(self, what, why):
        pass


class Tree:
    """The objects of the module and its suites, by name without the folder"""

    def __init__(self):
        self.objects = {}
        self.needs = {}
        for module in MODULES:
            with open(f"{SOURCE}/{module}.mod") as file:
                self.objects[module] = file.read().split()
            for name in self.objects[module]:
                self.needs[name] = needs_of(f"{SOURCE}/{name}")

    def readers(self, path):
        return [name for name in self.needs if path in self.needs[name]]


class Worker:
    """A copy of the sources, and a guest"""

    def __init__(self, tree, number):
        self.tree = tree
        self.folder = f"{WORK}/{number}"
        self.root = f"{WORK}/root-{number}"
        self.begun = False
        shutil.copytree(SOURCE, self.folder)
        shutil.copytree(os.environ["ROOT_FOLDER"], self.root)

    def make(self, path, *more):
        command = command_of(f"{SOURCE}/{path}")
        return subprocess.run(" ".join([command, *more]), shell=True, cwd=self.folder,
                              capture_output=True, check=False).returncode == 0

    def restore(self, name):
        shutil.copyfile(f"{SOURCE}/{name}", f"{self.folder}/{name}")

    def code(self, folder, names):
        seen = hashlib.sha256()
        for name in names:
            with open(f"{folder}/{name}", "rb") as file:
                seen.update(file.read())
        return seen.hexdigest()

    def judge(self, mutant, source, tallied, quick):
        """Returns true if it has to be judged again, and not only by what is quick"""
        names = self.tree.readers(mutant.path)
        with open(f"{self.folder}/{mutant.path}", "w") as file:
            file.write(mutate.applied(source, mutant))
        try:
            if not all(self.make(name, "-w") for name in names):
                tallied.count(mutant, "does not compile")
                return False
            code = self.code(self.folder, names)
            if quick and not tallied.is_new(mutant, code):
                tallied.count(mutant, "same code", code)
                return False
            self.install(names)
            by = self.quick_finder(mutant.path) if quick else self.finder(mutant.path)
        finally:
            for name in names + [mutant.path]:
                self.restore(name)
        if by:
            tallied.count(mutant, "found", code, by)
        elif not quick:
            tallied.survived(mutant, code)
        return not by and quick

    def install(self, names):
        """Have the next guests load modules with these objects"""
        for module in MODULES:
            if set(names) & set(self.tree.objects[module]):
                self.make(f"{module}.o")
                self.make(f"{module}.ko")
            else:
                self.restore(f"{module}.ko")
            shutil.copy(f"{self.folder}/{module}.ko", f"{self.root}/modules/")

    def quick_finder(self, path):
        by = self.run(SMP, FIRST[path]) if path in FIRST else None
        return by or self.run("twheel_kunit")

    def finder(self, path):
        by = None
        for what in [*MORE.get(path, []), SMP]:
            by = by or self.run(what)
        return by

    def run(self, what, suite="*"):
        """Run a module of suites, or a program. Returns what complains."""
        for _ in range(5):
            self.begun = False
            by = self.boot(what, suite)
            # A kernel that dies before its first program has not met the module; nor is
            # the module to blame for what is OF_ITSELF.
            if self.begun:
                break
        return by

    def boot(self, what, suite):
        guest = subprocess.Popen(
            [f"{KERNEL}/linux", "mem=256M", "root=host", "rootfstype=hostfs",
             f"rootflags={self.root}", "rw", "init=/init", "con=null", "con0=null,fd:1",
             "panic=-1", "ignore_loglevel", f"uml_dir={WORK}/", f"what={what}",
             "seccomp=on", f"ncpus={2 if what == SMP else 1}",
             f"kunit.filter_glob={suite}.*"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        try:
            return self.watch(guest, what)
        finally:
            try:
                os.killpg(guest.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            guest.wait()
            guest.stdout.close()

    def watch(self, guest, what):
        case, text, said = "", b"", []
        since, spent = time.monotonic(), 0
        while True:
            if ended.is_set():
                raise Ended
            if select.select([guest.stdout], [], [], 1)[0]:
                read = os.read(guest.stdout.fileno(), 1 << 16)
                if not read:
                    return f"{what}: ends after {case}"
                text += read
                since, spent = time.monotonic(), used(guest.pid)
            elif (used(guest.pid) - spent > (SPIN_SMP if what == SMP else SPIN)
                  or time.monotonic() - since > SLEEP):
                return f"{what}: hangs after {case}"
            *lines, text = text.split(b"\n")
            for line in lines:
                line = line.decode(errors="replace")
                self.begun |= "mutant: begin" in line
                said.append(re.sub(r"^<\d>", "", line.rstrip()))
                if OF_ITSELF.search(line):
                    self.begun = False
                    return f"{what}: {line}"
                if what != "misuse" and COMPLAINT.search(line):
                    return f"{what}: {' '.join(line.split())} after {case}"
                if "mutant: end" in line:
                    return self.misused(said) if what == "misuse" else None
                passed = re.search(r"\bok \d+ (?:- )?(\w+)", line)
                case = passed[1] if passed else case


    def misused(self, said):
        """Has each way of misuse been reported, and nothing else?"""
        said = said[next(i for i, line in enumerate(said) if "mutant: begin" in line):]
        # Here what a warning says comes after the line that it begins with elsewhere.
        for i, line in enumerate(said[:-1]):
            begins = re.match(r"WARNING: .* CPU#\d", line)
            if begins and not said[i + 1].startswith("Modules"):
                said[i:i + 2] = said[i + 1], line
        run = pathlib.Path(self.root)
        (run / "console").write_text("\n".join(said))
        verdict = Verdict()
        misuse.judge(verdict, run, pathlib.Path("tools/test/user/misuse/expected"))
        return verdict.failed and f"misuse: {verdict.failed}"


def used(pid):
    """Seconds of a CPU that a process has taken"""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except FileNotFoundError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def judge_all(workers, mutants, judge):
    """Have workers judge mutants. Returns those for which that returned true, in order."""
    waiting, again = queue.Queue(), set()
    for mutant in mutants:
        waiting.put(mutant)

    def work(worker):
        while True:
            try:
                mutant = waiting.get_nowait()
                if judge(worker, mutant):
                    again.add(mutant)
            except (queue.Empty, Ended):
                return

    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if ended.is_set():
        raise Ended
    return [mutant for mutant in mutants if mutant in again]


def main():
    paths = sys.argv[1:]
    tree = Tree()
    workers = [Worker(tree, number) for number in range(int(os.environ["JOBS"]))]
    for what in ["twheel_kunit", SMP, *sorted(set(sum(MORE.values(), [])))]:
        by = workers[0].run(what)
        if by:
            sys.exit(f"the module fails as it is: {by}")
    tallied = tally.Tally(paths, os.environ["LOG"],
                          ["module/core", "module/api", "module/engine", "include"])
    sources, found = {}, []
    for path in paths:
        with open(path) as file:
            sources[path] = file.read()
        tallied.seen.add((path, workers[0].code(SOURCE, tree.readers(path))))
        found += mutate.mutants(path, sources[path])
    chosen = mutate.sample(found)
    todo = [mutant for mutant in chosen if not tallied.is_done(mutant)]
    # First all with what is quick. What that finds is found, however early this ends.
    for quick in True, False:
        todo = judge_all(workers, todo, lambda worker, mutant, quick=quick:
                         worker.judge(mutant, sources[mutant.path], tallied, quick))
        if quick:
            print(f"  {len(todo)} mutants survive what is quick", file=sys.stderr)
    tallied.verdict(len(chosen) == len(found))


for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: ended.set())
try:
    main()
except Ended:
    sys.exit("cut off: run it again, and it goes on from its log")
