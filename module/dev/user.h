/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each user of the device has, in all files together. The kernel's own counters
 * for this (ucounts) are not exported.
 */
#ifndef _TWHEEL_USER_H
#define _TWHEEL_USER_H

#include <linux/types.h>

struct tw_user_budget;
struct tw_user;

int tw_users_init(void);
void tw_users_exit(void);
struct tw_user *tw_user_get(void);
void tw_user_put(struct tw_user *user);
int tw_user_charge(struct tw_user *user, u32 timers, bool exempt);
void tw_user_uncharge(struct tw_user *user, u32 timers);
u64 tw_user_timers(const struct tw_user *user);
u64 tw_user_limit(void);
struct tw_user_budget *tw_user_cpu_budget(struct tw_user *user, unsigned int percent);

#endif /* _TWHEEL_USER_H */
