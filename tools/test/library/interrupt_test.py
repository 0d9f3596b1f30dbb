# SPDX-License-Identifier: GPL-2.0-only
"""How the command twheel ends by SIGINT: "top" is what needs no device. Argument: its path."""
import fcntl
import os
import signal
import subprocess
import sys
import time


def status(*words, action=signal.SIG_DFL, full=False):
    """The status of "top" after a SIGINT, which it begins with that @action for."""
    reads, writes = os.pipe()
    fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
    if full:
        os.write(writes, bytes(4096))
    # What is ignored stays so in the child.
    before = signal.signal(signal.SIGINT, action)
    with subprocess.Popen([sys.argv[1], "top", "--every", "10ms", *words], stdout=writes) as top:
        signal.signal(signal.SIGINT, before)
        os.close(writes)
        if full:
            time.sleep(3)
        else:
            os.read(reads, 1)
        top.send_signal(signal.SIGINT)
        while not full and os.read(reads, 4096):
            pass
        ended = top.wait()
    os.close(reads)
    return ended


assert status() == 0
# A shell's loop ends only if the signal itself has ended the command.
assert status("--count", "1000000") == -signal.SIGINT
assert status(full=True) == -signal.SIGINT
assert status("--count", "20", action=signal.SIG_IGN) == 0
