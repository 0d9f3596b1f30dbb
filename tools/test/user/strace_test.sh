#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A thousand arms, extensions, cancellations and arms again in the mapping make no system
# call. strace shows that. Without the mapping it has to see four calls for each of 100.
echo "1..2"
program=${0%/*}/lib_cells_test
trace=/tmp/strace.out

# calls: the number of calls between the marks; nothing without the marks. To read the clock
# is a call only where the machine's clock cannot be read from userspace.
calls() {
	strace -f -o $trace "$program" many_between_marks > /tmp/strace.tap 2>&1
	awk '/getppid\(/ { marks++; next }
	     /clock_gettime(64)?\(/ { next }
	     marks == 1 { calls++ }
	     END { if (marks == 2) print calls + 0 }' $trace
}

# result GOOD NUMBER NAME: a line of TAP, and the end of the trace if it failed
result() {
	if [ "$1" = yes ]; then
		echo "ok $2 - $3"
		return
	fi
	sed 's/^/# /' /tmp/strace.tap
	echo "# between the marks: ${between:-no marks} calls; the end of the trace:"
	tail -n 5 $trace | sed 's/^/# /'
	echo "not ok $2 - $3"
	bad=1
}

if ! command -v strace > /dev/null; then
	echo "ok 1 - sees_calls_without_the_mapping # SKIP there is no strace"
	echo "ok 2 - no_call_with_the_mapping # SKIP there is no strace"
	exit 0
fi
between=$(TWHEEL_TEST_NO_MAPPING=1 calls)
[ "${between:-0}" -ge 400 ] && good=yes || good=no
result "$good" 1 sees_calls_without_the_mapping
if ! twheel info | grep -q '^Features:.* submit'; then
	echo "ok 2 - no_call_with_the_mapping # SKIP this kernel has no shared mapping"
	exit "${bad:-0}"
fi
between=$(calls)
[ "$between" = 0 ] && good=yes || good=no
result "$good" 2 no_call_with_the_mapping
exit "${bad:-0}"
