#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The scripts of tools/bpftrace, each beside something that it has to see. They are in
# /bpftrace, which the host fills if the kernel has what bpftrace needs.
echo "1..8"
# shellcheck source=lib/tap.sh
. /tap.sh
said=/tmp/bpftrace.out

[ ! -s /bpftrace/lacks ] || skip "the kernel lacks $(paste -sd ' ' /bpftrace/lacks)" \
	lateness one_wheel slow slow_only requeue armers armers_of_files wakeups

# watch COMMAND SCRIPT [ARGUMENT...]: what the script prints while the command runs. A
# warning, of lost events for example, is a fault.
watch() {
	beside=$1
	shift
	bpftrace -c "$beside" "$@" > $said 2>&1 && ! grep -iE 'warning|error|lost' $said
}

# sum MAP: the sum of the values of a map, or of the buckets of its histograms
sum() {
	awk -v map="@$1[" '
		index($0, map) == 1	{ inside = 1; if ($NF + 0) n += $NF; next }
		/^@/			{ inside = 0 }
		inside && /^[[(].*\|/	{ sub(/^[[(][^])]*[])]/, ""); n += $1 }
		END			{ print n + 0 }' $said
}

# key MAP TEXT: the map has a key like that
key() {
	grep -qE "^@$1\[$2\]: " $said
}

# Each of the 2000 is in a bucket of the histogram, and once.
watch '/bin/twheel load --count 2000 --max-delay 300ms' /bpftrace/lateness.bt &&
	[ "$(sum late_us)" = 2000 ] && key late_us '[0-9]+, /dev/twheel' &&
	[ "$(sum late_most_us)" -gt 0 ]
result $? lateness

# No wheel has this number.
watch '/bin/twheel load --count 100 --max-delay 100ms' /bpftrace/lateness.bt 4000000000 &&
	grep -q '^100 of 100 fired' $said && ! grep -q '^@' $said
result $? one_wheel

# Whatever takes a microsecond is slow: beats and watches of this module.
watch '/bin/insmod /modules/twheel_heartbeat.ko' /bpftrace/slow.bt 1 &&
	grep -qE '^[0-9:]{8} [0-9]+ +twheel_heartbea +[0-9]+ [a-z]' $said &&
	[ "$(sum slow)" = "$(grep -cE '^[0-9:]{8} [0-9]+ ' $said)" ] &&
	[ "$(sum slow)" -ge 1 ] && key longest_us '[a-z_]+'
result $? slow
rmmod twheel_heartbeat

# Nothing takes a quarter of an hour.
watch '/bin/insmod /modules/twheel_heartbeat.ko' /bpftrace/slow.bt 1000000000 &&
	grep -q '^TIME ' $said && ! grep -q twheel_heartbea $said
result $? slow_only
rmmod twheel_heartbeat

# 48 of the 64 watches of this module are touched again and again, as others beat.
watch '/bin/insmod /modules/twheel_heartbeat.ko' /bpftrace/requeue.bt &&
	[ "$(sum requeued)" -ge 48 ] && key requeued '[0-9]+, twheel_heartbea' &&
	[ "$(sum second_requeued)" -le "$(sum requeued)" ]
result $? requeue
rmmod twheel_heartbeat

watch '/bin/insmod /modules/twheel_heartbeat.ko' /bpftrace/armers.bt &&
	key tasks 'insmod, [0-9]+' && [ "$(sum tasks)" -ge 128 ] &&
	[ "$(sum tasks)" = "$(sum functions)" ]
result $? armers
rmmod twheel_heartbeat

# All timers of a file are armed by the task itself.
watch '/bin/twheel load --count 300 --max-delay 100ms' /bpftrace/armers.bt &&
	key tasks 'twheel, [0-9]+' && key functions '[0-9]+, /dev/twheel, .*' &&
	[ "$(sum tasks)" = 300 ] && [ "$(sum functions)" = 300 ]
result $? armers_of_files

# Each of the 64 watches and beats needs some wake-up, and few more come for cascades. The
# module is done in less than a second, and the script prints once a second.
printf '#!/bin/sh\n/bin/insmod /modules/twheel_heartbeat.ko\n/bin/sleep 3\n' > /tmp/beats
watch '/bin/sh /tmp/beats' /bpftrace/wakeups.bt &&
	[ "$(sum wakeups)" -ge 10 ] && [ "$(sum took_us)" = "$(sum wakeups)" ] &&
	key fired '[0-9]+, twheel_heartbea' && [ "$(sum fired)" -ge 64 ] &&
	[ "$(sum second_wakeups)" -ge 1 ]
result $? wakeups
rmmod twheel_heartbeat
exit "${bad:-0}"
