/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each user of the device has, in all files together. The kernel's own counters
 * for this (ucounts) are not exported.
 */
#ifndef _TWHEEL_USER_H
#define _TWHEEL_USER_H

#include <linux/types.h>

struct tw_server;
struct tw_user;
struct tw_user_budget;

/**
 * struct tw_payers - who pays for a file: a user, and the owners of his user namespaces
 * @exempt: opened with CAP_SYS_RESOURCE: there is no limit
 * @server: whose thread serves the file when it takes too much
 * @count: how many there are, each once
 * @users: the user who opened the file, and then outwards
 *
 * As with the kernel's own counters, each of them has all of it on his account. So the
 * users in a namespace together have no more than its owner may have.
 */
struct tw_payers {
	bool exempt;
	struct tw_server *server;
	unsigned int count;
	struct tw_user *users[];
};

int tw_users_init(void);
void tw_users_exit(void);
struct tw_payers *tw_payers_get(void);
void tw_payers_put(struct tw_payers *payers);
int tw_payers_charge(const struct tw_payers *payers, u32 timers, u64 bytes);
void tw_payers_uncharge(const struct tw_payers *payers, u32 timers, u64 bytes);
u64 tw_payers_timers(const struct tw_payers *payers);
u64 tw_payers_bytes(const struct tw_payers *payers);
u64 tw_payers_limit_timers(const struct tw_payers *payers);
u64 tw_payers_limit_bytes(const struct tw_payers *payers);
size_t tw_payers_cost(const struct tw_payers *payers);
struct tw_user_budget *tw_payers_cpu_budget(const struct tw_payers *payers,
					    unsigned int percent);

#endif /* _TWHEEL_USER_H */
