// SPDX-License-Identifier: GPL-2.0-only
/*
 * A table of flows, as a connection tracker has. Packets find a flow under RCU and extend its
 * lifetime. A flow that is silent removes itself. A flow ends in one of three ways: its timer
 * fires, it is closed, or the module goes. Only the last waits for callbacks.
 *
 * The module's init lets packets come, and checks what is left. Load it with twheel.ko loaded,
 * and read the kernel log.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <linux/twheel.h>

#define FLOWS		256
#define LIFETIME_NS	(100ULL * NSEC_PER_MSEC)

/**
 * struct flow - something that packets belong to
 * @link: in the table. Under @flows_lock
 * @rcu: frees it
 * @silence: fires when no packet has come for LIFETIME_NS; on the system wheel
 * @key: what packets say
 */
struct flow {
	struct hlist_node link;
	struct rcu_head rcu;
	struct twheel_timer silence;
	u32 key;
};

static DEFINE_HASHTABLE(flows, 6);
static DEFINE_SPINLOCK(flows_lock);
static atomic_t silent = ATOMIC_INIT(0);

/*
 * With the lock: remove a flow that is linked. The callback may run meanwhile, or be the caller.
 * If a flow has several timers, all are shut down under this lock. Else flows_end() could find
 * the flow gone, wait, and return before one of them fires.
 */
static void flow_remove(struct flow *flow)
{
	lockdep_assert_held(&flows_lock);
	hash_del_rcu(&flow->link);
	/* Readers that have found it before can arm it no more. */
	twheel_shutdown(&flow->silence);
	kfree_rcu(flow, rcu);
}

/* Runs in softirq, as an RCU reader. */
static void flow_silent(struct twheel_timer *timer)
{
	struct flow *flow = container_of(timer, struct flow, silence);

	spin_lock_bh(&flows_lock);
	if (!hlist_unhashed(&flow->link)) {
		flow_remove(flow);
		atomic_inc(&silent);
	}
	spin_unlock_bh(&flows_lock);
}

/* As an RCU reader, or with the lock. */
static struct flow *flow_find(u32 key)
{
	struct flow *flow;

	hash_for_each_possible_rcu(flows, flow, link, key, lockdep_is_held(&flows_lock))
		if (flow->key == key)
			return flow;
	return NULL;
}

static int flow_add(u32 key)
{
	struct flow *flow = kzalloc(sizeof(*flow), GFP_KERNEL);

	if (!flow)
		return -ENOMEM;
	flow->key = key;
	twheel_timer_init(&flow->silence, NULL, flow_silent);
	spin_lock_bh(&flows_lock);
	/* Armed first: who finds it extends it, and would take one that is not pending for gone. */
	twheel_arm(&flow->silence, LIFETIME_NS);
	hash_add_rcu(flows, &flow->link, key);
	spin_unlock_bh(&flows_lock);
	return 0;
}

/* A packet. Where it comes later than LIFETIME_NS after the one before, the flow has gone. */
static bool flow_packet(u32 key)
{
	struct flow *flow;
	bool found;

	rcu_read_lock();
	flow = flow_find(key);
	found = flow && twheel_extend(&flow->silence, LIFETIME_NS) >= 0;
	rcu_read_unlock();
	return found;
}

static void flow_close(u32 key)
{
	struct flow *flow;

	spin_lock_bh(&flows_lock);
	flow = flow_find(key);
	if (flow)
		flow_remove(flow);
	spin_unlock_bh(&flows_lock);
}

/* No packet comes any more: remove all, and wait for the callbacks that still run. */
static void flows_end(void)
{
	struct hlist_node *next;
	struct flow *flow;
	unsigned int i;

	spin_lock_bh(&flows_lock);
	hash_for_each_safe(flows, i, next, flow, link)
		flow_remove(flow);
	spin_unlock_bh(&flows_lock);
	synchronize_rcu();
}

static int __init flows_init(void)
{
	unsigned int i, round, lost = 0;
	int ret = 0;

	for (i = 0; i < FLOWS && !ret; i++)
		ret = flow_add(i);
	/* A quarter is closed, a quarter falls silent, and the rest goes on. */
	for (i = FLOWS / 4; i < FLOWS / 2; i++)
		flow_close(i);
	for (round = 0; round < 20 && !ret; round++) {
		for (i = FLOWS / 2; i < FLOWS; i++)
			lost += !flow_packet(i);
		msleep(20);
	}
	/* That should do, but this machine may be a slow one. */
	for (i = 0; i < 100 && !ret && atomic_read(&silent) < FLOWS / 4; i++)
		msleep(50);
	pr_info("%d flows fell silent, %u packets came too late\n", atomic_read(&silent), lost);
	/* On a slow machine more fall silent, and their packets find nothing. */
	if (!ret && (atomic_read(&silent) < FLOWS / 4 || flow_packet(0)))
		ret = -EPROTO;
	if (ret)
		flows_end();
	return ret;
}
module_init(flows_init);

static void __exit flows_exit(void)
{
	flows_end();
}
module_exit(flows_exit);

MODULE_DESCRIPTION("Example: flows that RCU frees, on the system wheel");
MODULE_LICENSE("GPL");
TWHEEL_IMPORT();
