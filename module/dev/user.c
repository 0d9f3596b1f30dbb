// SPDX-License-Identifier: GPL-2.0-only
/*
 * Users of the device: what their files take together, and what it is limited to.
 *
 * A user is known as long as a file is open that they pay for. Files are opened and grow
 * rarely, so one lock is enough. Memory is allocated and freed without it.
 *
 * All that runs outside of a user's own tasks is the alarms of their files. Each alarm is
 * charged with the time that it took, for the user and for all users together, to a leaky
 * bucket. It is one word: the instant up to which alarms are paid for. As long as that lies
 * in the future, the alarms of these files are postponed to it.
 *
 * Files that act have buckets of their own, for their alarms and for their agents (act.c), with the
 * same share. What these take counts for all users together, but postpones no lease: only what
 * the leases of the same user take does.
 *
 * Each CPU has buckets of its own. So no CPU loses more than the share, and a large server
 * that has tasks on many CPUs has a share of each. Alarms of a CPU run one after the other.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bottom_half.h>
#include <linux/capability.h>
#include <linux/compiler.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/hashtable.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/sched/isolation.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include <uapi/linux/twheel.h>

#include "../compat.h"
#include "user.h"

static int param_set(const char *text, const struct kernel_param *kp)
{
	const struct tw_param *param = kp->arg;
	unsigned long most = param->most;
	unsigned long value;

	if (param->ceiling)
		most = min(most, READ_ONCE(*param->ceiling));
	if (kstrtoul(text, 0, &value) || value < param->least ||
	    value > most) {
		/* The text may end with a newline. */
		pr_err("parameter %s: '%.*s' is not a number from %lu to %lu; it stays %lu\n",
		       kp->name, (int)strcspn(text, "\n"), text, param->least,
		       most, READ_ONCE(*param->value));
		return -EINVAL;
	}
	WRITE_ONCE(*param->value, value);
	return 0;
}

static int param_get(char *buffer, const struct kernel_param *kp)
{
	const struct tw_param *param = kp->arg;

	return sysfs_emit(buffer, "%lu\n", READ_ONCE(*param->value));
}

const struct kernel_param_ops tw_param_ops = {
	.set	= param_set,
	.get	= param_get,
};

/* More than a server has. */
static unsigned long user_timers = 1UL << 22;
TW_PARAM(user_timers, 0, LONG_MAX,
	 "Timers that a user without CAP_SYS_RESOURCE may have (0 to 2^63 - 1, on 32 bits to 2^31 - 1; default 4194304)");

/* By default, several users at their limit leave most of the memory to others. */
static unsigned long user_memory;
TW_PARAM(user_memory, 0, LONG_MAX,
	 "Bytes that the files of a user without CAP_SYS_RESOURCE may take (0 to 2^63 - 1, on 32 bits to 2^31 - 1; default 0, which is a sixteenth of the machine's memory)");

/*
 * A thousand alarms a second take less than 1 %. Beside a user at this share, whose tasks also
 * spin, a neighbour keeps more than 90 % of its fair part of the CPU. Beside many such users, it
 * keeps more than 70 %.
 */
static unsigned long alarm_share = 8;
TW_PARAM(alarm_share, 0, 100,
	 "Percent of each CPU that the alarms of a user without CAP_SYS_RESOURCE may take (0 to 100, 0: no limit; default 8)");

static unsigned long alarm_share_all = 25;
TW_PARAM(alarm_share_all, 0, 100,
	 "Percent of each CPU that the alarms of all users without CAP_SYS_RESOURCE may take (0 to 100, 0: no limit; default 25)");

/*
 * The largest debt of a user. An alarm or an action takes as long as this if it wakes some hundred
 * thousand watchers. Time is measured by the clock: if a hypervisor takes the CPU away meanwhile,
 * that may be seconds, which nobody has used. So what is more is forgiven, and nothing is postponed
 * by more than 0.8 s with a share of 8 %, once the user's files do nothing more.
 */
#define USER_DEBT_MOST		(64 * NSEC_PER_MSEC)

