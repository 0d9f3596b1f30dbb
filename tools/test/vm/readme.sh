#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# readme.sh KDIR BUILD OUT: compile the examples of the README and of the documents against
# the kernel of KDIR and the module built in BUILD. A block stands after a comment that
# says "compiled by make check" and for what.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# = 3 ] || die "usage: readme.sh KDIR BUILD OUT"
kdir=$1 build=$2 out=$3
mkdir -p "$out/kernel"

# The module, for any version of the kernel.
"$ROOT/tools/test/vm/six_lines.sh" "$SCRATCH/readme"
sed 's/^MODULE_IMPORT_NS.*/TW_IMPORT(TWHEEL);/; s/^#include <linux.twheel.h>$/&\n#include "export.h"/' \
	"$SCRATCH/readme/module/six_lines.c" > "$out/kernel/twheel_readme.c"
printf 'obj-m := twheel_readme.o\nccflags-y := -I%s/include -I%s/module\n' \
	"$build" "$build" > "$out/kernel/Kbuild"
run_logged "$out/kernel.log" "compiling the README's kernel example" \
	make -C "$kdir" M="$out/kernel" \
	KBUILD_EXTRA_SYMBOLS="$build/Module.symvers" modules

cp "$SCRATCH/readme/program/device.c" "$out/user.c"
run_logged "$out/user.log" "compiling the README's userspace example" \
	"${COMPILER[@]}" -Wall -Wextra -Werror -Wno-missing-field-initializers -static \
	-I"$ROOT/include/uapi" -o "$out/user" "$out/user.c"

run_logged "$out/process.log" "compiling the README's example of a process wheel" \
	"${COMPILER[@]}" -Wall -Wextra -Werror -I"$ROOT/include/uapi" -I"$ROOT/tools/lib" -c \
	-o "$out/process.o" "$SCRATCH/readme/program/process.c"

# Of the documents each block by itself, OUT/doc/NAME-NUMBER.c: they need not fit together.
rm -rf "$out/doc"
mkdir -p "$out/doc"
for document in "$ROOT"/tools/doc/*.md; do
	awk -v out="$out/doc/$(basename "$document" .md)" '
		/compiled by make check: /	{ kind = $6; next }
		kind && /^```c$/ {
			file = sprintf("%s-%d_%s.c", out, ++count, kind)
			if (kind == "kernel")
				print "#include <linux/err.h>\n#include <linux/jiffies.h>\n" \
				      "#include <linux/slab.h>\n#include <linux/timer.h>\n" \
				      "#include <linux/workqueue.h>\n" \
				      "#include <linux/twheel_periodic.h>" > file
			else
				print "#include <twheel_device.h>" > file
			next
		}
		/^```$/		{ file = kind = "" }
		file		{ print > file }' "$document"
done
programs=("$out"/doc/*_userspace.c)
[ -e "${programs[0]}" ] || die "the documents have no userspace example"
for program in "${programs[@]}"; do
	run_logged "$program.log" "compiling ${program##*/}" \
		"${COMPILER[@]}" -Wall -Wextra -Werror -Wno-missing-field-initializers \
		-I"$ROOT/include/uapi" -I"$ROOT/tools/lib" -c \
		-o "${program%.c}.o" "$program"
done
# They are neither linked nor called, so unused functions are fine here, and older names of
# what timer_list had not in 5.10.
(
	cd "$out/doc"
	printf 'ccflags-y := -I%s/include -Werror -Wno-unused-function\n' "$build"
	printf 'ccflags-y += $(if $(shell grep -s %s $(srctree)/include/linux/timer.h),,-D%s)\n' \
		timer_shutdown_sync timer_shutdown_sync=del_timer_sync
	printf 'always-y := %s\n' "$(echo ./*_kernel.c | sed 's|\./||g; s/\.c\b/.o/g')"
) > "$out/doc/Kbuild"
grep -q '_kernel\.o' "$out/doc/Kbuild" || die "the documents have no kernel example"
run_logged "$out/doc.log" "compiling the kernel examples of the documents" \
	make -C "$kdir" M="$out/doc" modules
