#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Mutants of core and API, run in user-mode Linux: see core.sh and guest.py.

With ONE_CPU, only finds what the quick suites find, and gives no verdict.
"""
import os
import sys

import guest
import mutate
import tally

# What reaches a file beside the suites: programs, and misuse.
MORE = {
    "module/core/debug.c": ["misuse"],
    "module/core/pass.c": ["misuse"],
    "module/api/arm.c": ["misuse"],
    "module/api/cancel.c": ["misuse"],
    "module/api/instance.c": ["misuse"],
    "module/api/timer.c": ["misuse"],
}
# A busy machine decides: the guest's other tasks wake up the CPU that has to stay idle.
UNSURE = ("idle_cpu_is_left_alone", "twheel_home")
ONE_CPU = bool(os.environ.get("ONE_CPU"))


class Worker(guest.Worker):
    """A copy in which mutants are planted"""

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
                # With one CPU, much is the same that is not with two.
                if not ONE_CPU:
                    tallied.count(mutant, "same code", code)
                return False
            self.place(names)
            by = self.run(guest.VIRTUAL) if quick else self.finder(mutant.path)
        finally:
            for name in names + [mutant.path]:
                self.restore(name)
        if by:
            tallied.count(mutant, "found", code, by)
        elif not quick:
            tallied.survived(mutant, code)
        return not by and quick

    def finder(self, path):
        by = None
        for what in [*MORE.get(path, []), guest.SMP]:
            by = by or self.run(what, tolerated=UNSURE)
        return by


def main():
    paths = sys.argv[1:]
    tree = guest.Tree()
    workers = [Worker(tree, number) for number in range(int(os.environ["JOBS"]))]
    more = [] if ONE_CPU else [guest.SMP, *sorted(set(sum(MORE.values(), [])))]
    for what in [guest.VIRTUAL, *more]:
        by = workers[0].run(what, tolerated=UNSURE)
        if by:
            sys.exit(f"the module fails as it is: {by}")
    tallied = tally.Tally(paths, os.environ["LOG"])
    sources, found = {}, []
    for path in paths:
        with open(path) as file:
            sources[path] = file.read()
        tallied.seen.add((path, workers[0].code(guest.SOURCE, tree.readers(path))))
        found += mutate.mutants(path, sources[path])
    chosen = mutate.sample(found)
    todo = [mutant for mutant in chosen if not tallied.is_done(mutant)]
    # First all with what is quick. What that finds is found, however early this ends.
    for quick in [True] if ONE_CPU else [True, False]:
        todo = guest.judge_all(
            workers, todo, lambda worker, mutant, quick=quick:
            worker.judge(mutant, sources[mutant.path], tallied, quick))
        if quick:
            print(f"  {len(todo)} mutants survive what is quick", file=sys.stderr)
    if not ONE_CPU:
        tallied.verdict(len(chosen) == len(found))


guest.until_ended(main)
