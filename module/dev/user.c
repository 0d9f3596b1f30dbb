// SPDX-License-Identifier: GPL-2.0-only
/*
 * What each user of the device has, in all files together.
 *
 * A user is known as long as a file is open that he pays for, and until the threads are gone
 * that have served his files. Files are opened and grow rarely, so one lock is enough. Memory is
 * allocated and freed without it.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/wait_bit.h>

#include <uapi/linux/twheel.h>

#include "../core/server.h"
#include "../core/user_budget.h"
#include "../param.h"
#include "user.h"

static unsigned long user_timers = 1UL << 22;
TW_PARAM(user_timers, 0, LONG_MAX,
	 "Timers that a user without CAP_SYS_RESOURCE may have (0 to 2^63 - 1, on 32 bits to 2^31 - 1; default 4194304)");

static unsigned long user_memory;
TW_PARAM(user_memory, 0, LONG_MAX,
	 "Bytes that the files of a user without CAP_SYS_RESOURCE may take (0 to 2^63 - 1, on 32 bits to 2^31 - 1; default 0, which is a sixteenth of the machine's memory)");

static unsigned long device_share_all = 50;
TW_PARAM(device_share_all, 0, 100,
	 "Percent of a CPU that all files of users without CAP_SYS_RESOURCE may take in softirq, before threads serve them (0 to 100, 0: no limit; default 50)");

/**
 * struct tw_user - a user
 * @link: in the bucket of its uid
 * @uid: the uid that the kernel knows, whatever a user namespace calls it
 * @uses: the number of open files that he pays for, and of @servers
 * @timers: the number of timers that these have room for
 * @bytes: the memory that these have
 * @account: what the wheels of these take of each CPU together
 * @servers: of his files, one for each combination of cgroups that opened them, up to
 *	USER_SERVERS
 * @nr_servers: how many they are
 */
struct tw_user {
	struct hlist_node link;
	kuid_t uid;
	unsigned long uses;
	atomic_long_t timers;
	atomic_long_t bytes;
	struct tw_user_budget account;
	struct list_head servers;
	unsigned int nr_servers;
};

/**
 * struct user_server - a server of a user
 * @link: among those of the user
 * @user: the user
 * @files: the number of open files that it serves
 * @server: the server
 */
struct user_server {
	struct list_head link;
	struct tw_user *user;
	unsigned long files;
	struct tw_server server;
};

/*
 * So many threads a user may have. They are bounded because one that a cgroup keeps from running
 * does not end. Further combinations of cgroups share the last one.
 */
#define USER_SERVERS		4U

/* How many servers there are, of all users. */
static atomic_t user_servers = ATOMIC_INIT(0);

#define USER_BUCKETS		64U

static struct hlist_head user_buckets[USER_BUCKETS];
static DEFINE_MUTEX(users_lock);

static struct tw_user_budget users_budget;

/* How many users can pay for a file: namespaces nest 32 deep. */
#define PAYERS_MAX		34U

static struct hlist_head *user_bucket(kuid_t uid)
{
	return &user_buckets[__kuid_val(uid) % USER_BUCKETS];
}

/* A file more for a user who is known; else NULL. */
static struct tw_user *user_find(kuid_t uid)
{
	struct tw_user *user;

	lockdep_assert_held(&users_lock);
	hlist_for_each_entry(user, user_bucket(uid), link) {
		if (uid_eq(user->uid, uid)) {
			user->uses++;
			return user;
		}
	}
	return NULL;
}

static void user_free(struct tw_user *user)
{
	tw_user_budget_exit(&user->account);
	kfree(user);
}

static struct tw_user *user_new(kuid_t uid)
{
	struct tw_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	if (tw_user_budget_init(&user->account)) {
		kfree(user);
		return NULL;
	}
	user->account.all = &users_budget;
	user->uid = uid;
	user->uses = 1;
	INIT_LIST_HEAD(&user->servers);
	return user;
}

/* Return: the user, NULL without memory. */
static struct tw_user *user_get(kuid_t uid)
{
	struct tw_user *user, *fresh;

	mutex_lock(&users_lock);
	user = user_find(uid);
	mutex_unlock(&users_lock);
	if (user)
		return user;
	fresh = user_new(uid);
	if (!fresh)
		return NULL;
	/* Another file may have been opened meanwhile. */
	mutex_lock(&users_lock);
	user = user_find(uid);
	if (!user)
		hlist_add_head(&fresh->link, user_bucket(uid));
	mutex_unlock(&users_lock);
	if (!user)
		return fresh;
	user_free(fresh);
	return user;
}

