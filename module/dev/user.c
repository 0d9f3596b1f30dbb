// SPDX-License-Identifier: GPL-2.0-only
/*
 * What each user of the device has, in all files together.
 *
 * A user is known as long as one of its files is open. Files are opened and grow
 * rarely, so one lock is enough.
 */
#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "../core/user_budget.h"
#include "../param.h"
#include "user.h"

static unsigned long user_timers = 1UL << 22;
TW_PARAM(user_timers, 0, LONG_MAX,
	 "Timers that a user without CAP_SYS_RESOURCE may have (0 to 2^63 - 1; default 4194304)");

static unsigned long device_share_all = 50;
TW_PARAM(device_share_all, 0, 100,
	 "Percent of a CPU that all files of users without CAP_SYS_RESOURCE may take in softirq, before threads serve them (0 to 100, 0: no limit; default 50)");

/**
 * struct tw_user - a user
 * @link: in the bucket of its uid
 * @uid: the uid that the kernel knows, whatever a user namespace calls it
 * @files: the number of its open files
 * @timers: the number of timers that its files have room for
 * @account: what the wheels of its files take of each CPU together
 */
struct tw_user {
	struct hlist_node link;
	kuid_t uid;
	unsigned long files;
	atomic_long_t timers;
	struct tw_user_budget account;
};

#define USER_BUCKETS		64U

static struct hlist_head user_buckets[USER_BUCKETS];
static DEFINE_MUTEX(users_lock);

static struct tw_user_budget users_budget;

static struct tw_user *user_find(struct hlist_head *bucket, kuid_t uid)
{
	struct tw_user *user;

	lockdep_assert_held(&users_lock);
	hlist_for_each_entry(user, bucket, link)
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

static struct tw_user *user_new(struct hlist_head *bucket, kuid_t uid)
{
	struct tw_user *user;

	lockdep_assert_held(&users_lock);
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	if (tw_user_budget_init(&user->account)) {
		kfree(user);
		return NULL;
	}
	user->account.all = &users_budget;
	user->uid = uid;
	hlist_add_head(&user->link, bucket);
	return user;
}

/* tw_user_get() - the caller opens a file. Return: the user, NULL without memory. */
struct tw_user *tw_user_get(void)
{
	kuid_t uid = current_uid();
	struct hlist_head *bucket = &user_buckets[__kuid_val(uid) % USER_BUCKETS];
	struct tw_user *user;

	mutex_lock(&users_lock);
	user = user_find(bucket, uid) ?: user_new(bucket, uid);
	if (user)
		user->files++;
	mutex_unlock(&users_lock);
	return user;
}

/* tw_users_init() - the module is loaded. Return: 0, -ENOMEM. */
int __init tw_users_init(void)
{
	return tw_user_budget_init(&users_budget);
}

/* tw_users_exit() - no file is open any more */
void tw_users_exit(void)
{
	tw_user_budget_exit(&users_budget);
}

/* tw_user_put() - a file of the user is closed */
void tw_user_put(struct tw_user *user)
{
	mutex_lock(&users_lock);
	if (!--user->files) {
		WARN_ON_ONCE(atomic_long_read(&user->timers));
		hlist_del(&user->link);
		tw_user_budget_exit(&user->account);
		kfree(user);
	}
	mutex_unlock(&users_lock);
}

/*
 * tw_user_charge() - charge more timers to a user
 * @exempt: the user has no limit
 *
 * Return: 0, -EDQUOT.
 */
int tw_user_charge(struct tw_user *user, u32 timers, bool exempt)
{
	/* Of two callers that go beyond the limit together, both may be refused. */
	if (atomic_long_add_return(timers, &user->timers) <= tw_user_limit() ||
	    exempt)
		return 0;
	atomic_long_sub(timers, &user->timers);
	return -EDQUOT;
}

/* tw_user_uncharge() - take timers off a user's charge */
void tw_user_uncharge(struct tw_user *user, u32 timers)
{
	atomic_long_sub(timers, &user->timers);
}

/* tw_user_timers() - how many timers are charged to a user */
u64 tw_user_timers(const struct tw_user *user)
{
	return atomic_long_read(&user->timers);
}

/* tw_user_limit() - how many timers may be charged to a user */
u64 tw_user_limit(void)
{
	return READ_ONCE(user_timers);
}

/*
 * tw_user_cpu_budget() - what the wheels of its files take of a CPU together
 * @percent: how much they may, from now on
 */
struct tw_user_budget *tw_user_cpu_budget(struct tw_user *user, unsigned int percent)
{
	WRITE_ONCE(user->account.percent, percent);
	WRITE_ONCE(users_budget.percent, READ_ONCE(device_share_all));
	return &user->account;
}
