#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The command twheel, as a person calls it.
echo "1..11"
n=0

# result STATUS NAME
result() {
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "# the last output:"
		sed 's/^/# /' /tmp/tool.out
		echo "not ok $n - $2"
		bad=1
	fi
}

# wants STATUS TEXT COMMAND...: the command ends so, and says so
wants() {
	status=$1 text=$2
	shift 2
	"$@" > /tmp/tool.out 2>&1 < /dev/null
	[ $? = "$status" ] && grep -q "$text" /tmp/tool.out
}

wants 0 'levels' twheel info; result $? info
wants 0 '"tick_ns":1000000,' twheel info --json; result $? info_json
wants 0 'after the deadline' twheel after 50ms; result $? after
wants 7 'after the deadline' twheel after 1ms sh -c 'exit 7'
result $? after_runs_a_command
wants 0 '^3: fired' twheel every 20ms --count 3; result $? every
wants 0 '2000 of 2000 fired, 0 early, 0 twice, 0 never' \
	twheel load --count 2000 --max-delay 300ms; result $? load
wants 0 '"count":500,"armed":500,"fired":500,"early":0,"twice":0,"never":0' \
	twheel load --count 500 --max-delay 1s --tick 100us --slots 4 \
	--clock boottime --json; result $? load_json

wants 0 '^timeout 42: ' after; result $? example_after
wants 0 '^timeout 42: ' user; result $? example_of_the_readme

for command in 'twheel' 'twheel nothing' 'twheel after' 'twheel after 1x' \
	'twheel after 999999999999d' 'twheel every 1ms --count 0' \
	'twheel load --count 0' 'twheel load --count x' 'twheel load extra' \
	'twheel after --clock sun 1s' 'twheel info --what' \
	'twheel load --min-delay 2s --max-delay 1s'; do
	# shellcheck disable=SC2086
	wants 2 . $command || break
done
result $? wrong_usage_is_2
rm -f /tmp/away; mv /dev/twheel /dev/away
wants 1 'modprobe twheel' twheel after 1ms; result $? missing_device_is_explained
mv /dev/away /dev/twheel
exit ${bad:-0}