/* That of all users together: one of them delays others by 8 ms at most with a share of 25 %. */
#define USERS_DEBT_MOST		(2 * NSEC_PER_MSEC)

/* Smaller debts, in time to wait, are not worth a wake-up of an agent. */
#define USER_DEBT_LEAST		NSEC_PER_MSEC

/* So much time may be saved up, so that alarms that are rare are never postponed. */
#define USER_ALARM_BURST	NSEC_PER_MSEC

/* The caller and the owners of its namespaces, which nest 32 deep. */
#define USER_FILE_MAX		34U

/**
 * struct tw_user - a user
 * @link: in the table of users
 * @uid: the uid that the kernel knows, whatever a user namespace calls it
 * @files: the number of open files that they pay for
 * @timers: the number of timers that these have room for
 * @bytes: the memory that these take
 * @cpu: where the last alarm of these went off
 * @turns: how many agents have begun to wait for debts
 * @taken: how many of these wait no more
 * @paid: of each CPU: the instant on CLOCK_MONOTONIC up to which these alarms are paid for,
 *	then the same of files that act. Only what runs on that CPU writes it, where no softirq
 *	can come between
 */
struct tw_user {
	struct hlist_node link;
	kuid_t uid;
	unsigned long files;
	atomic_long_t timers;
	atomic_long_t bytes;
	int cpu;
	atomic64_t turns;
	atomic64_t taken;
	atomic64_t paid[];
};

/* A container may have 65536 users: some 64 are in a chain then. */
static DEFINE_HASHTABLE(user_table, 10);
static DEFINE_MUTEX(user_table_lock);

/* As &tw_user.paid, of all users together. */
static DEFINE_PER_CPU(atomic64_t, users_paid);

/* Count one more file of a known user; NULL if the user is not known. */
static struct tw_user *user_find(kuid_t uid)
{
	struct tw_user *user;

	lockdep_assert_held(&user_table_lock);
	hash_for_each_possible(user_table, user, link, __kuid_val(uid)) {
		if (uid_eq(user->uid, uid)) {
			user->files++;
			return user;
		}
	}
	return NULL;
}

static size_t user_cost(void)
{
	return struct_size((struct tw_user *)NULL, paid, 2 * nr_cpu_ids);
}

/* Return: the user, NULL without memory. */
static struct tw_user *user_get(kuid_t uid)
{
	struct tw_user *user, *fresh;

