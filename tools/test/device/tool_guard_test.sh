#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# twheel guard where the kernel acts for it. What it does without the device is in
# test/library/guard_test.py. What has to be acted upon hangs for ever. What must not be acted
# upon feeds a thousand times in its timeout, for more than two timeouts.
echo "1..18"
# shellcheck source=lib/tap.sh
. /tap.sh
groups=/tmp/guard_groups
tracing=/sys/kernel/debug/tracing
mkdir -p $groups
mount -t cgroup2 none $groups
mkdir $groups/frozen
all='all of the group'
[ -e $groups/frozen/cgroup.kill ] || all='the process alone'

# shellcheck disable=SC2317 # wants() calls them
hangs() { twheel guard --verbose --timeout 200ms --grace 1h "$@"; }
# shellcheck disable=SC2317
feeds() { twheel guard --verbose --timeout 2s --start 100s --grace 1h "$@"; }

# begins STATUS TEXT COMMAND...: wants, beside others
begun=0
begins() {
	begun=$((begun + 1))
	{
		prints /tmp/said.$begun "$@"
		echo $? > /tmp/ended.$begun
	} &
}

# all_end: whether each of those has done what was wanted
all_end() {
	wait
	wrong=0
	for i in $(seq $begun); do
		[ "$(cat /tmp/ended."$i")" = 0 ] || { wrong=1; cp /tmp/said."$i" "$said"; }
	done
	begun=0
	return $wrong
}

# starts FILE COMMAND...: in the background; sets guard and command to the numbers of both, and
# child to what can be waited for
starts() {
	file=$1
	shift
	"$@" > "$file" 2>&1 &
	child=$!
	guard=
	while [ -z "$guard" ]; do
		sleep 0.05
		guard=$(sed -n 's/.*; the guard is process \([0-9]*\),.*/\1/p' "$file")
	done
	command=$(sed -n 's/.*: process \([0-9]*\) is guarded.*/\1/p' "$file")
}

lives() {
	case $(sed 's/.*) //; s/ .*//' /proc/"$1"/stat 2> /dev/null) in
	'' | Z | X) return 1 ;;
	esac
}

# It waits for as long as that takes.
dies() {
	while lives "$1"; do
		sleep 0.1
	done
}

# What the guard says. Without cells, it acts itself.
acts="the kernel acts by /dev/twheel on $all" sent='the kernel sent SIGABRT to process'
if ! twheel info | grep -q '^Features:.* cells'; then
	acts='without /dev/twheel: ' sent='SIGABRT to process'
fi

# in_time COMMAND...: until the kernel was the first. On a busy machine it may be late, and then
# the guard acts itself.
in_time() {
	for _ in $(seq 30); do
		"$@" || return
		! grep -q "lease 'main' ran out .*: $sent" "$said" || return 0
	done
	return 1
}

