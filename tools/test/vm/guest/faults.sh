# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does for make faults: the tests, until one fails.

out=/dev/results
stty -F $out raw 2>/dev/null

# Leaks are looked for at the end, and not beside the tests.
leaks=/sys/kernel/debug/kmemleak
[ ! -w $leaks ] || echo scan=off > $leaks
# Inject faults into allocations that may sleep as well.
for knob in /sys/kernel/debug/fail*/ignore-gfp-wait; do
	[ ! -w "$knob" ] || echo N > "$knob"
done
for knob in /sys/kernel/debug/fail*/verbose; do
	[ ! -w "$knob" ] || echo 0 > "$knob"
done
insmod /modules/twheel.ko
for module in twheel_kunit twheel_kunit_smp; do
	[ -e /modules/$module.ko ] || continue
	dmesg -c > /dev/null
	insmod /modules/$module.ko &
	suites=$!
	# The first case that fails is enough: a suite logs each result at once.
	while kill -0 $suites 2> /dev/null; do
		sleep 2
		dmesg -c | grep 'not ok' > /tmp/results && break 2
	done
	cat /sys/kernel/debug/kunit/*/results > /tmp/results
	! grep -q 'not ok' /tmp/results || break
	rmmod $module
done
: >> /tmp/results
if ! grep -q 'not ok' /tmp/results; then
	# A fault that makes a test hang is to be found before the guest is ended.
	export TWHEEL_TEST_LIMIT_S=120
	for program in /tests/*; do
		[ -e "$program" ] || continue
		# The host sees by each line that there is progress.
		{ $program; echo $? > /tmp/status; } | tee /tmp/results > $out
		[ "$(cat /tmp/status)" = 0 ] || break
	done
fi
cat /tmp/results > $out
if [ -w $leaks ] && ! grep -q 'not ok' /tmp/results; then
	rmmod twheel
	# What one scan alone finds may be on its way to its place: scan twice.
	echo scan > $leaks
	sleep 6
	echo scan > $leaks
	cat $leaks > /tmp/leaks
	[ ! -s /tmp/leaks ] || echo "not ok - it leaks" > $out
fi
echo @complete > $out
