#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# six_lines.sh FOLDER: the module and the programs that a reader of the README would make.
# FOLDER/module has its kernel example, and the Makefile of module.md, which include/twheel.mk
# shows as well. FOLDER/program has its other two examples, and a program that uses the library.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# = 1 ] || die "usage: six_lines.sh FOLDER"
out=$1
mkdir -p "$out"/{module,program}

# block WHAT FILE: the block after a comment that says "by make WHAT"
block() {
	awk -v mark="by make $1 " '
		index($0, mark)		{ wanted = 1; next }
		wanted && /^```[a-z]/	{ inside = 1; next }
		inside && /^```$/	{ exit }
		inside			{ print }' "$ROOT/$2"
}

block "packages: Makefile" tools/doc/module.md > "$out/module/Makefile"
[ -s "$out/module/Makefile" ] || die "module.md shows no Makefile"
for kind in kernel userspace process; do
	[ -n "$(block "check: $kind" README.md)" ] || die "the README has no $kind example"
done
sed -n 's/^#\t//p; s/^#$//p' "$ROOT/include/twheel.mk" | sed '1d; $d' |
	diff - "$out/module/Makefile" >&2 ||
	die "include/twheel.mk shows another Makefile than module.md, see above"
sed -i 's/mine\.o/six_lines.o/' "$out/module/Makefile"
{
	printf '#include <linux/err.h>\n#include <linux/module.h>\n'
	printf '#include <linux/twheel.h>\n'
	block "check: kernel" README.md
	printf 'static int __init start(void) { return example(); }\n'
	printf 'static void __exit end(void) { twheel_destroy(wheel); }\n'
	printf 'module_init(start);\nmodule_exit(end);\n'
	printf 'MODULE_DESCRIPTION("The example of the README");\n'
	printf 'MODULE_LICENSE("GPL");\nMODULE_IMPORT_NS(TWHEEL);\n'
} > "$out/module/six_lines.c"

{
	printf '#include <err.h>\n#include <fcntl.h>\n#include <stdio.h>\n'
	printf '#include <sys/ioctl.h>\n#include <unistd.h>\n'
	printf '#include <linux/twheel.h>\nint main(void)\n{\n'
	block "check: userspace" README.md
	printf 'return 0;\n}\n'
} > "$out/program/device.c"
{
	printf '#include <errno.h>\n#include <twheel.h>\n'
	printf 'struct connection { struct twheel_timer idle; };\n'
	printf 'static void connection_idle(struct twheel_timer *timer) { (void)timer; }\n'
	printf 'void connection_run(struct connection *c);\n'
	printf 'void connection_run(struct connection *c)\n{\nint ret;\n'
	block "check: process" README.md
	printf '}\n'
} > "$out/program/process.c"
cat > "$out/program/library.c" <<'END'
#include <err.h>
#include <stdio.h>
#include <twheel_device.h>

int main(void)
{
	int wheel = twheel_device_open(NULL);
	struct twheel_event event;
	uint64_t timer;

	if (wheel < 0 || twheel_device_arm(wheel, 1000000, 42, &timer) ||
	    twheel_device_events(wheel, &event, 1, -1) != 1)
		errx(1, "no timeout");
	printf("%llu\n", (unsigned long long)event.cookie);
	return 0;
}
END
cat > "$out/program/Makefile" <<'END'
CFLAGS := -Wall -Werror $(shell pkg-config --cflags libtwheel)
LDLIBS := $(shell pkg-config --libs libtwheel)
all: device library
clean:
	$(RM) device library
END