# counts PID KEY: what fdinfo has of the file of a guard
counts() {
	sed -n "s/^$2:[^0-9]*//p" /proc/"$1"/fdinfo/* | head -n 1
}

wants 0 "$acts" feeds true &&
	wants 3 '' feeds sh -c 'exit 3' && wants 127 '' feeds /nothing
result $? ends_as_the_command

begins 0 '' feeds guarded feed 5000
begins 0 '' feeds --clock boottime guarded feed 5000
begins 0 '' feeds guarded exec 5000
begins 0 '' feeds sh -c 'guarded feed 5000; exit'
begins 0 '' feeds guarded fork-opens 5000
all_end
result $? feeding_keeps
# Each slot is used by a longer lease after a shorter one.
begins 0 '' feeds guarded closed 3000
begins 0 '' feeds guarded refusals
all_end
result $? leases_are_closed

in_time wants 124 '' hangs guarded hang &&
	wants 124 'SIGTERM' hangs --signal TERM guarded hang &&
	wants 124 '' hangs --clock boottime guarded hang &&
	wants 124 '^lost$' hangs --start 100s --signal TERM guarded lost &&
	wants 137 'all that was left is killed' hangs --signal KILL guarded hang
result $? what_hangs_is_acted_upon
# As in a container, which ends with it.
in_time wants 124 '' unshare -p -f --mount-proc \
	twheel guard --verbose --timeout 200ms --start 100s --grace 1h guarded hang
result $? it_is_process_1
wants 0 '' hangs --start 100s sleep 1 && wants 124 "'main'" hangs --start 100s guarded hang
result $? the_first_feed_may_take_longer
wants 124 "lease 'bad one' ran out" feeds guarded leases
result $? the_lease_is_named
wants 124 "'main'" hangs --grace 200ms guarded fork
result $? a_child_does_not_feed

# A stopped process handles no signal: the second stage ends it.
stubborn='trap "" ABRT; (trap "" ABRT; setsid sleep 1000000) & guarded feed 0; kill -STOP $$
while :; do sleep 1; done'
wants 137 'all that was left was killed' hangs --start 100s --grace 200ms \
	sh -c "$stubborn"
result $? the_rest_is_killed

for slot in 0 1 5; do
	for word in 0 1 0xffffffffffffffff 0x8000000000000000; do
		begins 124 'ran out' feeds guarded stray "$word" "$slot"
	done
done
begins 124 "'main'" feeds guarded far 0
begins 124 "'step'" feeds guarded far 1
begins 124 "'step'" feeds guarded unseen
all_end
result $? stray_writes_act

[ "$sent" != 'SIGABRT to process' ] ||
	skip "this kernel has no cells" the_guard_is_killed the_guard_is_stopped all_is_frozen \
		nothing_is_done_at_the_end what_is_done_is_counted without_permission \
		without_such_a_grace without_the_device

# What hangs is acted upon when the guard is gone, and what feeds is not.
starts /tmp/hangs twheel guard --verbose --timeout 2s --grace 200ms \
	sh -c "(trap '' ABRT; exec sleep 1000000) & echo \$! > /tmp/child; trap '' ABRT; guarded hang"
hangs=$command
kill -KILL "$guard"
# Its second stage keeps the file, and so the module, for the grace.
starts /tmp/feeds feeds --grace 200ms sh -c 'guarded feed 8000; echo $? > /tmp/fed'
kill -KILL "$guard"
dies "$hangs"
[ "$all" != 'the process alone' ] || kill -KILL "$(cat /tmp/child)"
dies "$(cat /tmp/child)"
dies "$command"
[ "$(cat /tmp/fed)" = 0 ]
result $? the_guard_is_killed

# The guard may be the one that does not run.
starts /tmp/feeds feeds guarded feed 8000
feeds=$guard fed=$child
kill -STOP "$feeds"
starts /tmp/hangs hangs guarded hang
kill -STOP "$guard"
dies "$command"
kill -CONT "$guard"
wait "$child"
wrong=0
cp /tmp/hangs "$said"
grep -q "'main' ran out" /tmp/hangs || wrong=1
sleep 5
kill -CONT "$feeds"
wait "$fed" || wrong=1
result $wrong the_guard_is_stopped

# With what it guards: all in one group.
echo '#!/bin/sh
echo $$ > '$groups'/frozen/cgroup.procs
exec "$@"' > /tmp/join
chmod +x /tmp/join
starts /tmp/hangs /tmp/join twheel guard --verbose --timeout 2s --grace 200ms guarded hang
if [ "$all" = 'the process alone' ] || [ ! -e $groups/frozen/cgroup.freeze ]; then
	kill -KILL "$command"
	result 0 "all_is_frozen # SKIP this kernel cannot kill a group"
else
	echo 1 > $groups/frozen/cgroup.freeze
	dies "$command"
	echo 0 > $groups/frozen/cgroup.freeze
	cp /tmp/hangs "$said"
	dies "$guard"
	grep -q "'main' ran out" /tmp/hangs
	result $? all_is_frozen
fi

# What is left behind is waited for, and no lease runs out meanwhile.
echo > $tracing/trace
echo 1 > $tracing/events/twheel/twheel_act/enable
starts /tmp/feeds twheel guard --verbose --timeout 2s --grace 1h \
	sh -c 'sleep 1000000 & echo $! > /tmp/child; exit 5'
dies "$command"
sleep 3
acted=$(counts "$guard" acted) failed=$(counts "$guard" failed)
kill "$(cat /tmp/child)"
wait "$child"
counted="$? $acted $failed"
wants 0 '' feeds guarded feed 100
sleep 1
echo 0 > $tracing/events/twheel/twheel_act/enable
grep -v '^#' $tracing/trace > "$said"
[ "$counted" = '5 0 0' ] && [ ! -s "$said" ]
result $? nothing_is_done_at_the_end

# An action that is done is counted once, and none as failed. The handler is there before the feed.
# shellcheck disable=SC2317 # in_time() calls it
counts_once() {
	starts /tmp/hangs hangs --start 100s \
		sh -c 'trap "echo came" ABRT; guarded feed 0; while :; do sleep 0.1; done'
	while ! grep -q came /tmp/hangs; do
		sleep 0.1
	done
	acted=$(counts "$guard" acted) failed=$(counts "$guard" failed)
	kill -KILL "$command"
	wait "$child"
	counted="$? $acted $failed"
	cp /tmp/hangs "$said"
	echo "$counted" >> "$said"
	[ "$counted" = '137 1 0' ]
}
in_time counts_once
result $? what_is_done_is_counted

# Where it may not be used, or refuses, all is as without.
chmod 600 /dev/twheel
mkdir -p /etc
grep -q '^nobody:' /etc/passwd 2> /dev/null || echo 'nobody:x:65534:65534::/:/bin/sh' >> /etc/passwd
wants 124 'without /dev/twheel: Permission denied' su -s /bin/sh nobody \
	-c 'twheel guard --verbose --timeout 200ms guarded hang'
result $? without_permission
chmod 666 /dev/twheel
wants 124 'without /dev/twheel: ' hangs --grace 2h guarded hang
result $? without_such_a_grace
mv /dev/twheel /dev/away
wants 124 'without /dev/twheel: No such file' hangs guarded hang &&
	wants 0 '' feeds guarded feed 5000
result $? without_the_device
mv /dev/away /dev/twheel
rmdir $groups/frozen
umount $groups
exit "${bad:-0}"
