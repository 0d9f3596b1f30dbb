#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# timer_list.sh FILE...: move the files of a module from struct timer_list to twheel, in
# place, with timer_list.sed. Give it all that name timers, headers included. Prints what is
# left to do by hand, and perhaps more: fields of other structures have the same names.
# tools/doc/migration.md says what becomes of each.
[ $# != 0 ] || { echo "usage: $0 FILE..." >&2; exit 2; }
sed -E -s -i -f "$(dirname "$0")/timer_list.sed" "$@" || exit
grep -HnE 'timer_list\b|\b(mod|add|del)_timer\w*\(|\b(from_)?timer_(setup|reduce)\w*\(|\bsk_(reset|stop)_timer\w*\(|(\.|->)expires\b|timer\w*(\.|->)function\b|\b(__)?TIMER_[A-Z]+\b|work(\.|->)timer\b|\bsk_timer\b|\btwheel_(arm|modify)\w*\(.*> 0|\b(__)?round_jiffies|\bwhile\b.*\btwheel_try_cancel\(' "$@"
! grep -qE 'sk_(reset|stop)_twheel' "$@" || echo "sk_reset_twheel(), sk_stop_twheel(): twheel_port.h has them"
grep -q TWHEEL_IMPORT "$@" || echo "TWHEEL_IMPORT(): in one file of the module"
