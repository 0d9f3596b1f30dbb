#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What the guest of make packages does, as systemd's only job: try what is installed,
# upgrade it while it is loaded, and remove it.
export HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec < /dev/null > /dev/ttyS0 2>&1
out=/dev/ttyS1
stty -F $out raw

# The host ends a guest that prints nothing for long. DKMS compiles for minutes and prints
# nothing, so its log is shown here.
follow() {
	local log shown=

	while sleep 10; do
		for log in /var/lib/dkms/twheel/*/build/make.log; do
			[ ! -e "$log" ] || [ "$(tail -n 1 "$log")" = "$shown" ] || {
				shown=$(tail -n 1 "$log")
				echo "$shown"
			}
		done
	done
}
follow &

check() {
	local what=$1

	shift
	echo "== $what"
	if ("$@"); then
		echo "ok $what" > $out
	else
		echo "FAIL $what" > $out
	fi
}

version() {
	[ "$(cat /sys/module/twheel/version)" = "$1" ]
}

permission() {
	ls -l /dev/twheel
	[ "$(stat -c '%U %G %a' /dev/twheel)" = "root twheel 660" ]
}

# as GROUP COMMAND...: run it as an ordinary user in that group
as() {
	local group=$1

	shift
	setpriv --reuid=1000 --regid=65534 --groups="$(getent group "$group" |
		cut -d: -f3)" --no-new-privs "$@"
}

others_cannot() {
	! as nogroup twheel after 1s
}

six_lines() {
	insmod /twheel/try/module/six_lines.ko && sleep 3 &&
		dmesg | grep 'a second has passed' && rmmod six_lines
}

completes() {
	# shellcheck source=/dev/null
	. /usr/share/bash-completion/completions/twheel
	COMP_WORDS=(twheel af) COMP_CWORD=1
	_twheel
	[ "${COMPREPLY[*]}" = after ]
}

# Each of the tracers that people have sees a timer that fires.
perf_sees() {
	perf record -q -a -e twheel:twheel_expire_entry -o /tmp/perf.data \
		twheel after 100ms &&
		perf script -i /tmp/perf.data | grep 'twheel_expire_entry: .*late'
}

trace_cmd_sees() {
	trace-cmd record -q -e twheel -o /tmp/trace.dat twheel after 100ms &&
		trace-cmd report -i /tmp/trace.dat > /tmp/trace &&
		grep ' twheel_arm: ' /tmp/trace &&
		grep ' twheel_expire_entry: .*late' /tmp/trace
}

bpftrace_sees() {
	bpftrace -c '/usr/bin/twheel after 100ms' \
		/usr/share/twheel/bpftrace/lateness.bt > /tmp/bpftrace
	cat /tmp/bpftrace
	grep '^@late_us\[[0-9]*, /dev/twheel]:' /tmp/bpftrace
}

upgrade() {
	apt-get -qy install /twheel/next/*.deb
}

# The old module stays while it is in use, and the removal of the package succeeds.
remove_in_use() {
	local status

	exec 7<> /dev/twheel
	apt-get -qy remove twheel-dkms
	status=$?
	[ -d /sys/module/twheel ] || status=1
	exec 7>&-
	rmmod twheel || status=1
	return $status
}

gone() {
	[ ! -e /dev/twheel ] && [ ! -d /sys/module/twheel ] &&
		[ -z "$(find /lib/modules /var/lib/dkms /usr/src -name '*twheel*')" ]
}

check "the module is loaded by the boot" [ -d /sys/module/twheel ]
was=$(modinfo -F version twheel)
check "it is the version that is installed" version "$was"
udevadm settle -t 60
check "the device is the group's" permission
check "a member runs twheel after 1s" as twheel twheel after 1s
check "who is no member cannot" others_cannot
check "a program that uses the ABI" as twheel /twheel/try/program/device
check "a program that uses the library" as twheel /twheel/try/program/library
check "a module of six lines of Makefile loads, and its timer fires" six_lines
check "bash completes" completes
check "perf sees its events" perf_sees
check "trace-cmd sees them" trace_cmd_sees
check "bpftrace sees them" bpftrace_sees
check "an upgrade, DKMS compiling here" upgrade
check "the loaded module is the new one" \
	version "$(dpkg-query -W -f '${Version}' twheel-dkms)"
check "and no longer the old one" [ "$was" != "$(cat /sys/module/twheel/version)" ]
check "the device is still the group's" permission
check "twheel after 1s, upgraded" as twheel twheel after 1s
check "the module of six lines fits the upgrade" six_lines
check "removal while a program has it open" remove_in_use
check "purge" dpkg --purge twheel-dkms twheel-tools libtwheel1 libtwheel-dev \
	python3-twheel twheel-doc
check "no module, no device, no entry of DKMS is left" gone
echo complete > $out
