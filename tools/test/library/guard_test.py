# SPDX-License-Identifier: GPL-2.0-only
"""twheel guard: that it acts on what hangs, on all of it, and on nothing else.

Arguments: the command twheel, and guarded; then tests, by their names. The example supervisor is
in PATH. No verdict depends on how fast the machine is. What has to be acted upon hangs for ever,
and the test waits as long as that takes. What must not be acted upon feeds a thousand times in
its timeout, for more than two timeouts.
"""
import array
import contextlib
import os
import resource
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

import guard_rig

TWHEEL, GUARDED = map(os.path.abspath, sys.argv[1:3])
# A signal's default, whoever has started this test: nohup(1) ignores one.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
# What a signal ends has all the time to end, and what ignores it does not.
SHORT = ("--timeout", "200ms", "--grace", "1h")
LONG = ("--timeout", "2s", "--start", "100s", "--grace", "1h")
# Or has to start meanwhile.
LONGER = ("--timeout", "5s", "--start", "100s", "--grace", "1h")
SOON = ("--grace", "200ms")
NOBODY = 65534
# By these, somebody else finds the programs wherever they are.
COMMAND, PROGRAM = (os.open(name, os.O_RDONLY) for name in (TWHEEL, GUARDED))


def started(*words, **options):
    return subprocess.Popen([TWHEEL, "guard", *words], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **options)


def ended(process, status, *said):
    """That it ends with a status, and a message that has these words."""
    out, message = process.communicate(timeout=300)
    assert process.returncode == status, (process.args, process.returncode, out, message)
    for words in said:
        assert words in message, (process.args, words, out, message)
    return out


def run(status, said, *words, **options):
    return ended(started(*words, **options), status, said)


def unprivileged(*words, **options):
    """As somebody who may not have a control group. The test has to be root's for that."""
    if os.getuid():
        return started(*words, **options)
    words = [f"/proc/self/fd/{PROGRAM}" if word == GUARDED else word for word in words]
    return started(*words, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/",
                   executable=f"/proc/self/fd/{COMMAND}", pass_fds=[COMMAND, PROGRAM], **options)


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def a_refusal_for_each_option():
    for said, words in (
            ("--timeout is missing", ("true",)),
            ("--timeout is at least", ("--timeout", "1ms", "true")),
            ("is not a duration", ("--timeout", "soon", "true")),
            ("--start is at least --timeout", ("--timeout", "2s", "--start", "1s", "true")),
            ("is not a duration", ("--timeout", "2s", "--start", "x", "true")),
            ("does not wait for more than 50 days", ("--timeout", "51d", "true")),
            ("does not wait for more than 50 days", ("--timeout", "2s", "--grace", "51d", "true")),
            ("--signal is a name", ("--timeout", "2s", "--signal", "NONE", "true")),
            ("--signal is a name", ("--timeout", "2s", "--signal", "0", "true")),
            ("--signal is a name", ("--timeout", "2s", "--signal", "999", "true")),
            ("is not a duration", ("--timeout", "2s", "--grace", "-1s", "true")),
            ("others can be set", ("--timeout", "2s", "--clock", "realtime", "true")),
            ("a clock is", ("--timeout", "2s", "--clock", "sun", "true")),
            ("takes no value", ("--timeout", "2s", "--verbose=1", "true")),
            ("which command?", ("--timeout", "2s", "--"))):
        run(2, said, *words)


def it_ends_as_the_command():
    run(0, "", *LONG, "true")
    run(3, "", *LONG, "--", "sh", "-c", "exit 3")
    run(127, "/nothing: No such file", *LONG, "/nothing")
    run(126, "Permission denied", *LONG, "/dev/null")
    run(-signal.SIGTERM, "", *LONG, "sh", "-c", "kill -TERM $$")
    assert run(0, "", *LONG, "printf", "-%s", "-help") == "--help"