	fresh = kvzalloc(user_cost(), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return NULL;
	fresh->uid = uid;
	fresh->files = 1;
	fresh->cpu = raw_smp_processor_id();
	mutex_lock(&user_table_lock);
	user = user_find(uid);
	if (!user)
		hash_add(user_table, &fresh->link, __kuid_val(uid));
	mutex_unlock(&user_table_lock);
	if (!user)
		return fresh;
	kvfree(fresh);
	return user;
}

static void user_put(struct tw_user *user)
{
	bool last;

	mutex_lock(&user_table_lock);
	last = !--user->files;
	if (last)
		hash_del(&user->link);
	mutex_unlock(&user_table_lock);
	if (!last)
		return;
	WARN_ON_ONCE(atomic_long_read(&user->timers) || atomic_long_read(&user->bytes));
	kvfree(user);
}

/*
 * The caller, and the owners of their user namespaces. Root of the machine makes
 * most namespaces, and does not pay for what containers do. Returns how many there are.
 * @outermost: which one owns the outermost namespace: perhaps the caller, as subordinate users
 *	may own those in between
 */
static unsigned int users_find(kuid_t uids[USER_FILE_MAX], unsigned int *outermost)
{
	const struct user_namespace *ns = current_user_ns();
	unsigned int count = 1, i;

	*outermost = 0;
	uids[0] = current_uid();
	for (; ns != &init_user_ns && count < USER_FILE_MAX; ns = ns->parent) {
		if (uid_eq(ns->owner, GLOBAL_ROOT_UID))
			continue;
		for (i = 0; i < count && !uid_eq(uids[i], ns->owner); i++)
			;
		uids[i] = ns->owner;
		count = max(count, i + 1);
		*outermost = i;
	}
	return count;
}

static u64 user_limit_bytes(void)
{
	return READ_ONCE(user_memory) ?: (u64)totalram_pages() * PAGE_SIZE / 16;
}

/* tw_users_uncharge() - take timers and memory off their accounts */
void tw_users_uncharge(struct tw_users *users, u32 timers, u64 bytes)
{
	unsigned int i;

	for (i = 0; i < users->count; i++) {
		atomic_long_sub(timers, &users->users[i]->timers);
		atomic_long_sub(bytes, &users->users[i]->bytes);
	}
	users->timers -= timers;
	WRITE_ONCE(users->bytes, users->bytes - bytes);
}

/*
 * tw_users_charge() - charge more timers and memory, before it is allocated
 *
 * Return: 0, -EDQUOT.
 */
int tw_users_charge(struct tw_users *users, u32 timers, u64 bytes)
{
	u64 most_timers = READ_ONCE(user_timers), most_bytes = user_limit_bytes();
	bool beyond = false;
	unsigned int i;

	for (i = 0; i < users->count; i++) {
		struct tw_user *user = users->users[i];
		u64 has_timers = atomic_long_add_return(timers, &user->timers);
		u64 has_bytes = atomic_long_add_return(bytes, &user->bytes);

		beyond |= (timers && has_timers > most_timers) || (bytes && has_bytes > most_bytes);
	}
	users->timers += timers;
	WRITE_ONCE(users->bytes, users->bytes + bytes);
	if (!beyond || users->exempt)
		return 0;
	/* Of two callers that go beyond a limit together, both may be refused. */
	tw_users_uncharge(users, timers, bytes);
	return -EDQUOT;
}

/* tw_users_info() - what is charged to the opener, and how much may be */
void tw_users_info(const struct tw_users *users, struct twheel_info *info)
{
	const struct tw_user *opener = users->users[0];

	info->file_memory = READ_ONCE(users->bytes);
	info->user_timers = atomic_long_read(&opener->timers);
	info->user_memory = atomic_long_read(&opener->bytes);
	info->user_limit = users->exempt ? TWHEEL_NO_LIMIT : READ_ONCE(user_timers);
	info->user_memory_limit = users->exempt ? TWHEEL_NO_LIMIT : user_limit_bytes();
}

/* tw_users_put() - a file is closed: take all off that is charged */
void tw_users_put(struct tw_users *users)
{
	tw_users_uncharge(users, users->timers, users->bytes);
	while (users->count)
		user_put(users->users[--users->count]);
	kfree(users);
}

/*
 * tw_users_get() - the caller opens a file
 * @bytes: the memory that it takes, to which these books themselves are added
 *
 * Return: the users that the file is charged to, or an ERR_PTR: -ENOMEM, -EDQUOT.
 */
struct tw_users *tw_users_get(size_t bytes)
{
	kuid_t uids[USER_FILE_MAX];
	unsigned int outermost, count = users_find(uids, &outermost);
	struct tw_users *users;
	int ret = -ENOMEM;

	users = kzalloc(struct_size(users, users, count), GFP_KERNEL_ACCOUNT);
	if (!users)
		return ERR_PTR(-ENOMEM);
	/* Without an audit record: an open() without the capability succeeds as well. */
	users->exempt = ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE);
	while (users->count < count) {
		struct tw_user *user = user_get(uids[users->count]);

		if (!user)
			goto err_put;
		users->users[users->count++] = user;
	}
	users->outermost = users->users[outermost];
	ret = tw_users_charge(users, 0, bytes + struct_size(users, users, count) +
					count * user_cost());
	if (!ret)
		return users;
err_put:
	tw_users_put(users);
	return ERR_PTR(ret);
}

/* The time after which @took ns are paid for: with a share of a quarter, four times as long. */
static s64 bucket_time(u64 took, unsigned long percent)
{
	return div64_ul(took * 100, percent);
}

