#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The example twheel_retry: attempts, the delays between them, and how it ends, by what it
# says in the kernel log.
echo "1..5"
# shellcheck source=lib/tap.sh
. /tap.sh

# told COUNT TEXT: the module has said it so often, some time; all of it is in "said"
told() {
	for _ in $(seq 300); do
		dmesg | sed -n 's/.*twheel_retry: //p' > "$said"
		[ "$(grep -cE "$2" "$said")" -lt "$1" ] || return 0
		sleep 0.2
	done
	return 1
}

dmesg -c > /dev/null
insmod /modules/twheel_retry.ko && told 8 'succeeded|given up' && rmmod twheel_retry
result $? each_request_ends

# Number i at attempt 1 + i, and those that would need more than six not at all.
{
	for i in 0 1 2 3 4 5; do
		echo "request $i succeeded at attempt $((i + 1))"
	done
	echo "request 6 given up after attempt 6"
	echo "request 7 given up after attempt 6"
} > /tmp/ends
grep -v failed "$said" | sort | cmp -s - /tmp/ends
result $? attempts_are_bounded

# failed ATTEMPT: the delays after it, in ns
failed() {
	sed -n "s/.* failed at attempt $1, waits for \(.*\) ns$/\1/p" "$said"
}

# 10, 20, 40, 80 and again 80 ms, less up to a half, for those that need more attempts.
status=0 most=10000000
for attempt in 1 2 3 4 5; do
	[ "$(failed $attempt | grep -c .)" = $((8 - attempt)) ] || status=1
	for delay in $(failed $attempt); do
		[ "$delay" -le $most ] && [ "$delay" -ge $((most / 2)) ] || status=1
	done
	[ $most = 80000000 ] || most=$((2 * most))
done
result $status delays_double_up_to_a_longest_one

# Seven requests failed together.
[ "$(failed 1 | sort -u | grep -c .)" -gt 3 ]
result $? jitter_tells_them_apart

# All but the first wait for a minute or more.
dmesg -c > /dev/null
insmod /modules/twheel_retry.ko first_ms=120000 && told 7 'failed at attempt 1' &&
	rmmod twheel_retry && told 7 'cancelled after attempt 1$' &&
	! grep -qE 'attempt [2-9]' "$said"
result $? what_waits_is_cancelled
