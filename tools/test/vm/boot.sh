#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Boot a kernel in QEMU and wait for it to end, for a bounded time.
#
#   boot.sh --kernel IMAGE --initrd FILE [--console LOG] [--results FILE]
#           [--cpus N] [--memory SIZE] [--timeout SECONDS] [--append WORDS]
#           [--disk IMAGE] [--icount] [--memory-file FILE]
#
# The console goes to LOG, or to the terminal. What the guest writes to its second
# serial port goes to FILE. IMAGE is /dev/vda there, and keeps what is written to it.
# With --icount the guest has one CPU, whose clock advances by one nanosecond an
# instruction: every run is the same. The guest's memory is FILE, if one is named, and
# can be read there when it has died.
# Status: 0 the guest has ended, 1 it had to be ended, 2 usage.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

kernel='' initrd='' console='' results=null cpus=2 memory=2G limit=600 append=''
icount='' disk=() machine=()
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=$2; shift 2 ;;
	--initrd) initrd=$2; shift 2 ;;
	--console) console=file:$2; shift 2 ;;
	--results) results=file:$2; shift 2 ;;
	--cpus) cpus=$2; shift 2 ;;
	--memory) memory=$2; shift 2 ;;
	--timeout) limit=$2; shift 2 ;;
	--append) append=$2; shift 2 ;;
	--disk) disk=(-drive "file=$2,format=raw,if=virtio"); shift 2 ;;
	--icount) icount=1; shift ;;
	--memory-file) machine=("$2"); shift 2 ;;
	*) say "boot.sh: unknown option $1"; exit 2 ;;
	esac
done
if [ ! -r "$kernel" ] || [ ! -r "$initrd" ]; then
	say "boot.sh: --kernel and --initrd have to name files"
	exit 2
fi

# /dev/kvm may be there and of no use: the CPU's own flags tell.
if [ -n "$icount" ]; then
	accel=(-accel tcg -icount 'shift=0,sleep=off' -cpu max)
	cpus=1
elif grep -qE '^flags.*\b(vmx|svm)\b' /proc/cpuinfo && [ -w /dev/kvm ]; then
	accel=(-accel kvm -cpu host)
else
	accel=(-accel 'tcg,thread=multi' -cpu max)
fi

if [ ${#machine[@]} != 0 ]; then
	machine=(-object "memory-backend-file,id=ram,size=$memory,mem-path=${machine[0]},share=on"
		-machine memory-backend=ram)
fi

timeout --kill-after=10 "$limit" qemu-system-x86_64 "${accel[@]}" \
	-smp "$cpus" -m "$memory" "${machine[@]}" -no-reboot -display none \
	-monitor none -net none "${disk[@]}" -kernel "$kernel" -initrd "$initrd" \
	-serial "${console:-stdio}" -serial "$results" \
	-append "console=ttyS0 reboot=t panic=-1 $append" < /dev/null &
CHILD=$!
status=0
wait "$CHILD" || status=$?
CHILD=
case $status in
0) ;;
124 | 137)
	say "the guest did not end within $limit s, and was ended"
	exit 1 ;;
*)
	say "QEMU ended with status $status"
	exit 1 ;;
esac
