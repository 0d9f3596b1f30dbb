/* SPDX-License-Identifier: GPL-2.0-only */
/* Users of the device: what their files take together, and what it is limited to. */
#ifndef _TWHEEL_USER_H
#define _TWHEEL_USER_H

#include <linux/types.h>

struct tw_user;
struct twheel_info;

/**
 * struct tw_users - the users that a file is charged to
 * @exempt: the file was opened with CAP_SYS_RESOURCE: there is no limit
 * @timers: how many timers are charged; changed under the file's @setup_lock
 * @bytes: likewise, how much memory
 * @count: how many users there are
 * @outermost: who owns the outermost user namespace. The alarms of the file are theirs, as the
 *	users in their namespaces share
 * @users: the opener first, then the owners of the user namespaces around them, outwards
 */
struct tw_users {
	bool exempt;
	u32 timers;
	u64 bytes;
	unsigned int count;
	struct tw_user *outermost;
	struct tw_user *users[];
};

struct tw_users *tw_users_get(size_t bytes);
void tw_users_put(struct tw_users *users);

int tw_users_charge(struct tw_users *users, u32 timers, u64 bytes);
void tw_users_uncharge(struct tw_users *users, u32 timers, u64 bytes);
void tw_users_info(const struct tw_users *users, struct twheel_info *info);

void tw_users_charge_alarm(const struct tw_users *users, u64 began);
u64 tw_users_throttle(const struct tw_users *users);

#endif /* _TWHEEL_USER_H */
