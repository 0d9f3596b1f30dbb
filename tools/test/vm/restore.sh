#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make restore: a virtual machine with pending timers is saved, ended, and restored by
# another QEMU. No timer may be early, lost or seen twice. The last line is "N passed, N
# failed", with a case for each clock.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

clocks="monotonic boottime realtime tai"
say "a virtual machine is saved and restored while timers are pending"
need qemu-system-x86 busybox-static cpio kmod gcc libc6-dev make python3
lock_cache
stock_kernel 6.1

work=$CACHE/restore
mkdir -p "$work"
build_modules "$stock_headers" "$work/$stock_release"
build_tools "$work/tools"

root=$SCRATCH/files
mkdir -p "$root"/{modules,bin}
cp "$work/$stock_release/module/twheel.ko" "$root/modules/"
cp "$work/tools/cli/twheel" "$root/bin/"
echo "$clocks" > "$root/clocks"
"$ROOT/tools/test/vm/initramfs.sh" "$work/initrd" "$ROOT/tools/test/vm/guest/restore.sh" \
	"$root"

# start WORD...: QEMU with that machine, as CHILD. It adds to the console and the results
start() {
	qemu-system-x86_64 -accel tcg,thread=multi -cpu max,la57=off -smp 2 -m 256M -no-reboot \
		-display none -net none -kernel "$stock_image" -initrd "$work/initrd" \
		-chardev "file,id=console,path=$work/console,append=on" -serial chardev:console \
		-chardev "file,id=results,path=$work/results,append=on" -serial chardev:results \
		-monitor "unix:$SCRATCH/monitor,server=on,wait=off" \
		-append "console=ttyS0 reboot=t panic=-1 quiet oops=panic panic_on_warn=1 \
$words $PATIENT_WORDS" "$@" < /dev/null &
	CHILD=$!
}

# monitor COMMAND...: what a person would type at QEMU's monitor, each at a prompt
monitor() {
	python3 - "$SCRATCH/monitor" "$@" <<- 'END'
		import socket, sys
		with socket.socket(socket.AF_UNIX) as monitor:
		    monitor.connect(sys.argv[1])
		    for command in sys.argv[2:]:
		        said = b""
		        while not said.endswith(b"(qemu) "):
		            heard = monitor.recv(4096)
		            if not heard:
		                sys.exit("QEMU's monitor has gone")
		            said += heard
		        monitor.sendall(command.encode() + b"\n")
		    while monitor.recv(4096):
		        pass
	END
}

words=$(clock_words "$SCRATCH")
rm -f "$work"/{console,results,state}
touch "$work"/{console,results}
say "booting Linux $stock_release"
start
until grep -q '^pending' "$work/results"; do
	kill -0 "$CHILD" 2> /dev/null || die "the guest ended too early" "see $work/console"
	sleep 0.2
done
say "saving it to a file, and ending it"
monitor "migrate \"exec:cat > $work/state\"" quit
wait "$CHILD" || :
[ -s "$work/state" ] || die "QEMU has saved nothing" "see $work/console"
! grep -q '^done' "$work/results" || die "all timers had fired before" "a fault of this test"
say "restoring it from $(stat -c %s "$work/state") bytes"
start -incoming "exec:cat $work/state"
watch_child tail -n 1 "$work/results" || die "the guest died" "see $work/console"
rm -f "$work/state"

for clock in $clocks; do
	status=0
	grep -q "^done $clock 0$" "$work/results" || status=1
	result $status "$clock" grep -A 3 "^$clock" "$work/results"
done
verdict
