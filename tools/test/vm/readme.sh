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

block() {
	awk -v mark="compiled by make check: $1 " '
		index($0, mark)		{ wanted = 1; next }
		wanted && /^```c$/	{ inside = 1; next }
		inside && /^```$/	{ exit }
		inside			{ print }' "$ROOT/README.md"
}
for kind in kernel userspace; do
	[ -n "$(block $kind)" ] || die "the README has no $kind example"
done

{
	printf '#include <linux/err.h>\n#include <linux/module.h>\n'
	printf '#include <linux/twheel.h>\n#include "export.h"\n'
	block kernel
	printf 'static int __init start(void) { return example(); }\n'
	printf 'static void __exit end(void) { twheel_destroy(wheel); }\n'
	printf 'module_init(start);\nmodule_exit(end);\n'
	printf 'MODULE_DESCRIPTION("The example of the README");\n'
	printf 'MODULE_LICENSE("GPL");\nTW_IMPORT(TWHEEL);\n'
} > "$out/kernel/twheel_readme.c"
printf 'obj-m := twheel_readme.o\nccflags-y := -I%s/include -I%s/module\n' \
	"$build" "$build" > "$out/kernel/Kbuild"
run_logged "$out/kernel.log" "compiling the README's kernel example" \
	make -C "$kdir" M="$out/kernel" \
	KBUILD_EXTRA_SYMBOLS="$build/Module.symvers" modules

{
	printf '#include <err.h>\n#include <fcntl.h>\n#include <stdio.h>\n'
	printf '#include <sys/ioctl.h>\n#include <unistd.h>\n'
	printf '#include <linux/twheel.h>\nint main(void)\n{\n'
	block userspace
	printf 'return 0;\n}\n'
} > "$out/user.c"
run_logged "$out/user.log" "compiling the README's userspace example" \
	"${COMPILER[@]}" -Wall -Wextra -Werror -Wno-missing-field-initializers -static \
	-I"$ROOT/include/uapi" -o "$out/user" "$out/user.c"

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
