// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* What the inlines of twheel_guard.h are not enough for: a language that has only functions. */
#include "twheel_guard.h"

int twheel_guard_take_shared(struct twheel_guard_memory *memory, const char *name,
			     uint64_t timeout_ns)
{
	return twheel_guard_take(memory, name, timeout_ns);
}
