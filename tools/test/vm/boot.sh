#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Boot a kernel in QEMU and wait for the guest to end.
#
#   boot.sh --kernel IMAGE --initrd FILE [--console LOG] [--results FILE]
#           [--cpus N] [--memory SIZE] [--append WORDS] [--patience SECONDS]
#           [--disk IMAGE] [--icount] [--memory-file FILE]
#
# The console goes to LOG, or to the terminal. FILE gets what the guest writes to its second
# serial port, or to a console of virtio. For its programs both are /dev/results. The guest
# is of GUEST_ARCH (see arch.sh), or of the host's kind. IMAGE is /dev/vda in the guest, which
# may write to it.
# With --icount the guest has one CPU, whose clock advances by one nanosecond an
# instruction: every run is the same. With --memory-file the guest's memory is that
# file, which can be read after the guest has died.
#
# A guest may take as long as it likes, so that a slow or busy machine fails no test.
# A guest is stuck if it writes nothing to its console or results for SECONDS of its own time:
# 600, or PATIENCE= of the environment. It is ended then: see progresses(). FILE gets a last line "@stuck", which
# says what the guest was doing. A kernel that dies before its first program has not met
# the module, and is booted once more; so is one that the emulator killed, see stale_int3().
# Status: 0 the guest has ended, 1 it had to be ended, 2 usage.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

kernel='' initrd='' console='' results='' cpus=2 memory=2G append=''
PATIENCE=${PATIENCE:-600} icount='' disk=() machine=()
while [ $# -gt 0 ]; do
	case $1 in
	--kernel) kernel=$2; shift 2 ;;
	--initrd) initrd=$2; shift 2 ;;
	--console) console=$2; shift 2 ;;
	--results) results=$2; shift 2 ;;
	--cpus) cpus=$2; shift 2 ;;
	--memory) memory=$2; shift 2 ;;
	--patience) PATIENCE=$2; shift 2 ;;
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

qemu=(qemu-system-x86_64)
# /dev/kvm may exist and be useless: the CPU's own flags tell.
if [ -n "${GUEST_ARCH:-}" ]; then
	qemu=("${arch_qemu[@]}" -accel 'tcg,thread=multi')
elif [ -n "$icount" ]; then
	qemu+=(-accel tcg -icount 'shift=0,sleep=off' -cpu max)
	cpus=1
elif grep -qE '^flags.*\b(vmx|svm)\b' /proc/cpuinfo && [ -w /dev/kvm ]; then
	qemu+=(-accel kvm -cpu host)
else
	# With five levels of page tables, an interrupt during identify_boot_cpu() makes
	# KASAN assume four, and kills the guest.
	qemu+=(-accel 'tcg,thread=multi' -cpu 'max,la57=off')
fi

if [ ${#machine[@]} != 0 ]; then
	machine=(-object "memory-backend-file,id=ram,size=$memory,mem-path=${machine[0]},share=on"
		-machine memory-backend=ram)
fi
if [ -n "$console" ]; then
	serial=(-serial "file:$console")
else
	# The terminal has it, and a file by which progress is seen.
	console=$SCRATCH/console
	serial=(-chardev "stdio,id=terminal,signal=off,logfile=$console"
		-serial chardev:terminal)
fi
results=${results:-$SCRATCH/results}
port=(-serial "file:$results") kernel_words='console=ttyS0 reboot=t'
if [ -n "${GUEST_ARCH:-}" ]; then
	kernel_words="console=$arch_console ${arch_words//COUNT/$((cpus + 1))}"
	if [ ${#arch_port[@]} != 0 ]; then
		port=(-chardev "file,id=port,path=$results" "${arch_port[@]}")
		kernel_words+=" results_port=hvc0"
	fi
fi

# watch_guest: wait for CHILD as long as it makes progress. Sets status.
watch_guest() {
	status=0
	if ! progresses "$CHILD" "$console" "$results"; then
		kill -KILL "$CHILD"
		wait "$CHILD" 2> /dev/null || :
		stuck "no progress for $PATIENCE s, after $(tail -qn 1 "$results" \
			"$console" | tr -cd '[:print:]\n' | paste -sd ' ')"
		status=1
	else
		wait "$CHILD" || status=$?
		[ "$status" = 0 ] || stuck "QEMU ended with status $status"
	fi
	CHILD=
	[ "$status" = 0 ] || status=1
}

# stuck WHY: say so, here and where the results are judged
stuck() {
	say "the guest was ended: $1"
	printf '\n@stuck %s\n' "$1" >> "$results"
}

# stale_int3: whether the kernel died of an int3 that its memory does not have. Linux puts one
# over an instruction while it changes it, and takes it away when every CPU has been interrupted.
# QEMU 7.2 may run an old translation after that, with several CPUs: Debian's 6.12 without any
# module dies within a second of switching kernel.sched_schedstats on and off. QEMU 10 does not.
stale_int3() {
	awk '/ int3: [0-9]+ \[#1\]/ { died = 1 }
		died && / Code: / {
			for (i = 2; i <= NF; i++)
				if ($i ~ /^</)
					stale = $(i - 1) != "cc"
			exit
		}
		END { exit !stale }' "$console"
}

for try in 1 2; do
	: > "$console"
	: > "$results"
	"${qemu[@]}" \
		-smp "$cpus" -m "$memory" "${machine[@]}" -no-reboot -display none \
		-monitor none -net none "${disk[@]}" -kernel "$kernel" \
		-initrd "$initrd" "${serial[@]}" "${port[@]}" \
		-append "$kernel_words panic=-1 $append" < /dev/null &
	CHILD=$!
	watch_guest
	if [ "$try" = 2 ]; then
		break
	elif stale_int3; then
		say "the emulator ran an int3 that is gone (QEMU before 10): once more"
	elif ! grep -aqv '^@stuck\|^$' "$results" && ! grep -aq 'Run /init' "$console"; then
		say "the kernel did not come up: once more"
	else
		break
	fi
	cp "$console" "$console-1"
done
exit "$status"
