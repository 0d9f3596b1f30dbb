# SPDX-License-Identifier: GPL-2.0-only
"""What became of mutants.

A mutant counts if it compiles, and if its code differs from the original's and from that
of all others of its file. One that no test finds survives, unless the list of survivors
has it. The list has, divided by tabs: file, line, the changed line, and the reason why no
test can find it or ought to. At least 96 % of the others must be found. The list "elsewhere"
has functions that only guests test.

The log has a line for each. Another run goes on from it, as long as a file is the same: what
was found stays found, and what survived is tried again. With AGAIN=1, that is also done with
those that the list explains.
"""
import collections
import functools
import hashlib
import os
import re
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BAR = 96
COLUMNS = 9


def stamp(path):
    """A number of this source without its comments, and of the mutator"""
    seen = hashlib.sha256()
    for name in path, os.path.join(HERE, "mutate.py"):
        with open(name) as file:
            seen.update(re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S).encode())
    return seen.hexdigest()[:16]


def function_of(source, at):
    """The function whose body has this offset"""
    head = source[:source.rfind("\n{", 0, at)]
    return re.findall(r"^[A-Za-z_][^;{}\n]*?(\w+)\(", head, re.M)[-1]


@functools.cache
def elsewhere():
    """The functions that only guests test"""
    with open(os.path.join(HERE, "elsewhere")) as file:
        return {tuple(row.split("\t")[:2]) for row in file if not row.startswith("#")}


def is_elsewhere(mutant, source):
    return (mutant.path, function_of(source, mutant.start)) in elsewhere()


class Tally:
    def __init__(self, paths, log):
        self.paths = paths
        self.lock = threading.Lock()
        self.counts = {path: collections.Counter() for path in paths}
        self.survivors = []
        self.reasons = {}
        self.needed = set()
        self.done = set()
        self.seen = set()
        self.shown = time.monotonic()
        with open(os.path.join(HERE, "survivors")) as file:
            for row in file:
                if row.strip() and not row.startswith("#"):
                    path, before, after, reason = row.rstrip("\n").split("\t")
                    self.reasons[path, before, after] = reason
        self.stamps = {path: stamp(path) for path in paths}
        self.resume(log)

    def resume(self, log):
        rows = []
        try:
            with open(log) as file:
                rows = [row.rstrip("\n").split("\t") for row in file]
        except FileNotFoundError:
            pass
        self.log = open(log, "w")
        for row in rows:
            # The last line may be half a line.
            if len(row) != COLUMNS or row[0] == "elsewhere":
                continue
            what, number, place, code, made_of = row[0], row[1], row[2], row[-2], row[-1]
            path = place.split(":")[0]
            if what in ("SURVIVED", "explained"):
                key = path, row[4], row[5]
                if key not in self.reasons or os.environ.get("AGAIN"):
                    continue
                what = row[0] = "explained"
                self.needed.add(key)
            # Rows of other files stay for a run that has them.
            if made_of != self.stamps.get(path, made_of):
                continue
            print("\t".join(row), file=self.log, flush=True)
            if path in self.counts:
                self.done.add((path, int(number)))
                self.seen.add((path, code))
                self.counts[path][what] += 1
        if self.done:
            print(f"  {len(self.done)} mutants are in the log already", file=sys.stderr)

    def is_done(self, mutant):
        return (mutant.path, mutant.number) in self.done

    def is_new(self, mutant, code):
        """Whether no mutant of its file has had this code"""
        with self.lock:
            new = (mutant.path, code) not in self.seen
            self.seen.add((mutant.path, code))
            return new

    def count(self, mutant, what, code="", by=""):
        with self.lock:
            self.counts[mutant.path][what] += 1
            print(what, mutant.number, f"{mutant.path}:{mutant.line}", mutant.kind,
                  mutant.before, mutant.after, by, code, self.stamps[mutant.path],
                  sep="\t", file=self.log, flush=True)
            if time.monotonic() - self.shown > 60:
                self.shown = time.monotonic()
                done = sum(sum(count.values()) for count in self.counts.values())
                print(f"  {done} mutants, at {mutant.path}:{mutant.line}",
                      file=sys.stderr)

    def survived(self, mutant, code):
        key = mutant.path, mutant.before, mutant.after
        if key in self.reasons:
            self.needed.add(key)
            self.count(mutant, "explained", code, self.reasons[key])
            return
        self.survivors.append(mutant)
        self.count(mutant, "SURVIVED", code)
        print(f"SURVIVED: {mutant.path}:{mutant.line}: {mutant.before}\n"
              f"    as: {mutant.after}", flush=True)

    def verdict(self, complete):
        """Print a table, and the last line; with @complete all mutants have run"""
        row = "{:26} {:>6} {:>6} {:>8} {:>9} {:>6} {:>6} {:>12}".format
        print(row("", "differ", "found", "survive", "explained", "%", "same",
                  "not compiled"))
        total = collections.Counter()
        for path in self.paths + ["all"]:
            counts = self.counts.get(path, total)
            total.update(counts if path != "all" else {})
            found, survive = counts["found"], counts["SURVIVED"]
            print(row(path, found + survive + counts["explained"], found, survive,
                      counts["explained"], percent(found, survive), counts["same code"],
                      counts["does not compile"]))
        stale = [key for key in self.reasons
                 if complete and key[0] in self.paths and key not in self.needed]
        for path, before, after in stale:
            print(f"survivors: nothing needs this: {path}: {before} as: {after}")
        found, survive = total["found"], total["SURVIVED"]
        if total["elsewhere"]:
            print(f"{total['elsewhere']} more are of functions that only guests test")
        print(f"{found} found, {survive} survive, {total['explained']} explained: "
              f"{percent(found, survive)} % of what can be found")
        sys.exit(bool(stale) or not found or 100 * found < BAR * (found + survive))


def percent(found, survive):
    return f"{100 * found / (found + survive):.1f}" if found + survive else "-"
