/* SPDX-License-Identifier: GPL-2.0-only */
/* Users of the device: what their files take together, and what it is limited to. */
#ifndef _TWHEEL_USER_H
#define _TWHEEL_USER_H

#include <linux/moduleparam.h>
#include <linux/types.h>

struct tw_user;
struct twheel_info;

/**
 * struct tw_users - the users that a file is charged to
 * @exempt: the file was opened with CAP_SYS_RESOURCE: there is no limit
 * @acts: its timers act, and have a bucket of their own; set before any alarm
 * @timers: how many timers are charged; changed under the file's @setup_lock
 * @bytes: likewise, how much memory
 * @count: how many users there are
 * @outermost: who owns the outermost user namespace. The alarms of the file are theirs, as the
 *	users in their namespaces share
 * @users: the opener first, then the owners of the user namespaces around them, outwards
 */
struct tw_users {
	bool exempt;
	bool acts;
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

u64 tw_users_charge_time(const struct tw_users *users, u64 began);
u64 tw_users_throttle(const struct tw_users *users);
u64 tw_users_agent_waits(const struct tw_users *users, u64 *turn);

/* Parameters of the module: numbers within a range. Other values are refused, by name. */

/**
 * struct tw_param - a parameter
 * @value: the variable. Read it with READ_ONCE(): it may be written at any time
 * @least: the smallest value that is taken
 * @most: the largest value that is taken
 * @ceiling: another parameter that it may not exceed, or NULL
 */
struct tw_param {
	unsigned long *value;
	unsigned long least;
	unsigned long most;
	const unsigned long *ceiling;
};

extern const struct kernel_param_ops tw_param_ops;

/* TW_PARAM() - make a variable, an unsigned long, a parameter */
#define TW_PARAM(name, lowest, highest, description)			\
	TW_PARAM_BELOW(name, lowest, highest, NULL, description)

#define TW_PARAM_BELOW(name, lowest, highest, below, description)	\
	static const struct tw_param name##_param = {			\
		.value	= &(name),					\
		.least	= (lowest),					\
		.most	= (highest),					\
		.ceiling = (below),					\
	};								\
	module_param_cb(name, &tw_param_ops, (void *)&name##_param, 0644); \
	__MODULE_PARM_TYPE(name, "ulong");				\
	MODULE_PARM_DESC(name, description)

#endif /* _TWHEEL_USER_H */
