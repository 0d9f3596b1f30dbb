/* SPDX-License-Identifier: GPL-2.0-only */
/* Users of the device: what their files take together, and what it is limited to. */
#ifndef _TWHEEL_USER_H
#define _TWHEEL_USER_H

#include <linux/types.h>

struct tw_user;
struct twheel_info;

/**
 * struct tw_payers - the users that pay for a file
 * @exempt: the file was opened with CAP_SYS_RESOURCE: there is no limit
 * @count: how many users there are
 * @outermost: who owns the outermost user namespace. The alarms of the file are theirs, as the
 *	users in their namespaces share
 * @users: the opener first, then the owners of the user namespaces around them, outwards
 */
struct tw_payers {
	bool exempt;
	unsigned int count;
	struct tw_user *outermost;
	struct tw_user *users[];
};

struct tw_payers *tw_payers_get(void);
void tw_payers_put(struct tw_payers *payers);
size_t tw_payers_cost(const struct tw_payers *payers);

int tw_payers_charge(const struct tw_payers *payers, u32 timers, u64 bytes);
void tw_payers_uncharge(const struct tw_payers *payers, u32 timers, u64 bytes);
void tw_payers_info(const struct tw_payers *payers, struct twheel_info *info);

void tw_payers_charge_alarm(const struct tw_payers *payers, u64 began);
u64 tw_payers_postpone(const struct tw_payers *payers);

#endif /* _TWHEEL_USER_H */
