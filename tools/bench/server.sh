#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make bench MODE=server: the system calls of a server, as strace shows them, with timers of
# /dev/twheel, and with a timerfd for each connection. Both servers are in
# tools/examples/userspace, their traffic comes from server/client.c. The guest's clock advances
# by an instruction's time, so that neither strace nor other work on this machine is too slow.
#
#   CONNECTIONS=  5000
#   TIME=         60: seconds
# shellcheck source=../test/vm/lib.sh
. "$(dirname "$0")/../test/vm/lib.sh"

connections=${CONNECTIONS:-5000} seconds=${TIME:-60}
say "the system calls of a server: $connections connections, $seconds s"
need qemu-system-x86 busybox-static cpio kmod gcc libc6-dev liburing-dev make python3 strace
lock_cache
stock_kernel 6.1
work=$CACHE/bench
build=$work/$stock_release
build_modules "$stock_headers" "$build"
mkdir -p "$work/tools"
run_logged "$work/tools.log" "building the servers" make -C "$ROOT/tools" OUT="$work/tools" \
	"$work"/tools/examples/userspace/idle_server{,_timerfd}

root=$SCRATCH/files
mkdir -p "$root"/{bin,modules}
gcc -O2 -Wall -Wextra -static -o "$root/bin/client" "$ROOT/tools/bench/server/client.c"
cp "$work"/tools/examples/userspace/idle_server{,_timerfd} "$root/bin/"
cp "$build/module/twheel.ko" "$root/modules/"
with_libraries "$(command -v strace)" "" "$root"
echo "$connections $seconds" > "$root/traffic"
"$ROOT/tools/test/vm/initramfs.sh" "$work/initrd" "$ROOT/tools/bench/server-guest.sh" "$root"
run_logged "$work/boot.log" "serving" \
	"$ROOT/tools/test/vm/boot.sh" --kernel "$stock_image" --initrd "$work/initrd" \
	--icount --memory 2G --patience 3600 --results "$work/server" \
	--console "$work/console" --append "quiet loglevel=4 panic_on_warn=1 oops=panic"
python3 "$ROOT/tools/bench/calls.py" "$work/server"
