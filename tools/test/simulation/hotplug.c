// SPDX-License-Identifier: GPL-2.0-only
/* CPUs that come and go, and what is told of it: one state, and its instances. */
#include "cpus.h"
#include "machine.h"

struct cpumask stub_online = { BIT(STUB_CPUS) - 1 };
struct cpumask stub_isolated;

static int (*hotplug_up)(unsigned int cpu, struct hlist_node *node);
static int (*hotplug_down)(unsigned int cpu, struct hlist_node *node);
static struct hlist_node *hotplug_first;

int cpuhp_setup_state_multi(enum cpuhp_state state, const char *name,
			    int (*up)(unsigned int cpu, struct hlist_node *node),
			    int (*down)(unsigned int cpu, struct hlist_node *node))
{
	hotplug_up = up;
	hotplug_down = down;
	hotplug_first = NULL;
	return 0;
}

static void hotplug_tell(int (*call)(unsigned int cpu, struct hlist_node *node), int cpu,
			 struct hlist_node *node)
{
	if (call(cpu, node))
		stub_fault("a CPU may not come, or go");
}

int cpuhp_state_add_instance(enum cpuhp_state state, struct hlist_node *node)
{
	int cpu;

	node->next = hotplug_first;
	node->pprev = &hotplug_first;
	if (node->next)
		node->next->pprev = &node->next;
	hotplug_first = node;
	for_each_online_cpu(cpu)
		hotplug_tell(hotplug_up, cpu, node);
	return 0;
}

void cpuhp_state_remove_instance(enum cpuhp_state state, struct hlist_node *node)
{
	int cpu;

	for_each_online_cpu(cpu)
		hotplug_tell(hotplug_down, cpu, node);
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
}

int remove_cpu(unsigned int cpu)
{
	struct hlist_node *node;

	for (node = hotplug_first; node; node = node->next)
		hotplug_tell(hotplug_down, cpu, node);
	stub_online.bits &= ~BIT(cpu);
	machine_leave(cpu);
	queue_leave(cpu);
	return 0;
}

int add_cpu(unsigned int cpu)
{
	struct hlist_node *node;

	queue_forget(cpu);
	stub_online.bits |= BIT(cpu);
	for (node = hotplug_first; node; node = node->next)
		hotplug_tell(hotplug_up, cpu, node);
	return 0;
}
