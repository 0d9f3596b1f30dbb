#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Requests through io_uring with a timeout each. strace counts the calls between the marks:
# there must be few of them, and only those of the ring.
echo "1..4"
trace=/tmp/uring.trace
# shellcheck source=lib/tap.sh
. /tap.sh
said=/tmp/uring.out

uring_requests > $said 2>&1
[ $? != 77 ] || skip "this kernel has no io_uring, or no commands of it" \
	requests_time_out with_a_later_header few_calls only_of_the_ring
wants='^200 requests: 100 answered, 100 timed out, 0 early, 0 wrong$'
grep -q "$wants" $said
result $? requests_time_out
timeout 300 uring_requests_later > $said 2>&1
grep -q "$wants" $said
result $? with_a_later_header

strace -f -o $trace uring_requests > $said 2>&1
tail -n 5 $trace >> $said
# To read the clock is a call only where the machine's clock cannot be read from userspace.
between=$(awk '/getppid\(/ { marks++; next }
	/clock_gettime(64)?\(/ { next }
	marks == 1 { calls++ }
	marks == 1 && !/io_uring_enter/ { others++ }
	END { if (marks == 2) print calls + 0, others + 0 }' $trace)
echo "# calls, and those that are not the ring's: $between"
# One for each tick in which timeouts come, and some more.
[ "${between% *}" -gt 0 ] 2> /dev/null && [ "${between% *}" -lt 100 ]
result $? few_calls
[ "${between#* }" = 0 ]
result $? only_of_the_ring
exit "${bad:-0}"