def what_feeds_is_left_alone():
    running = [started(*words) for words in (
        (*LONG, "--clock", "monotonic", GUARDED, "feed", "5000"),
        (*LONG, "--clock", "boottime", GUARDED, "feed", "5000"),
        # Leases are closed, and others opened in their places.
        (*LONG, GUARDED, "closed", "3000"),
        (*LONG, GUARDED, "reused", "5000"),
        (*LONG, GUARDED, "asked"),
        (*LONGER, GUARDED, "refusals"),
        # The child of a fork that opens the guard itself.
        (*LONGER, GUARDED, "fork-opens", "11000"),
        # Another program, by exec(); one of a shell, which uses descriptors itself.
        (*LONGER, GUARDED, "exec", "11000"),
        (*LONGER, "sh", "-c",
         'for i in 3 4 5 6 7 8 9; do eval "exec $i< /dev/null"; done; "$0" feed 11000; exit',
         GUARDED))]
    for process in running:
        ended(process, 0)


def what_does_not_feed_is_acted_upon():
    run(124, "twheel: lease 'main' ran out ", *SHORT, "sleep", "inf")
    run(124, ": SIGABRT to process ", *SHORT, "sleep", "inf")
    run(124, ": SIGTERM to process ", *SHORT, "--signal", "SIGTERM", "sleep", "inf")
    run(124, ": SIGUSR1 to process ", *SHORT, "--signal", "10", GUARDED, "hang")
    run(137, "twheel: all that was left is killed", *SHORT, "--signal", "KILL", "sleep", "inf")
    run(124, "", *SHORT, "--clock", "boottime", GUARDED, "hang")
    assert run(124, "", *SHORT, "--start", "100s", "--signal", "TERM", GUARDED, "lost") == "lost\n"
    # A handler has time for last words. It is there before the first feed.
    assert run(124, "", *SHORT, "--start", "100s", "sh", "-c",
               """trap 'echo last words; exit 5' ABRT; "$0" feed 0; while :; do sleep 0.01; done""",
               GUARDED) == "last words\n"


def the_first_feed_may_take_longer():
    run(0, "", *SHORT, "--start", "100s", "sleep", "1")
    run(124, "'main'", *SHORT, "--start", "100s", GUARDED, "hang")
    run(124, "'main'", *SHORT, "--start", "400ms", "sleep", "inf")


# It ignores what it can, has left the session, is stopped, and its parent is gone.
STUBBORN = """
trap '' ABRT TERM
echo $$
setsid sh -c 'trap "" ABRT TERM; echo $$; sleep inf & echo $!; kill -STOP $$'  &
setsid sh -c 'sleep inf & echo $!'
sleep inf & echo $!; kill -STOP $!
"$0" feed 0 || exit
while :; do sleep 1; done
"""


def all_that_is_stubborn_is_killed():
    for start in (started, unprivileged):
        process = start(*SHORT, *SOON, "--start", "100s", "sh", "-c", STUBBORN, GUARDED)
        pids = ended(process, 137, "after the grace all that was left was killed").split()
        assert len(pids) == 5, pids
        # None is left when the guard has ended, not later.
        assert not any(map(lives, pids)), pids


def it_says_at_once_what_happens():
    """The grace may be long."""
    process = started(*SHORT, "--start", "100s", "sh", "-c",
                      'trap "" ABRT; echo $$; exec "$0" hang', GUARDED)
    command = int(process.stdout.readline())
    assert "lease 'main' ran out" in process.stderr.readline()
    os.kill(command, signal.SIGKILL)
    ended(process, 137)


def nobody_reads_its_message():
    """It acts first, and tells afterwards."""
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writes, b"x" * 4096)
    os.set_blocking(writes, True)
    process = subprocess.Popen([TWHEEL, "guard", *SHORT, "--start", "100s", "sh", "-c",
                                'echo $$; exec "$0" hang', GUARDED],
                               stdout=subprocess.PIPE, stderr=writes, text=True)
    os.close(writes)
    command = int(process.stdout.readline())
    while lives(command):
        time.sleep(0.01)
    with open(reads, "rb") as said:
        assert b"'main' ran out" in said.read()
    ended(process, 124)


def what_the_command_leaves_behind_is_killed():
    for start in (started, unprivileged):
        out = ended(start(*LONG, *SOON, "sh", "-c", "setsid sleep inf & echo $!; exit 4"), 4,
                    "the command has ended: all that was left is killed")
        assert not lives(int(out))


