/* SPDX-License-Identifier: GPL-2.0-only */
/* libtwheel as the tests use it: what has to succeed, or end the test. */
#ifndef TEST_HANDLE_H
#define TEST_HANDLE_H

#include <stdint.h>

#include "../../../lib/libtwheel.h"

#define MS	1000000ULL
#define S	1000000000ULL
#define HOUR	(3600 * S)

struct twheel *tw_open_with(uint32_t flags);
struct twheel *tw_open_plain(void);

/* Arm for a delay; returns the identifier. */
uint64_t tw_arm(struct twheel *wheel, uint64_t delay_ns, uint64_t cookie);

/* Until so many have expired since the wheel was made. */
void tw_wait_fired(struct twheel *wheel, uint64_t fired);

/* The cookie of the next event, which comes within a minute. */
uint64_t tw_next_cookie(struct twheel *wheel);
/* There is no event now. */
void tw_nothing_more(struct twheel *wheel);

/*
 * So many timers are left. In the mapping a cancelled timer counts until the kernel next
 * looks at its cell: there it may count more.
 */
void tw_check_left(struct twheel *wheel, uint64_t timers);

#endif
