# SPDX-License-Identifier: GPL-2.0-only
"""What a guest has written, and what a kernel says of something wrong.

Run with the name of a kernel's log, this prints what it complains of, and fails then.
"""
import pathlib
import re
import sys

# "INFO: " is said by what looks for stalls, hung tasks and locks. Not among these are
# the speed of things, which tells of the machine that emulates rather than of the module:
# an hrtimer interrupt that took long, a clock source that is unstable, a work item that
# hogs a CPU.
KINDS = re.compile(
    r"\bBUG\b|WARNING:|\bINFO: |Oops|KASAN|KCSAN|UBSAN|ODEBUG|[kK]ernel panic"
    r"|Internal error|Unable to handle kernel"
    r"|general protection|invalid opcode|double fault|stack guard page"
    r"|possible recursive locking|possible circular locking|possible irq lock inversion"
    r"|inconsistent lock state|bad unlock balance|suspicious RCU"
    r"|list_add corruption|list_del corruption|refcount_t:|blocked for more"
    r"|detected stall|self-detected|soft lockup|hard LOCKUP|nobody cared"
    r"|scheduling while atomic|sleeping function called|with preempt_count"
    r"|preempt leak|NOHZ tick-stop error|page allocation failure|duplicate filename"
    r"|Objects remaining|still has objects|was never destroyed|kmemleak: \d+ new")
# Whatever it was that it said, a trace shows that it was something.
TRACE = re.compile("Call [Tt]race:")
# Two functions that race, where neither is ours. The kernel has thousands of races with
# itself by the strict rules that we ask for. So its races on our data are missed where its
# own functions make both accesses, but not where they are inlined into ours.
OTHERS = re.compile(r"BUG: KCSAN: (?!.*\[twheel)")


def read(path):
    return path.read_text(errors="replace").replace("\r", "") if path.exists() else ""


def complains(line):
    """Whether a report begins with this line"""
    return bool(KINDS.search(line) and not OTHERS.search(line))


def found(lines):
    """The lines that tell of something wrong: what a report begins with, and traces."""
    # A control group that runs out of memory is shown where it did: memory_test has
    # that happen, and asserts whose memory it was.
    expected = False
    for line in lines:
        expected |= "memory_test invoked oom-killer" in line
        traced = TRACE.search(line)
        if complains(line) or (traced and not expected):
            yield line
        expected = expected and not traced


if __name__ == "__main__":
    complaints = list(found(read(pathlib.Path(sys.argv[1])).splitlines()))
    print("\n".join(complaints[:10]))
    sys.exit(bool(complaints))
