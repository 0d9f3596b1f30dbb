# SPDX-License-Identifier: GPL-2.0-only
"""How the tests of guards are run."""
import concurrent.futures
import os
import resource
import sys
import traceback


def failure(test):
    try:
        test()
    except Exception as cause:
        print(f"not ok {test.__name__}", flush=True)
        return cause
    print(f"ok {test.__name__}", flush=True)
    return None


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
