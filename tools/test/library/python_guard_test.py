# SPDX-License-Identifier: GPL-2.0-only
"""Guards of the module twheel for Python, which twheel guard runs. Argument: the command twheel.

What has to be acted upon hangs for ever. What must not be feeds for more than two timeouts.
"""
import os
import subprocess
import sys

import guard_rig

TWHEEL = os.path.abspath(sys.argv[1])

BEGIN = """
import asyncio, errno, os, socket, sys, time, twheel
guard = twheel.Guard()
def feeds(seconds, *leases):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for lease in leases:
            lease.feed()
        time.sleep(0.001)
def raises(error, call, *args):
    try:
        call(*args)
    except error as raised:
        return raised
    sys.exit(f"no {error}")
"""


def run(status, said, code, *options):
    ended = subprocess.run([TWHEEL, "guard", "--timeout", "2s", "--start", "90s", "--grace", "5s",
                            *options, sys.executable, "-W", "error", "-c", BEGIN + code],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ended.returncode == status and said in ended.stdout, ended


def it_feeds():
    for clock in ("monotonic", "boottime"):
        run(0, "", """
assert guard
with guard.lease("step", 2) as lease:
    assert lease and 0 < lease.left() <= 2
    feeds(5, guard, lease)
    assert 0 < guard.left() <= 2
assert not lease and lease.left() == 0
lease.feed()
lease.close()
feeds(3, guard)
""", "--clock", clock)


def what_hangs_is_acted_upon():
    run(124, "lease 'main' ran out", "feeds(0.1, guard); time.sleep(1000)")
    run(124, "lease 'step' ran out", """
with guard.lease("step", 3):
    feeds(1000, guard)
""")
    # One that nobody refers to is open all the same.
    run(124, "lease 'step' ran out", """
guard.lease("step", 3)
feeds(1000, guard)
""")


def a_loop_that_is_blocked_is_found():
    # In C code that keeps the lock of the interpreter, and in a call that gives it up.
    for hangs in ("sum(iter(int, 1))", "time.sleep(1000)"):
        run(124, "feeds\ntwheel: lease 'main' ran out", f"""
async def serve():
    guard.watch_loop()
    await asyncio.sleep(5)
    print("feeds", flush=True)
    {hangs}
asyncio.run(serve())
""")


def a_watch_ends_by_cancel():
    run(0, "", """
async def serve():
    beat = guard.watch_loop()
    with guard.lease("loop", 2) as lease:
        lease.watch_loop(asyncio.get_running_loop())
        await asyncio.sleep(3)
    await asyncio.sleep(3)
    beat.cancel()
asyncio.run(serve())
""")
    run(124, "lease 'main' ran out", """
async def serve():
    guard.watch_loop().cancel()
    await asyncio.sleep(1000)
asyncio.run(serve())
""")


def a_child_does_not_feed_for_its_parent():
    run(124, "lease 'main' ran out", """
lease, feed = guard.lease("parent", 60), guard.feed
feed()
if os.fork():
    time.sleep(1000)
assert not guard and not lease
lease.close()
feeds(1000, guard)
""", "--grace", "200ms")
    # It may find the guard itself.
    run(0, "", """
pid = os.fork()
if pid:
    os.waitpid(pid, 0)
else:
    feeds(5, twheel.Guard())
# Nobody feeds while Python ends.
os._exit(0)
""")


def a_message_changes_the_timeout():
    """Feeds by memory count for that, and so does left(), in a guard that was found before."""
    run(0, "", """
name = os.environ["NOTIFY_SOCKET"]
name = chr(0) + name[1:] if name[0] == "@" else name
def wants(timeout):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        to.sendto(b"WATCHDOG_USEC=%d" % (timeout * 1000000), name)
    end = time.monotonic() + 60
    while not timeout / 2 < guard.left() <= timeout:
        guard.feed()
        time.sleep(0.001)
        assert time.monotonic() < end, guard.left()
guard.feed()
wants(90)
time.sleep(3)
guard.feed()
assert guard.left() > 60
wants(4)
feeds(9, guard)
assert 0 < guard.left() <= 4
wants(20)
async def serve():
    beat = guard.watch_loop()
    await asyncio.sleep(4)
    assert guard.left() > 10
    beat.cancel()
asyncio.run(serve())
""")


def what_is_refused():
    run(0, "", """
raises(ValueError, guard.lease, "short", 1.9)
raises(ValueError, guard.lease, "", 60)
raises(ValueError, guard.lease, "x" * 32, 60)
raises(ValueError, guard.lease, "x", float("nan"))
raises(ValueError, guard.lease, "x", float("inf"))
leases = [guard.lease("x" * 31, 60) for _ in range(1023)]
assert raises(OSError, guard.lease, "x", 60).errno == errno.ENOSPC
for lease in leases:
    lease.close()
guard.lease("x", 60).close()
guard.close()
assert guard
for number in ("4711", "0", "what"):
    os.environ["TWHEEL_GUARD"] = number
    assert raises(OSError, twheel.Guard).errno == errno.EBADF
del os.environ["TWHEEL_GUARD"]
guard = twheel.Guard()
assert not guard and guard.left() == float("inf")
guard.feed()
async def serve():
    guard.watch_loop().cancel()
asyncio.run(serve())
with guard.lease("x", 1) as lease:
    lease.feed()
""")


TESTS = (it_feeds, what_hangs_is_acted_upon, a_loop_that_is_blocked_is_found,
         a_watch_ends_by_cancel, a_child_does_not_feed_for_its_parent,
         a_message_changes_the_timeout, what_is_refused)

guard_rig.run(TESTS)
