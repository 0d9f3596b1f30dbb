#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Requests through io_uring with a timeout each. strace counts the calls between the marks:
# there must be few of them, and only those of the ring.
echo "1..3"
trace=/tmp/uring.trace

# result GOOD NUMBER NAME: a line of TAP; what the program said, if it failed
result() {
	if [ "$1" = yes ]; then
		echo "ok $2 - $3"
		return
	fi
	sed 's/^/# /' /tmp/uring.out
	tail -n 5 $trace | sed 's/^/# /'
	echo "not ok $2 - $3"
	bad=1
}

# skip WHY TEST...: these, which are the last
skip() {
	why=$1
	shift
	for line; do
		echo "ok $line # SKIP $why"
	done
	exit "${bad:-0}"
}

uring_requests > /tmp/uring.out 2>&1
[ $? != 77 ] || skip "this kernel has no io_uring, or no commands of it" \
	"1 - requests_time_out" "2 - few_calls" "3 - only_of_the_ring"
wants='^200 requests: 100 answered, 100 timed out, 0 early, 0 wrong$'
grep -q "$wants" /tmp/uring.out && good=yes || good=no
: > $trace
result "$good" 1 requests_time_out

strace -f -o $trace uring_requests > /tmp/uring.out 2>&1
# To read the clock is a call only where the machine's clock cannot be read from userspace.
between=$(awk '/getppid\(/ { marks++; next }
	/clock_gettime(64)?\(/ { next }
	marks == 1 { calls++ }
	marks == 1 && !/io_uring_enter/ { others++ }
	END { if (marks == 2) print calls + 0, others + 0 }' $trace)
echo "# calls, and those that are not the ring's: $between"
# One for each tick in which timeouts come, and some more.
[ "${between% *}" -gt 0 ] 2> /dev/null && [ "${between% *}" -lt 100 ] && good=yes || good=no
result "$good" 2 few_calls
[ "${between#* }" = 0 ] && good=yes || good=no
result "$good" 3 only_of_the_ring
exit "${bad:-0}"