def it_says_what_guards():
    run(0, "without /dev/twheel: --no-device", *LONG, "--no-device", "--verbose", "true")
    run(124, ", and was never fed", *SHORT, "sleep", "inf")
    said = ended(unprivileged(*LONG, "--verbose", "true"), 0, "no control group of its own",
                 "does not survive being killed, frozen")
    assert not said
    process = started(*LONG, "--verbose", "cat", "/proc/self/cgroup")
    out, said = process.communicate()
    # Where this test may have one.
    if "in the control group" in said:
        group = f"/guard-{process.pid}"
        assert f"{group}\n" in out and f"{group};" in said, (out, said)
        with open("/proc/self/mountinfo") as mounts:
            found = [mount.split()[4] for mount in mounts if " - cgroup2 " in mount]
        assert found and not any(os.path.exists(mount + group) for mount in found)


def a_group_of_systemd_is_left_alone():
    """Unless it is marked as delegated, or one above it is."""
    with open("/proc/self/mountinfo") as mounts:
        found = [mount.split()[4] for mount in mounts if " / " in mount and " - cgroup2 " in mount]
    with open("/proc/self/cgroup") as groups:
        own = [line[3:].strip() for line in groups if line.startswith("0::")]
    if os.getuid() or not found or not own:
        return
    outer = os.path.join(found[0] + own[0], f"guard-test-{os.getpid()}")
    inner = outer + "/inner"
    try:
        os.makedirs(inner)
    except OSError:
        return
    try:
        for marked in (None, inner, outer):
            for group in (inner, outer):
                with contextlib.suppress(OSError):
                    os.removexattr(group, "user.delegate")
            if marked:
                os.setxattr(marked, "user.delegate", b"1")
            process = subprocess.Popen(
                ["unshare", "--mount", "sh", "-c", """
                    mount -t tmpfs run /run && mkdir -p /run/systemd/system &&
                    echo 0 > "$0/cgroup.procs" && exec "$@" """,
                 inner, TWHEEL, "guard", *LONG, "--verbose", "true"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            ended(process, 0, "/inner/guard-" if marked else "no control group of its own")
    finally:
        os.rmdir(inner)
        os.rmdir(outer)


def the_lease_that_hangs_is_named():
    run(124, "lease 'bad one' ran out", *LONG, GUARDED, "leases")


def the_example_finds_its_worker():
    run(124, "lease 'worker 3' ran out", "--timeout", "1s", "supervisor")


def stray_writes_act():
    running = [(name, started(*LONG, GUARDED, *words, slot))
               for slot, name in (("0", "main"), ("1", "step"), ("5", ""))
               for words in (("stray", "0"), ("stray", "1"), ("stray", "0xffffffffffffffff"),
                             ("stray", "0x8000000000000000"), ("far",))]
    # Two steps from pending to cancelled; and more than the word of what is open.
    running += [("main", started(*LONG, GUARDED, "added", "0")),
                ("step", started(*LONG, GUARDED, "added", "1")),
                ("step", started(*LONG, GUARDED, "unseen")),
                # Pending, and for a time before that of the clock began.
                ("main", started(*LONG, GUARDED, "stray", "0xfff000000000000a", "0")),
                ("step", started(*LONG, "--no-device", GUARDED, "filled", "1"))]
    for name, process in running:
        ended(process, 124, f"lease '{name}' ran out", ", and its word is no deadline")
    run(124, "and its word is no deadline", *LONG, GUARDED, "hole")


def memory_leads_nowhere_else():
    run(0, "", *LONG, GUARDED, "foreign-memory")
    if os.getuid():
        return
    # A program with more rights than its caller has no guard.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copy = shutil.copy(GUARDED, folder + "/guarded")
        os.chmod(copy, 0o4755)
        ended(unprivileged(*LONG, copy, "feed", "0"), 1, "guard: No such file or directory")


def a_shorter_timeout_holds():
    run(0, "", *LONG, GUARDED, "shorter")


def processes_of_another_namespace_are_left_alone():
    """Where /proc is that of the namespace outside, it has other processes by the same numbers."""
    code = """"$@" & guard=$!
for i in $(seq 40); do sleep inf & all="$all $!"; done
wait $guard; echo $?; for i in $all; do kill -0 $i && echo lives; done; :"""
    if os.getuid() or subprocess.run(["unshare", "-p", "-f", "true"], check=False).returncode:
        return
    ran = subprocess.run(["unshare", "-p", "-f", "sh", "-c", code, "sh", TWHEEL, "guard", *SHORT,
                          "--signal", "KILL", "sleep", "inf"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, check=True)
    # It may be itself that it finds there.
    assert "all that was left is killed" in ran.stderr, ran
    assert ran.stdout.split() == ["137"] + 40 * ["lives"], ran


def a_child_does_not_feed_for_its_parent():
    run(124, "lease 'main' ran out", *SHORT, *SOON, GUARDED, "fork")


def signals_are_passed_on():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        process = started("--timeout", "100s", "sh", "-c",
                          f"trap 'echo came; exit 7' {number.name[3:]}; echo ready; "
                          "while :; do sleep 0.01; done")
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert ended(process, 7) == "came\n"


def a_terminal_is_heard_once():
    """The guard is in the command's process group, and does not pass on what both have got."""
    ours, terminal = os.openpty()
    # Who leads a session and opens a terminal has it.
    process = subprocess.Popen(
        ["sh", "-c", 'exec < "$0" > "$0" 2>&1; exec "$@"', os.ttyname(terminal), TWHEEL, "guard",
         "--timeout", "100s", GUARDED, "interrupted"], start_new_session=True)
    seen = b""
    while b"ready" not in seen:
        seen += os.read(ours, 100)
    os.write(ours, b"\x03")
    while b"interrupted" not in seen:
        seen += os.read(ours, 100)
    # The guard passes on signals in the order of their numbers.
    process.send_signal(signal.SIGUSR1)
    while b"passed" not in seen:
        seen += os.read(ours, 100)
    assert process.wait() == 7
    os.close(ours)
    os.close(terminal)
    assert seen.count(b"interrupted") == 1, seen


def a_pause_is_forgiven():
    """A pause of all is, with the monotonic clock. With boottime, it counts."""
    running = [started(*LONG, "--clock", clock, "sh", "-c",
                       '"$0" feed 0; echo $$; exec "$0" feed 5000', GUARDED)
               for clock in ("monotonic", "boottime")]
    pids = [pid for process in running
            for pid in (process.pid, int(process.stdout.readline()))]
    # The guard stops first, and goes on first.
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in pids:
            # A guard that goes on may have ended its command already.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        time.sleep(4 if number == signal.SIGSTOP else 0)
    ended(running[0], 0)
    ended(running[1], 124)
    # Nor does a feed help, if the command is the first to go on.
    run(124, "'main' ran out", *LONG, "--clock", "boottime", GUARDED, "late")
    # Or another timeout. Where the guard has no priority, its thread may be the first.
    ended(unprivileged(*LONG, "--clock", "boottime", GUARDED, "late", "1"), 124, "'main' ran out")
    run(0, "", *LONG, GUARDED, "late")


def manager(folder):
    """A service manager's socket."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    end.bind(folder + "/notify")
    end.settimeout(100)
    return end


# A service: what it is told to say, it says.
SERVICE = """
import array, os, socket, sys, time
name = os.environ["NOTIFY_SOCKET"]
to = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
def say(*lines, fd=None):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if fd else []
    to.sendmsg(["\\n".join(lines).encode()], rights, 0, name)
assert int(os.environ["WATCHDOG_PID"]) == os.getpid(), os.environ
"""


def service(*words, code, **options):
    return started("--start", "90s", *words, sys.executable, "-c", SERVICE + code, **options)


def the_protocol_of_systemd_feeds():
    process = service("--timeout", "2s", code="""
assert int(os.environ["WATCHDOG_USEC"]) == 2000000
end = time.monotonic() + 5
while time.monotonic() < end:
    say("WATCHDOG=1")
    time.sleep(0.01)
""")
    ended(process, 0)
    ended(service(*SHORT, code="say('WATCHDOG=1'); time.sleep(1000)"), 124, "'main' ran out")
    # With more descriptors than the guard can have.
    ended(started(*LONG, "--start", "90s", sys.executable, "-c", SERVICE + """
say("WATCHDOG=1")
end = time.monotonic() + 5
while time.monotonic() < end:
    to.sendmsg([b"WATCHDOG=1"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1] * 60))],
               0, name)
    time.sleep(0.01)
""", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))), 0)
    ended(service(*SHORT, code="say('WATCHDOG=trigger'); time.sleep(1000)"), 124,
          "WATCHDOG=trigger came: SIGABRT")
    # A longer timeout is taken, and a shorter one is not.
    ended(service(*SHORT, code="""
say("WATCHDOG_USEC=90000000"); say("WATCHDOG=1"); time.sleep(1)"""), 0)
    for usec in ("1000", "0", "soon", "-5", "8640000000000"):
        ended(service(*SHORT, code=f"""
say("WATCHDOG_USEC={usec}"); say("WATCHDOG=1"); time.sleep(1000)"""), 124, "was not taken")
    # The first feed may still take as long as it might.
    ended(service(*SHORT, code="say('WATCHDOG_USEC=300000'); time.sleep(1)"), 0)
    ended(service(*SHORT, code="""
say("WATCHDOG=1"); say("WATCHDOG_USEC=300000"); time.sleep(1000)"""), 124, "'main' ran out")
    # What has ended before the guard reads is heard.
    ended(service(*LONG, code="""
os.kill(os.getppid(), 19)
if os.fork() == 0:
    say("WATCHDOG=trigger")
    os._exit(0)
os.wait()
os.kill(os.getppid(), 18)
time.sleep(1000)
"""), 124, "WATCHDOG=trigger came")


def strangers_are_not_heard():
    """The socket is in a folder that no other user may enter, and which is gone afterwards."""
    with tempfile.TemporaryDirectory() as long:
        os.chmod(long, 0o777)
        for start in (started, unprivileged):
            # The last one is too long for the name of a socket.
            for parent in ({}, {"XDG_RUNTIME_DIR": long, "TMPDIR": "here"}, {"TMPDIR": long * 20}):
                process = start("--timeout", "100s", "sh", "-c",
                                'echo "$NOTIFY_SOCKET"; exec sleep inf',
                                env=dict(os.environ, **parent))
                name = process.stdout.readline()[:-1]
                folder = os.path.dirname(name)
                assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700, folder
                if start is unprivileged and "XDG_RUNTIME_DIR" in parent and not os.getuid():
                    assert os.path.dirname(folder) == long, folder
                if start is started and not os.getuid():
                    # What cannot find it cannot connect.
                    other = subprocess.run(["cat", name], user=NOBODY, group=NOBODY,
                                           extra_groups=[], cwd="/", stderr=subprocess.PIPE,
                                           text=True)
                    assert "Permission denied" in other.stderr, other
                process.terminate()
                ended(process, -signal.SIGTERM)
                assert not os.path.exists(folder)
        assert not os.listdir(long)


def a_close_that_waits_holds_nothing_up():
    """That of a connection whose peer reads nothing, while another lease runs out."""
    ended(service(*LONG, code=f"""
