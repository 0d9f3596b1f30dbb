# SPDX-License-Identifier: GPL-2.0-only
"""The module and its tests in user-mode Linux.

Makes copies of them in which a file is changed, and guests that run a test on such a copy.
Variables of um.sh tell where all this is.
"""
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

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../vm"))
import misuse  # noqa: E402

SOURCE = os.environ["SOURCE"]
KERNEL = os.environ["KERNEL"]
WORK = os.environ["WORK"]
# A guest that prints nothing hangs: after so many seconds of its CPUs, or of the clock.
# The longest case on real clocks keeps two CPUs busy for 15 s. On a virtual clock nothing
# sleeps for long.
SPIN, SPIN_SMP, SLEEP, SLEEP_VIRTUAL = 5, 60, 90, 20
# What no guest prints that works.
COMPLAINT = re.compile(r"\bnot ok |BUG:|WARNING: (?!suspicious RCU)|Kernel panic|ODEBUG"
                       r"|possible .* detected|bad unlock balance|guest: cannot")
# With two CPUs this comes from Linux 7.2 itself, about once in thirty boots, when an idle
# CPU is interrupted. Such a guest judges nothing, and another is booted.
OF_ITSELF = re.compile(r"WARNING: (kernel/sched/|include/trace/)")
MODULES = ["module/twheel", "kunit/twheel_kunit", "kunit/twheel_kunit_smp"]
# The suites that get two CPUs.
SMP = "twheel_kunit_smp"
# Those on a virtual clock.
VIRTUAL = "twheel_kunit"
# A case that fails, or a program.
FAILED = re.compile(r"\bnot ok (?:\d+ )?(?:- )?(\w+)")
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
        self.place([])

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

    def place(self, names):
        """Link the modules anew that these objects are of, and give all to the guest"""
        for module in MODULES:
            if set(names) & set(self.tree.objects[module]):
                self.make(f"{module}.o")
                self.make(f"{module}.ko")
            else:
                self.restore(f"{module}.ko")
            shutil.copy(f"{self.folder}/{module}.ko", f"{self.root}/modules/")

    def run(self, what, suite=None, tolerated=(), case=None):
        """Run a module of suites, or a program; of these only a suite, or a case. Returns
        what complains, except the cases that are tolerated."""
        words = []
        if case and what.endswith("_test"):
            words = [f"only={case}"]
        elif case or suite:
            words = [f"kunit.filter_glob={suite or '*'}.{case or '*'}"]
        for _ in range(5):
            self.begun = False
            by = self.boot(what, words, tolerated)
            # A kernel that dies before its first program has not met the module; nor is
            # the module to blame for what is OF_ITSELF.
            if self.begun:
                break
        return by

    def boot(self, what, words, tolerated):
        guest = subprocess.Popen(
            [f"{KERNEL}/linux", "mem=256M", "root=host", "rootfstype=hostfs",
             f"rootflags={self.root}", "rw", "init=/init", "con=null", "con0=null,fd:1",
             "panic=-1", "ignore_loglevel", f"uml_dir={WORK}/", f"what={what}",
             "seccomp=on", f"ncpus={2 if what == SMP else 1}",
             *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        try:
            return self.watch(guest, what, tolerated)
        finally:
            try:
                os.killpg(guest.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            guest.wait()
            guest.stdout.close()

    def watch(self, guest, what, tolerated):
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
            elif used(guest.pid) - spent > (SPIN_SMP if what == SMP else SPIN):
                return f"{what}: spins after {case}"
            elif time.monotonic() - since > (SLEEP_VIRTUAL if what == VIRTUAL else SLEEP):
                return f"{what}: hangs after {case}"
            *lines, text = text.split(b"\n")
            for line in lines:
                line = line.decode(errors="replace")
                self.begun |= "guest: begin" in line
                said.append(re.sub(r"^<\d>", "", line.rstrip()))
                if OF_ITSELF.search(line):
                    self.begun = False
                    return f"{what}: {line}"
                failed = FAILED.search(line)
                if (what != "misuse" and COMPLAINT.search(line)
                        and not (failed and failed[1] in tolerated)):
                    return f"{what}: {' '.join(line.split())} after {case}"
                if "guest: end" in line:
                    return self.misused(said) if what == "misuse" else None
                passed = re.search(r"\bok \d+ (?:- )?(\w+)", line)
                case = passed[1] if passed else case

    def misused(self, said):
        """Whether each way of misuse has been reported, and nothing else"""
        said = said[next(i for i, line in enumerate(said) if "guest: begin" in line):]
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


def judge_all(workers, items, judge):
    """Call judge(worker, item) for each, as many at a time as there are workers. Returns
    those for which that returns true, in order."""
    waiting, chosen = queue.Queue(), set()
    for item in items:
        waiting.put(item)

    def work(worker):
        while True:
            try:
                item = waiting.get_nowait()
                if judge(worker, item):
                    chosen.add(item)
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
    return [item for item in items if item in chosen]


def until_ended(main):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        main()
    except Ended:
        sys.exit("cut off: run it again, and it goes on from its log")
