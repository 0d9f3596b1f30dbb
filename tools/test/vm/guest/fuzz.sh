# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does for make fuzz: fuzz, and look for memory that has leaked. All that
# is to be judged goes to the second serial port.

out=/dev/results
stty -F $out raw 2>/dev/null
leaks=/sys/kernel/debug/kmemleak

echo "@begin $(uname -r) $(nproc)" > $out
# Looking for leaks by and by takes CPUs from the fuzzer.
[ ! -w $leaks ] || echo scan=off > $leaks
# Limits that programs reach.
insmod /modules/twheel.ko limit_timers=40000 user_timers=4096 || exit
chmod 666 /dev/twheel
# A group that may be killed.
group=/sys/fs/cgroup/fuzz
mount -t cgroup2 none /sys/fs/cgroup && mkdir $group && chmod 666 $group/cgroup.kill
# shellcheck disable=SC2046
fuzz $(cat /arguments) > $out 2> /tmp/errors
status=$?
echo "@status $status" > $out
sed 's/^/# /' /tmp/errors > $out
if ! rmmod twheel; then
	echo "@failure - the module is still in use" > $out
	echo "@end" > $out
fi
# A scan takes a minute, and is left out where a failure has been found already.
if [ -w $leaks ] && [ $status = 0 ]; then
	# What one scan alone finds may be on its way to its place: scan twice.
	echo scan > $leaks
	sleep 6
	echo scan > $leaks
	echo "@leaks" > $out
	cat $leaks > $out
	echo "@end" > $out
fi
echo "@over" > $out
