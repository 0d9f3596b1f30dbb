#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The parameters of the module. modinfo describes them, and they can be changed while it
# runs. Wrong values are refused by name, also when it is loaded.
folder=/sys/module/twheel/parameters
module=/modules/twheel.ko
# shellcheck source=lib/tap.sh
. /tap.sh

# The largest of a kernel's longs, and one more: those of 32 bits have modules of class 1.
largest=9223372036854775807 beyond=9223372036854775808
if [ "$(head -c 5 $module | tail -c 1 | tr '\1\2' 12)" = 1 ]; then
	largest=2147483647 beyond=2147483648
fi

# Name, smallest value, largest value, a value that is too small, one that is too large.
limits="
alarm_share 0 100 -1 101
alarm_share_all 0 100 -1 101
limit_timers 1 16777216 0 16777217
max_timers 1 16777216 0 16777217
tick_min_ns 1000 1000000000 999 1000000001
user_memory 0 $largest -1 $beyond
user_timers 0 $largest -1 $beyond
"
count=$(echo "$limits" | grep -c .)
echo "1..$((count + 4))"

# value_of NAME: sets value. It starts no program, since that is slow under emulation.
value_of() {
	read -r value < $folder/"$1"
}

# takes NAME VALUE: the value is taken, and stays
takes() {
	echo "$2" 2> /dev/null > $folder/"$1" && value_of "$1" &&
		[ "$value" = "$2" ]
}

# refuses NAME VALUE: the value is refused, and the old one stays
refuses() {
	value_of "$1"
	before=$value
	! echo "$2" 2> /dev/null > $folder/"$1" && value_of "$1" &&
		[ "$value" = "$before" ]
}

# refuses_all NAME VALUE...: each is refused, and the kernel's log says so
refuses_all() {
	name=$1
	shift
	dmesg -c > /dev/null
	for bad_value; do
		refuses "$name" "$bad_value" || return 1
	done
	dmesg > /tmp/log
	for bad_value; do
		grep -qF "twheel: parameter $name: '$bad_value' is not a number from" \
			/tmp/log || return 1
	done
}

echo "$limits" | grep . > /tmp/limits
while read -r name least most less more; do
	value_of "$name"
	default=$value
	takes "$name" "$least" && takes "$name" "$most" &&
		takes "$name" "$default" &&
		refuses_all "$name" "$less" "$more" x '' '1 2'
	result $? "$name"
	echo "$default" > $folder/"$name"
done < /tmp/limits

[ "$(find $folder -type f | wc -l)" = "$count" ]; result $? there_are_no_others

# modinfo prints the description of each, with its range and its default.
tr '\0' '\n' < $module | grep -a '^parm=' > /tmp/parm
wrong=0
while read -r name least most less more; do
	grep -a "^parm=$name:" /tmp/parm | grep -aq "($least to .*default [0-9]" ||
		wrong=1
done < /tmp/limits
result $wrong each_is_described

# What programs may ask for is the limit of what they have by default.
echo 100 > $folder/limit_timers
refuses_all max_timers 101 && takes max_timers 100
result $? one_is_below_another
echo 16777216 > $folder/limit_timers
echo 1048576 > $folder/max_timers

# With a wrong value, the module is not loaded.
rmmod twheel && ! insmod $module alarm_share=101 2> /dev/null &&
	! insmod $module tick_min_ns=fast 2> /dev/null &&
	! insmod $module limit_timers=5 max_timers=6 2> /dev/null &&
	insmod $module alarm_share=30 &&
	[ "$(cat $folder/alarm_share)" = 30 ]
result $? a_bad_one_keeps_the_module_out
[ -d $folder ] || insmod $module
echo 8 > $folder/alarm_share
exit "${bad:-0}"