static void user_put(struct tw_user *user)
{
	bool last;

	mutex_lock(&users_lock);
	last = !--user->uses;
	if (last)
		hlist_del(&user->link);
	mutex_unlock(&users_lock);
	if (!last)
		return;
	WARN_ON_ONCE(atomic_long_read(&user->timers) ||
		     atomic_long_read(&user->bytes));
	user_free(user);
}

static void user_remove_server(struct user_server *server)
{
	lockdep_assert_held(&users_lock);
	list_del(&server->link);
	server->user->nr_servers--;
}

static void user_free_server(struct user_server *server)
{
	tw_server_exit(&server->server);
	user_put(server->user);
	kfree(server);
	if (atomic_dec_and_test(&user_servers))
		wake_up_var(&user_servers);
}

/* The thread is gone. Another file may have been opened meanwhile. */
static void user_server_gone(struct tw_server *of_files)
{
	struct user_server *server = container_of(of_files, struct user_server, server);
	bool last;

	mutex_lock(&users_lock);
	last = !server->files;
	if (last)
		user_remove_server(server);
	mutex_unlock(&users_lock);
	if (last)
		user_free_server(server);
}

/* A file more for a server that does for the caller; else NULL. */
static struct user_server *user_find_server(struct tw_user *user)
{
	struct user_server *server, *found = NULL;

	lockdep_assert_held(&users_lock);
	list_for_each_entry(server, &user->servers, link) {
		found = server;
		if (tw_server_is_like(&server->server, current))
			break;
		if (user->nr_servers < USER_SERVERS)
			found = NULL;
	}
	if (found && !found->files++)
		tw_server_begin(&found->server);
	return found;
}

static void user_add_server(struct tw_user *user, struct user_server *server)
{
	lockdep_assert_held(&users_lock);
	list_add(&server->link, &user->servers);
	user->nr_servers++;
	user->uses++;
	atomic_inc(&user_servers);
	server->user = user;
	server->files = 1;
	tw_server_init(&server->server, __kuid_val(user->uid), user_server_gone);
}

static struct tw_server *user_get_server(struct tw_user *user)
{
	struct user_server *server, *fresh;

	mutex_lock(&users_lock);
	server = user_find_server(user);
	mutex_unlock(&users_lock);
	if (server)
		return &server->server;
	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return NULL;
	/* Another file may have been opened meanwhile. */
	mutex_lock(&users_lock);
	server = user_find_server(user);
	if (!server)
		user_add_server(user, fresh);
	mutex_unlock(&users_lock);
	if (!server)
		return &fresh->server;
	kfree(fresh);
	return &server->server;
}

static void user_put_server(struct tw_server *of_file)
{
	struct user_server *server = container_of(of_file, struct user_server, server);
	bool last;

	mutex_lock(&users_lock);
	/* Else it goes when its thread is gone. */
	last = !--server->files && tw_server_end(&server->server);
	if (last)
		user_remove_server(server);
	mutex_unlock(&users_lock);
	if (last)
		user_free_server(server);
}

/* The caller, and the owners of his user namespaces. Returns how many they are. */
static unsigned int payers_find(kuid_t uids[PAYERS_MAX])
{
	const struct user_namespace *ns = current_user_ns();
	unsigned int count = 1, i;

	uids[0] = current_uid();
	for (; ns != &init_user_ns && count < PAYERS_MAX; ns = ns->parent) {
		for (i = 0; i < count && !uid_eq(uids[i], ns->owner); i++)
			;
		if (i == count)
			uids[count++] = ns->owner;
	}
	return count;
}

/* tw_payers_get() - the caller opens a file. Return: who pays, NULL without memory. */
struct tw_payers *tw_payers_get(void)
{
	kuid_t uids[PAYERS_MAX];
	unsigned int count = payers_find(uids);
	struct tw_payers *payers;

	payers = kzalloc(struct_size(payers, users, count), GFP_KERNEL_ACCOUNT);
	if (!payers)
		return NULL;
	/* Without an audit record: an open() without it succeeds as well. */
	payers->exempt = ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE);
	while (payers->count < count) {
		struct tw_user *user = user_get(uids[payers->count]);

		if (!user) {
			tw_payers_put(payers);
			return NULL;
		}
		payers->users[payers->count++] = user;
	}
	payers->server = user_get_server(payers->users[count - 1]);
	if (!payers->server) {
		tw_payers_put(payers);
		return NULL;
	}
	return payers;
}

