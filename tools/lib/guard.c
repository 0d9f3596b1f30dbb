// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* What the inlines of twheel_guard.h are not enough for: a language that has only functions. */
#include "twheel_guard.h"

_Static_assert(sizeof(struct twheel_guard) <= TWHEEL_GUARD_ROOM,
	       "programs of such languages have that much memory for it");

int twheel_guard_open_shared(struct twheel_guard *guard)
{
	return twheel_guard_open(guard);
}

int twheel_guard_lease_open_shared(const struct twheel_guard *guard,
				   struct twheel_guard_lease *lease, const char *name,
				   uint64_t timeout_ns)
{
	return twheel_guard_lease_open(guard, lease, name, timeout_ns);
}

void twheel_guard_lease_feed_shared(const struct twheel_guard_lease *lease)
{
	twheel_guard_lease_feed(lease);
}

int64_t twheel_guard_lease_left_shared(const struct twheel_guard_lease *lease)
{
	return twheel_guard_lease_left(lease);
}

void twheel_guard_lease_close_shared(struct twheel_guard_lease *lease)
{
	twheel_guard_lease_close(lease);
}