/*
 * Charge @took ns. Alarms that were set for the same instant are not postponed: they all go off.
 * What they take is forgiven beyond the largest debt, @most.
 */
static void bucket_charge(atomic64_t *paid, u64 took, u64 most, unsigned long percent, u64 now)
{
	s64 until;

	if (!percent)
		return;
	until = max_t(s64, atomic64_read(paid), now - USER_ALARM_BURST);
	until += bucket_time(took, percent);
	atomic64_set(paid, min_t(s64, until, now + bucket_time(most, percent)));
}

/* The bucket of a file's outermost user, on a CPU. */
static atomic64_t *users_bucket(const struct tw_users *users, int cpu)
{
	return &users->outermost->paid[2 * cpu + users->acts];
}

/*
 * tw_users_charge_time() - an alarm or an agent has run since @began on CLOCK_MONOTONIC
 *
 * An agent may have run on other CPUs meanwhile. This one is charged with all of it.
 *
 * Context: process, softirq.
 * Return: the present.
 */
u64 tw_users_charge_time(const struct tw_users *users, u64 began)
{
	struct tw_user *user = users->outermost;
	u64 ended = ktime_get_ns();
	int cpu;

	if (users->exempt)
		return ended;
	local_bh_disable();
	cpu = smp_processor_id();
	bucket_charge(users_bucket(users, cpu), ended - began, USER_DEBT_MOST,
		      READ_ONCE(alarm_share), ended);
	if (READ_ONCE(user->cpu) != cpu)
		WRITE_ONCE(user->cpu, cpu);
	bucket_charge(this_cpu_ptr(&users_paid), ended - began, USERS_DEBT_MOST,
		      READ_ONCE(alarm_share_all), ended);
	local_bh_enable();
	return ended;
}

/* The instant up to which alarms are paid for. With a share of 0, any debt is ignored. */
static s64 bucket_paid(const atomic64_t *paid, unsigned long percent)
{
	return percent ? atomic64_read(paid) : 0;
}

/*
 * tw_users_throttle() - how long the alarms of a file have to wait from now on, in ns
 *
 * An alarm goes off on the CPU that sets it, and is charged there. A debt delays the alarms
 * that are set on that CPU. With nohz_full, a CPU has its alarms on others: then it is the CPU
 * on which this user's last alarm went off.
 */
u64 tw_users_throttle(const struct tw_users *users)
{
	int cpu = raw_smp_processor_id();
	s64 paid;

	if (users->exempt)
		return 0;
	if (unlikely(!housekeeping_cpu(cpu, HK_TYPE_TIMER)))
		cpu = READ_ONCE(users->outermost->cpu);
	paid = bucket_paid(users_bucket(users, cpu), READ_ONCE(alarm_share));
	if (!users->acts)
		paid = max(paid, bucket_paid(per_cpu_ptr(&users_paid, cpu),
					     READ_ONCE(alarm_share_all)));
	return max_t(s64, paid - (s64)ktime_get_ns(), 0);
}

/*
 * tw_users_agent_waits() - whether an agent waits for a debt, or for those that do already
 * @turn: its turn among these; 0: it has none
 *
 * Each looks a while after the debt is paid: the later its turn, the longer. So they act in the
 * order in which they came. A look is charged, too. If all looked as soon as some debt is paid,
 * their looks would take the whole share.
 *
 * Return: how long after the debt it looks, in ns; 0: it goes on.
 */
u64 tw_users_agent_waits(const struct tw_users *users, u64 *turn)
{
	struct tw_user *user = users->outermost;
	bool debt = tw_users_throttle(users) >= USER_DEBT_LEAST;
	s64 taken = atomic64_read(&user->taken);

	if (users->exempt)
		return 0;
	if (!*turn) {
		if (!debt && taken == atomic64_read(&user->turns))
			return 0;
		*turn = atomic64_inc_return(&user->turns);
	} else if (!debt) {
		*turn = 0;
		atomic64_inc(&user->taken);
		return 0;
	}
	return max_t(s64, *turn - taken, 1) * NSEC_PER_MSEC;
}
