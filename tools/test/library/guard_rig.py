# SPDX-License-Identifier: GPL-2.0-only
"""How the tests of guards are run."""
import concurrent.futures
import resource
import sys
import traceback


def passes(test):
    try:
        test()
    except Exception:
        traceback.print_exc(file=sys.stdout)
        print(f"not ok {test.__name__}", flush=True)
        return False
    print(f"ok {test.__name__}", flush=True)
    return True


def run(tests):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # They wait more than they do.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        sys.exit(not all(list(pool.map(passes, tests))))