import struct
listener = socket.create_server(("127.0.0.1", 0))
mine = socket.create_connection(listener.getsockname())
other, _ = listener.accept()
os.set_inheritable(other.fileno(), True)
mine.setblocking(False)
try:
    while True:
        mine.send(bytes(65536))
except BlockingIOError:
    pass
mine.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 100000))
# The guard is to have the last descriptor.
os.kill(os.getppid(), 19)
say("FDSTORE=1", fd=mine.fileno())
mine.close()
os.kill(os.getppid(), 18)
os.execv({GUARDED!r}, ["guarded", "leases"])
"""), 124, "lease 'bad one' ran out")


def messages_are_passed_on():
    with tempfile.TemporaryDirectory() as folder, manager(folder) as up:
        process = service(*LONG, env=dict(os.environ, NOTIFY_SOCKET=folder + "/notify"), code="""
say("WATCHDOG=1", "READY=1", "MAINPID=1", "STATUS=well")
mine, other = os.pipe()
os.write(other, b"kept")
say("FDSTORE=1", "FDNAME=pipe", fd=mine)
seen, barrier = os.pipe()
say("BARRIER=1", fd=barrier)
os.close(barrier)
os.read(seen, 1)
say("STOPPING=1")
""")
        assert up.recv(1000) == b"READY=1\nSTATUS=well\n"
        said, rights, _, _ = up.recvmsg(1000, 1000)
        assert said == b"FDSTORE=1\nFDNAME=pipe\n" and len(rights) == 1
        kept = array.array("i", rights[0][2])
        assert os.read(kept[0], 10) == b"kept"
        said, rights, _, _ = up.recvmsg(1000, 1000)
        assert said == b"BARRIER=1\n"
        # The service waits until nobody has it any more.
        assert not select.select([up], [], [], 0.3)[0]
        os.close(array.array("i", rights[0][2])[0])
        assert up.recv(1000) == b"STOPPING=1\n"
        ended(process, 0)
    # Without a manager, nobody waits for one.
    ended(service(*LONG, code="""
