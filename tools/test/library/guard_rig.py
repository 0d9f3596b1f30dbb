# SPDX-License-Identifier: GPL-2.0-only
"""How the tests of guards are run."""
import concurrent.futures
import os
import resource
import sys
import time
import traceback


def failure(test):
    begin = time.monotonic()
    cause = None
    try:
        test()
    except Exception as failed:
        cause = failed
    print(f"{'not ' if cause else ''}ok {test.__name__} ({time.monotonic() - begin:.1f} s)",
          flush=True)
    return cause


def run(tests):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # They wait more than they do.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        causes = list(filter(None, pool.map(failure, tests)))
    for cause in causes:
        traceback.print_exception(type(cause), cause, cause.__traceback__, file=sys.stdout)
    sys.stdout.flush()
    # What still runs is not told of, as that would hide the causes.
    os._exit(bool(causes))
