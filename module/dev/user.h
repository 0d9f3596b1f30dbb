/* SPDX-License-Identifier: GPL-2.0-only */
/* Users of the device: what their files take together, and what it is limited to. */
#ifndef _TWHEEL_USER_H
#define _TWHEEL_USER_H

#include <linux/types.h>

struct tw_user;

/**
 * struct tw_payers - the users that pay for a file
 * @exempt: the file was opened with CAP_SYS_RESOURCE: there is no limit
 * @count: how many users there are
 * @outermost: which one owns the outermost user namespace
 * @users: the opener first, then the owners of the user namespaces around them, outwards
 */
struct tw_payers {
	bool exempt;
	unsigned int count;
	unsigned int outermost;
	struct tw_user *users[];
};

struct tw_payers *tw_payers_get(void);
void tw_payers_put(struct tw_payers *payers);
size_t tw_payers_cost(const struct tw_payers *payers);

int tw_payers_charge(const struct tw_payers *payers, u32 timers, u64 bytes);
void tw_payers_uncharge(const struct tw_payers *payers, u32 timers, u64 bytes);
u64 tw_payers_timers(const struct tw_payers *payers);
u64 tw_payers_bytes(const struct tw_payers *payers);
u64 tw_payers_limit_timers(const struct tw_payers *payers);
u64 tw_payers_limit_bytes(const struct tw_payers *payers);

void tw_payers_charge_alarm(const struct tw_payers *payers, u64 began, u64 ended);
u64 tw_payers_postpone(const struct tw_payers *payers);

#endif /* _TWHEEL_USER_H */
