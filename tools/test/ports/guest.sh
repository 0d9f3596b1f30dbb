# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does for make ports: load one kind of a module, drive its traffic,
# unload it; then the other kind. The results of each come one a line, with its kind.

out=/dev/results
stty -F $out raw 2>/dev/null
kind=

# The shell would take its own one for granted.
ip() {
	if [ -e /sbin/ip ]; then /sbin/ip "$@"; else busybox ip "$@"; fi
}

# is WHAT WANTED SAW
is() {
	if [ "$2" = "$3" ]; then
		echo "$kind ok $1: $3" > $out
	else
		echo "$kind FAIL $1: $3, and not $2" > $out
	fi
}

# within WHAT LEAST MOST SAW: what may differ between the kinds
within() {
	if [ "${4:--1}" -ge "$2" ] && [ "$4" -le "$3" ]; then
		echo "$kind ok $1: $2 to $3" > $out
	else
		echo "$kind FAIL $1: $4, and not $2 to $3" > $out
	fi
	figure "$1" "$4"
}

# own WHAT LEAST MOST SAW: what only a wheel does
own() {
	if [ "$kind" = stock ]; then
		return
	elif [ "${4:--1}" -ge "$2" ] && [ "$4" -le "$3" ]; then
		echo "$kind own ok $1: $2 to $3" > $out
	else
		echo "$kind own FAIL $1: $4, and not $2 to $3" > $out
	fi
}

# figure WHAT SAW: only shown
figure() { echo "$kind figure $1: $2" > $out; }

# shellcheck source=/dev/null
. /traffic
for kind in stock ported; do
	while read -r file; do
		insmod "$file" || echo "$kind FAIL load $file" > $out
	done < /load/$kind
	traffic
	tac /load/$kind > /tmp/unload
	while read -r file; do
		name=${file##*/}
		rmmod "${name%.ko}" || echo "$kind FAIL unload $file" > $out
	done < /tmp/unload
done
echo @complete > $out