/* tw_payers_put() - a file is closed, and all that it had is uncharged */
void tw_payers_put(struct tw_payers *payers)
{
	if (payers->server)
		user_put_server(payers->server);
	while (payers->count)
		user_put(payers->users[--payers->count]);
	kfree(payers);
}

/* tw_payers_cost() - the memory of the books themselves, as each file pays for it */
size_t tw_payers_cost(const struct tw_payers *payers)
{
	size_t user = roundup_pow_of_two(sizeof(struct tw_user)) +
		      num_possible_cpus() * sizeof(struct tw_budget);

	return roundup_pow_of_two(struct_size(payers, users, payers->count)) +
	       roundup_pow_of_two(sizeof(struct user_server)) + payers->count * user;
}

/* tw_users_init() - the module is loaded. Return: 0, -ENOMEM. */
int __init tw_users_init(void)
{
	int ret = tw_servers_init();

	if (ret)
		return ret;
	ret = tw_user_budget_init(&users_budget);
	if (ret)
		tw_servers_exit();
	return ret;
}

/* tw_users_exit() - no file is open any more. Waits until the last thread is gone. */
void tw_users_exit(void)
{
	wait_var_event(&user_servers, !atomic_read(&user_servers));
	tw_servers_exit();
	tw_user_budget_exit(&users_budget);
}

static u64 user_limit_bytes(void)
{
	return READ_ONCE(user_memory) ?: (u64)totalram_pages() * PAGE_SIZE / 16;
}

static void user_uncharge(struct tw_user *user, u32 timers, u64 bytes)
{
	atomic_long_sub(timers, &user->timers);
	atomic_long_sub(bytes, &user->bytes);
}

/*
 * tw_payers_charge() - charge more timers and memory, before it is allocated
 *
 * Return: 0, -EDQUOT.
 */
int tw_payers_charge(const struct tw_payers *payers, u32 timers, u64 bytes)
{
	u64 most_timers = READ_ONCE(user_timers), most_bytes = user_limit_bytes();
	unsigned int i;

	for (i = 0; i < payers->count; i++) {
		struct tw_user *user = payers->users[i];
		u64 has_timers = atomic_long_add_return(timers, &user->timers);
		u64 has_bytes = atomic_long_add_return(bytes, &user->bytes);

		/* Of two callers that go beyond a limit together, both may be refused. */
		if (!payers->exempt && ((timers && has_timers > most_timers) ||
					(bytes && has_bytes > most_bytes)))
			goto refuse;
	}
	return 0;

refuse:
	do
		user_uncharge(payers->users[i], timers, bytes);
	while (i--);
	return -EDQUOT;
}

/* tw_payers_uncharge() - take timers and memory off their accounts */
void tw_payers_uncharge(const struct tw_payers *payers, u32 timers, u64 bytes)
{
	unsigned int i;

	for (i = 0; i < payers->count; i++)
		user_uncharge(payers->users[i], timers, bytes);
}

/* tw_payers_timers() - what is charged to that one of them who has most */
u64 tw_payers_timers(const struct tw_payers *payers)
{
	unsigned int i;
	u64 most = 0;

	for (i = 0; i < payers->count; i++)
		most = max_t(u64, most, atomic_long_read(&payers->users[i]->timers));
	return most;
}

/* tw_payers_bytes() - likewise */
u64 tw_payers_bytes(const struct tw_payers *payers)
{
	unsigned int i;
	u64 most = 0;

	for (i = 0; i < payers->count; i++)
		most = max_t(u64, most, atomic_long_read(&payers->users[i]->bytes));
	return most;
}

/* tw_payers_limit_timers() - how many timers may be charged to each of them */
u64 tw_payers_limit_timers(const struct tw_payers *payers)
{
	return payers->exempt ? TWHEEL_NO_LIMIT : READ_ONCE(user_timers);
}

/* tw_payers_limit_bytes() - likewise */
u64 tw_payers_limit_bytes(const struct tw_payers *payers)
{
	return payers->exempt ? TWHEEL_NO_LIMIT : user_limit_bytes();
}

/*
 * tw_payers_cpu_budget() - what the wheels of the outermost payer take of a CPU together.
 * That includes the wheels of the users in his namespaces
 * @percent: how much they may, from now on
 *
 * Return: the budget, NULL if there is no limit.
 */
struct tw_user_budget *tw_payers_cpu_budget(const struct tw_payers *payers,
					    unsigned int percent)
{
	struct tw_user *user = payers->users[payers->count - 1];

	if (payers->exempt || !percent)
		return NULL;
	WRITE_ONCE(user->account.percent, percent);
	WRITE_ONCE(users_budget.percent, READ_ONCE(device_share_all));
	return &user->account;
}
