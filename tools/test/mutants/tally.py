# SPDX-License-Identifier: GPL-2.0-only
"""What became of mutants.

A mutant counts if it compiles, and if its code differs from the original's and from that
of all others of its file. One that no test finds is a failure, unless the list of
survivors has it: file, line, line as it was changed, and the reason why no test can find
it or ought to, divided by tabs. A reason that is not needed any more is a failure, too.
"""
import collections
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Tally:
    def __init__(self, paths, log):
        self.paths = paths
        self.log = open(log, "w")
        self.counts = {path: collections.Counter() for path in paths}
        self.reasons = {}
        self.needed = set()
        self.shown = time.monotonic()
        with open(os.path.join(HERE, "survivors")) as file:
            for row in file:
                if row.strip() and not row.startswith("#"):
                    path, before, after, reason = row.rstrip("\n").split("\t")
                    self.reasons[path, before, after] = reason

    def count(self, mutant, what, by=""):
        self.counts[mutant.path][what] += 1
        print(f"{what}\t{mutant.path}:{mutant.line}\t{mutant.kind}\t{mutant.before}\t"
              f"{mutant.after}\t{by}", file=self.log, flush=True)
        if time.monotonic() - self.shown > 60:
            self.shown = time.monotonic()
            done = sum(sum(count.values()) for count in self.counts.values())
            print(f"  {done} mutants, at {mutant.path}:{mutant.line}", file=sys.stderr)

    def uncompiled(self, mutant):
        self.count(mutant, "does not compile")

    def same(self, mutant):
        self.count(mutant, "same code")

    def found(self, mutant, by):
        self.count(mutant, "found", by)

    def survived(self, mutant):
        key = mutant.path, mutant.before, mutant.after
        if key in self.reasons:
            self.needed.add(key)
            self.count(mutant, "explained", self.reasons[key])
            return
        self.count(mutant, "SURVIVED")
        print(f"SURVIVED: {mutant.path}:{mutant.line}: {mutant.before}\n"
              f"    as: {mutant.after}")

    def verdict(self, complete):
        """Print a table, and the last line; with @complete all mutants have run"""
        row = "{:26} {:>6} {:>6} {:>6} {:>6} {:>6} {:>10}".format
        print(row("", "differ", "found", "%", "listed", "others", "same, none"))
        total = collections.Counter()
        for path in self.paths + ["all"]:
            counts = self.counts.get(path, total)
            total.update(counts if path != "all" else {})
            differ = counts["found"] + counts["explained"] + counts["SURVIVED"]
            print(row(path, differ, counts["found"],
                      "%.1f" % (100 * counts["found"] / differ) if differ else "-",
                      counts["explained"], counts["SURVIVED"],
                      counts["same code"] + counts["does not compile"]))
        stale = [key for key in self.reasons
                 if complete and key[0] in self.paths and key not in self.needed]
        for path, before, after in stale:
            print(f"survivors: nothing needs this: {path}: {before} as: {after}")
        failed = total["SURVIVED"] + len(stale)
        print(f"{total['found'] + total['explained']} passed, {failed} failed")
        sys.exit(failed != 0)
