#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make torture: everything at once, for a time, with books kept. A module operates on timers
# of wheels of all kinds from all CPUs. The fuzzer and the races of tools/test/device use
# /dev/twheel. Meanwhile CPUs go and come, the wall clock is set, the guest sleeps, and
# modules are loaded and unloaded. The last line is "N passed, N failed": each scenario is a
# test.
#
#   KERNEL=      debug, stock, or both: which kernels (both); or rtdebug: PREEMPT_RT with
#                its checks; or an architecture, as arm64, which is emulated, with the
#                kernel of its row of tools/test/vm/rows
#   TIME=        seconds of each scenario (20); the volume run may take a hundred times
#                that
#   OPS=         operations, after which the volume runs on the stock kernel end
#   SCENARIOS=   only these, of: calm hotplug absence steps sleep idle reload all volume
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

kernels=${KERNEL:-both} seconds=${TIME:-20} ops=${OPS:-100000000}
scenarios=${SCENARIOS:-}
for number in "$seconds" "$ops"; do
	[[ $number =~ ^[1-9][0-9]{0,11}$ ]] ||
		die "TIME, OPS: $number is not a number" \
			"for example: make torture TIME=60 OPS=100000000"
done
refuse_unknown KERNEL "$kernels" both debug stock rtdebug "${ARCHITECTURES[@]}"
case $kernels in
both) kernels="debug stock" ;;
debug | stock | rtdebug) ;;
*) use_architecture "$kernels" ;;
esac

# plan KERNEL: the scenarios: name, how long in percent of TIME, whether OPS ends it
# (on the stock kernel only), and what goes on meanwhile
plan() {
	local name share volume what

	while read -r name share volume what; do
		[ -z "$scenarios" ] || [[ " $scenarios " = *" $name "* ]] ||
			continue
		[ "$1" = stock ] || [ "$volume" = 0 ] || continue
		[ "$volume" = 0 ] || volume=$ops
		echo "$name $((seconds * share / 100)) $volume $what"
	done <<-'END'
		calm 100 0 device
		hotplug 100 0 hotplug device
		absence 150 0 absence device
		steps 100 0 steps device
		sleep 100 0 sleep_deep steps device
		idle 100 0 sleep_idle
		reload 100 0 reload
		all 100 0 hotplug sleep_deep steps device
		volume 10000 1 steps
	END
}

# image_of KERNEL: sets kdir and image
image_of() {
	if [ "$1" = stock ]; then
		stock_kernel
		# shellcheck disable=SC2154 # by stock_kernel
		kdir=$stock_headers image=$stock_image
	else
		kdir=$built image=$built/${arch_image:-arch/x86/boot/bzImage}
	fi
}

# boot FOLDER IMAGE DIR: run FOLDER/plan on the modules that are built in DIR
boot() {
	local run=$1 image=$2 dir=$3

	mkdir -p "$run"/files/{modules,bin}
	cp "$dir/module/twheel.ko" "$dir/tools/test/torture/twheel_torture.ko" \
		"$run/files/modules/"
	cp "${programs[@]/#/$work/tools/}" "$run/files/bin/"
	cp "$run/plan" "$run/files/plan"
	"$ROOT/tools/test/vm/initramfs.sh" "$run/initrd" \
		"$ROOT/tools/test/vm/guest/torture.sh" "$run/files"
	rm -f "$run"/{results,console}
	"$ROOT/tools/test/vm/boot.sh" --kernel "$image" --initrd "$run/initrd" \
		--console "$run/console" \
		--results "$run/results" --append "$words" 2> "$run/boot.log" &
	CHILD=$!
	watch_child cat "$run/results" || :
}

# What uses the device. The fuzzer is for 64 bits only.
programs=(test/device/stress_test)
[[ ${GUEST_ARCH:-} =~ ^(arm|i386)$ ]] || programs+=(test/device/fuzz_test)

# A search by kmemleak takes long, and is no matter of this test.
words="$PATIENT_WORDS kmemleak=off no_console_suspend oops=panic panic_on_warn=1 \
loglevel=7 sysctl.kernel.panic_on_rcu_stall=1"

prepare() {
	need qemu-system-x86 busybox-static cpio kmod gcc libc6-dev liburing-dev make python3
	built=
	if [ -n "${GUEST_ARCH:-}" ]; then
		emulator
		built=$("$ROOT/tools/test/vm/kernel.sh" --series "$(awk -v parts="base,$GUEST_ARCH" \
			'$3 == parts { print $2 }' "$ROOT/tools/test/vm/rows")" \
			base "$GUEST_ARCH")
	fi
	case " $kernels " in
	*" debug "*) built=$("$ROOT/tools/test/vm/kernel.sh" base debug) ;;
	*" rtdebug "*)
		built=$("$ROOT/tools/test/vm/kernel.sh" --series 6.12 base rtdebug) ;;
	esac
	lock_cache
	[ -z "${GUEST_ARCH:-}" ] || arch_packages "${GUEST_PACKAGES[@]}"
	work=$CACHE/torture
	mkdir -p "$work"
	run_logged "$work/tools.log" "building what uses the device" \
		make -C "$ROOT/tools" -j"$(nproc)" OUT="$work/tools" \
		"${programs[@]/#/$work/tools/}"
	[ -n "${GUEST_ARCH:-}" ] || words+=" $(clock_words "$work")"
}

# judge RUN...: what guests have said, a result for each scenario of their plans
judge() {
	local run name line

	for run; do
		tr -d '\r' < "$run/results" > "$run/lines"
		sed -n 's/^@begin /== kernel /p; t; s/^@scenario /-- /p; t; /^[^@#]/s/^/   /p' "$run/lines"
		while read -r name _; do
			line=$(grep -E "^@(ok|not|skip) $name( |$)" "$run/lines") ||
				line="$name: it has no result, see $run/console"
			case $line in
			@ok*) result 0 "$name" ;;
			@skip*)
				echo "skipped: ${line#@skip }"
				skipped=$((${skipped:-0} + 1)) ;;
			*) result 1 "${line#@not }" ;;
			esac
		done < "$run/plan"
		judge_console "${run##*/run-}" "$run/console"
	done
}

torture() {
	local kernel names runs=()

	mapfile -t names < <(scenarios='' plan debug | cut -d ' ' -f 1; echo volume)
	refuse_unknown scenario "$scenarios" "${names[@]}"
	say "torture: $kernels, $seconds s a scenario; all is kept in $CACHE/torture"
	prepare
	for kernel in $kernels; do
		image_of "$kernel"
		run=$work/run-$kernel
		rm -rf "$run"
		mkdir -p "$run"
		plan "$kernel" > "$run/plan"
		[ -s "$run/plan" ] || continue
		build_modules "$kdir" "$work/$kernel"
		begin_beside "$kdir" "$work/$kernel" tools/test/torture W=1 KCFLAGS=-Werror
		end_logged
		say "$kernel kernel: $(cut -d ' ' -f 1 "$run/plan" | tr '\n' ' ')"
		start=$SECONDS
		boot "$run" "$image" "$work/$kernel"
		say "  done in $((SECONDS - start)) s; console: $run/console"
		runs+=("$run")
	done
	judge "${runs[@]}"
	verdict
}

torture