seen, barrier = os.pipe()
say("BARRIER=1", fd=barrier)
os.close(barrier)
assert os.read(seen, 1) == b""
"""), 0)


def descriptors_are_handed_on():
    """What a manager has given to the guard is for the command; what is somebody else's is not."""
    for pid, kept in (("$$", ""), ("1", "2")):
        process = subprocess.Popen(
            ["sh", "-c", f'LISTEN_PID={pid} LISTEN_PIDFDID=2 exec "$@"', "sh", TWHEEL, "guard",
             *LONG, "sh", "-c", f'echo "$LISTEN_PID" {pid} "$LISTEN_PIDFDID"'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        named, whose, *rest = ended(process, 0)[:-1].split(" ")
        assert named == whose and rest == [kept], (named, whose, rest)


def a_guard_is_a_service_with_a_watchdog():
    with tempfile.TemporaryDirectory() as folder, manager(folder) as up:
        process = started("--timeout", "100s", "cat", stdin=subprocess.PIPE,
                          env=dict(os.environ, NOTIFY_SOCKET=folder + "/notify",
                                   WATCHDOG_USEC="200000"))
        for _ in range(5):
            assert up.recv(100) == b"WATCHDOG=1"
        process.stdin.close()
        process.stdin = None
        ended(process, 0)


def a_manager_that_hangs_does_not_stop_it():
    with tempfile.TemporaryDirectory() as folder, manager(folder):
        # Nobody reads: the queue becomes full.
        ended(service(*SHORT, env=dict(os.environ, NOTIFY_SOCKET=folder + "/notify"), code="""
for _ in range(2000):
    say("STATUS=x", "WATCHDOG=1")
time.sleep(1000)
"""), 124, "messages for NOTIFY_SOCKET are lost", "'main' ran out")


TESTS = (a_refusal_for_each_option, it_ends_as_the_command, what_feeds_is_left_alone,
         what_does_not_feed_is_acted_upon, the_first_feed_may_take_longer,
         all_that_is_stubborn_is_killed, it_says_at_once_what_happens, nobody_reads_its_message,
         what_the_command_leaves_behind_is_killed, it_says_what_guards,
         a_group_of_systemd_is_left_alone,
         the_lease_that_hangs_is_named, the_example_finds_its_worker, stray_writes_act,
         memory_leads_nowhere_else, a_shorter_timeout_holds,
         processes_of_another_namespace_are_left_alone,
         a_child_does_not_feed_for_its_parent, signals_are_passed_on, a_terminal_is_heard_once,
         a_pause_is_forgiven, the_protocol_of_systemd_feeds, strangers_are_not_heard,
         a_close_that_waits_holds_nothing_up,
         messages_are_passed_on, descriptors_are_handed_on, a_guard_is_a_service_with_a_watchdog,
         a_manager_that_hangs_does_not_stop_it)


NAMES = sys.argv[3:]
guard_rig.run([test for test in TESTS if not NAMES or test.__name__ in NAMES])
