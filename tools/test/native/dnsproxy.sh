#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make programs: a real program of Debian on a process wheel. dnsproxy has a timeout of libevent
# for each query. It is built as it is, and with its timeouts in a wheel that
# <twheel/libevent.h> puts into its loop. Both serve the same load, see dnsproxy.py. The last line
# is "N passed, N failed".
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"

here=$ROOT/tools/test/native
need gcc libc6-dev libevent-dev python3
suite_source bookworm dnsproxy

# build FOLDER SOURCE...: what configure would find out is given here
build() {
	printf '#define PACKAGE_STRING "dnsproxy"\n#define %s\n#define %s\n' \
		'HAVE_ARPA_INET_H 1' 'MAXEDNS 4096' > "$1/config.h"
	gcc -O2 -fcommon -I"$1" -I"$ROOT/tools/lib" -I"$ROOT/include" -o "$1/dnsproxy" \
		"$1"/{dnsproxy,hash,internal,log,parse,stats}.c "${@:2}" -levent -pthread
}

for name in stock ported; do
	cp -r "$source_folder" "$SCRATCH/$name"
done
sed -i '/^#include <event.h>/a #include <twheel/libevent.h>
	s/struct event\t\ttimeout;/struct twheel_timer timeout;/' "$SCRATCH/ported/dnsproxy.h"
sed -i "/^\/\* do_query -- /i static struct twheel *wheel;\n\
static void expire(struct twheel_timer *timer)\n{\n\
	timeout(-1, EV_TIMEOUT, (char *)timer - offsetof(struct request, timeout));\n}\n
	s/event_set(&req->timeout, -1, 0, timeout, req)/twheel_timer_init(\&req->timeout, wheel, expire)/
	s/event_add(&req->timeout, &tv)/twheel_arm(\&req->timeout, tv.tv_sec * 1000000000ULL)/
	s/event_del(&query->timeout)/twheel_cancel(\&query->timeout)/
	s/^\tevent_init();/\tstatic struct twheel_libevent served;\n\
	struct event_base *base = event_init();\n\n\
	wheel = twheel_create(NULL);\n\
	if (!wheel || twheel_libevent_start(\&served, base, wheel))\n\
		fatal(\"no wheel\");/" "$SCRATCH/ported/dnsproxy.c"
build "$SCRATCH/stock"
build "$SCRATCH/ported" "$ROOT"/tools/lib/{process,timer,serve}.c \
	"$ROOT"/module/engine/*.c
! grep -n 'event_[a-z]*(&[a-z]*->timeout' "$SCRATCH/ported/dnsproxy.c" ||
	die "dnsproxy has timeouts that are not moved, see above"

failed=0
for name in stock ported; do
	python3 "$here/dnsproxy.py" "$SCRATCH/$name/dnsproxy" > "$SCRATCH/$name/log" 2>&1 &
done
wait
for name in stock ported; do
	cat "$SCRATCH/$name/log"
	grep -q '^ok' "$SCRATCH/$name/log" || failed=$((failed + 1))
done
echo "$((2 - failed)) passed, $failed failed"
[ "$failed" = 0 ]
