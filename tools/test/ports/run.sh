#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make ports: real users of timer_list, moved to twheel. Each module is built from the
# source of Debian's own kernel, changed by timer_list.sh and by its own hand.sed. In a guest
# with that kernel, Debian's module and then the ported one get the same traffic, and the
# same results are wanted of both. Arguments:
# names of ports, which are folders here, to try only those. Ends with
# "N passed, N failed".
#
# The guest has one CPU, whose clock advances by one nanosecond an instruction: times do
# not depend on the host, and waiting takes none.
#
# Before that: timer_list.sed makes forms.moved of forms, which has the forms that calls have.
#
# A port is three files:
#   port.sh      folder= and files=() of the source that are copied there, headers=() that
#                it shares with others, modules=() that are built of them, beside=() modules
#                that are loaded with them, packages=() with what port_programs() puts into
#                the guest
#   hand.sed     what is left to do by hand, for sed -E -z, on each of these files
#   traffic.sh   the guest's traffic, and what has to come of it
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"

here=$ROOT/tools/test/ports
mapfile -t names < <(basename -a "$here"/*/)
refuse_unknown port "$*" "${names[@]}"
[ $# = 0 ] || names=("$@")

need qemu-system-x86 busybox-static cpio kmod gcc libc6-dev make python3
lock_cache
stock_kernel 6.1
kernel_source 6.1
stock_modules

work=$CACHE/ports
build=$work/$stock_release
build_modules "$stock_headers" "$build"
"${COMPILER[@]}" -O2 -Wall -Wextra -Werror -static -o "$work/drive" "$here/drive.c"

# lines A B: how many of these folders differ
lines() {
	diff -r -U 0 "$1" "$2" | grep -c '^+[^+]' || :
}

# port_source NAME: its files, ported, in $port. Only what differs is written, so that make
# builds only that again. Sets changed and by_hand, the lines that the script and hands have
# written.
port_source() {
	local file stage=$SCRATCH/stage-$1

	mkdir -p "$stage/include/linux" "$port"
	(cd "$source_folder/$folder" && cp -r --parents Makefile "${files[@]}" "$stage/")
	for file in "${headers[@]}"; do
		mkdir -p "$stage/$(dirname "$file")"
		cp "$source_folder/$file" "$stage/$file"
	done
	cp -r "$stage" "$SCRATCH/stock-$1"
	find "$stage" -name '*.[ch]' -exec "$ROOT/tools/examples/kernel/timer_list.sh" {} + |
		sed "s|^$stage/||" > "$SCRATCH/left"
	cp -r "$stage" "$SCRATCH/script-$1"
	find "$stage" -name '*.[ch]' -exec sed -E -z -i -f "$here/$1/hand.sed" {} +
	changed=$(lines "$SCRATCH/stock-$1" "$SCRATCH/script-$1")
	by_hand=$(lines "$SCRATCH/script-$1" "$stage")
	cp "$ROOT/tools/examples/kernel/twheel_port.h" "$stage/include/"
	cat > "$stage/Kbuild" <<-KBUILD
		include \$(src)/Makefile
		obj-m := ${modules[*]/%/.o}
		obj-y :=
		LINUXINCLUDE := -I\$(src)/include -I\$(src) \$(LINUXINCLUDE)
		include $build/include/twheel.mk
	KBUILD
	(cd "$stage" && find . -type f) > "$SCRATCH/files"
	while read -r file; do
		cmp -s "$stage/$file" "$port/$file" || {
			mkdir -p "$port/$(dirname "$file")"
			cp "$stage/$file" "$port/$file"
		}
	done < "$SCRATCH/files"
}

# load_list NAME KIND: what the guest loads, in order, and copied to $root
load_list() {
	local kind=$2 file base

	mkdir -p "$root/load/$kind.d"
	for base in "${beside[@]}" "${modules[@]}"; do
		modprobe -d "$stock_tree" -S "$stock_release" --show-depends "$base"
	done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' \
		> "$SCRATCH/order"
	[ "$kind" = stock ] || echo "$root/load/ported.d/twheel.ko" > "$root/load/ported"
	[ "$kind" = stock ] || cp "$build/module/twheel.ko" "$root/load/ported.d/"
	while read -r file; do
		base=$(basename "$file" .ko)
		if [ "$kind" = ported ] && [ -e "$port/$base.ko" ]; then
			file=$port/$base.ko
		fi
		cp "$file" "$root/load/$kind.d/"
		echo "$root/load/$kind.d/$base.ko"
	done < "$SCRATCH/order" >> "$root/load/$kind"
	sed -i "s|^$root||" "$root/load/$kind"
	strip -g "$root/load/$kind.d"/*.ko
}

# add_ip ROOT: that of iproute2, which knows namespaces. Busybox has an ip of its own.
add_ip() {
	with_libraries /usr/sbin/ip /none "$1"
	mkdir -p "$1/sbin"
	mv "$1/bin/ip" "$1/sbin/ip"
}

# add_iptables ROOT EXTENSION...: iptables of Debian, with these of its extensions
add_iptables() {
	local root=$1 extension

	shift
	with_libraries /usr/sbin/xtables-legacy-multi /none "$root"
	ln -s xtables-legacy-multi "$root/bin/iptables"
	mkdir -p "$root/usr/lib/x86_64-linux-gnu/xtables"
	for extension in libxt_standard "$@"; do
		cp "/usr/lib/x86_64-linux-gnu/xtables/$extension.so" \
			"$root/usr/lib/x86_64-linux-gnu/xtables/"
	done
}

# judge NAME: the results of both kinds, and whether they are the same
judge() {
	local word line status

	tr -d '\r' < "$run/results" > "$run/lines"
	sed -n "s/^\(stock\|ported\) figure /       \1: /p" "$run/lines"
	while read -r word line; do
		status=0
		[ "$word" = ok ] || status=1
		result $status "$1: $line"
	done < <(sed -n 's/^\(stock\|ported\)\( own\)\? \(ok\|FAIL\) /\3 \1: /p' "$run/lines")
	sed -n 's/^stock \(ok\|FAIL\)/\1/p' "$run/lines" > "$run/stock"
	sed -n 's/^ported \(ok\|FAIL\)/\1/p' "$run/lines" > "$run/ported"
	status=0
	[ -s "$run/stock" ] && cmp -s "$run/stock" "$run/ported" || status=1
	result $status "$1: the same of both" echo "see $run/lines"
	grep -q '^@complete' "$run/lines" ||
		result 1 "$1: the guest has not come to its end: see $run/console"
	judge_console "$1" "$run/console"
}

status=0
sed -E -f "$ROOT/tools/examples/kernel/timer_list.sed" "$here/forms" |
	diff "$here/forms.moved" - || status=1
result $status "forms of calls"
for name in "${names[@]}"; do
	port=$work/$name run=$work/run-$name root=$SCRATCH/root-$name
	headers=() files=() modules=() beside=() packages=()
	# shellcheck source=/dev/null
	. "$here/$name/port.sh"
	[ ${#packages[@]} = 0 ] || need "${packages[@]}"
	port_source "$name"
	mkdir -p "$run"
	cp "$SCRATCH/left" "$run/left"
	echo "       $name: $changed lines by timer_list.sh, $by_hand by hand; $run/left has what it left"
	run_logged "$port/build.log" "building $name, ported" \
		make -C "$stock_headers" M="$port" KCFLAGS=-g0 modules
	! grep -h 'warning:' "$port/build.log" >&2 || die "the compiler warns, see above"
	mkdir -p "$root/bin"
	load_list "$name" stock
	load_list "$name" ported
	port_programs "$root"
	cp "$work/drive" "$root/bin/"
	cp "$here/$name/traffic.sh" "$root/traffic"
	"$ROOT/tools/test/vm/initramfs.sh" "$run/initrd" "$here/guest.sh" "$root"
	rm -f "$run/results" "$run/console"
	say "booting Linux $stock_release for $name"
	"$ROOT/tools/test/vm/boot.sh" --kernel "$stock_image" --initrd "$run/initrd" \
		--icount --memory 1G --console "$run/console" \
		--results "$run/results" \
		--append "quiet loglevel=4 oops=panic panic_on_warn=1 tsc=reliable $PATIENT_WORDS" ||
		:
	judge "$name"
done
verdict
