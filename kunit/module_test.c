// SPDX-License-Identifier: GPL-2.0-only
/* The in-kernel API on a virtual clock: what the module has and a program has not. */
#include <linux/debugfs.h>

#include <linux/twheel_many.h>
#include <linux/twheel_stats.h>

#include "../module/core/base.h"
#include "probe.h"

static void create_defaults(struct kunit *test)
{
	static const struct twheel_config config = { };
	struct twheel_stats stats;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct twheel *wheel = wheel_new(test, i ? &config : NULL);

		twheel_get_stats(wheel, &stats);
		KUNIT_EXPECT_EQ(test, stats.clock, TWHEEL_CLOCK_MONOTONIC);
		KUNIT_EXPECT_EQ(test, stats.tick_ns, TWHEEL_TICK_DEFAULT);
		KUNIT_EXPECT_EQ(test, stats.slots, TWHEEL_SLOTS_DEFAULT);
		KUNIT_EXPECT_EQ(test, stats.levels, 6);
		KUNIT_EXPECT_EQ(test, wheel_end(test, wheel), 0);
	}
	KUNIT_EXPECT_EQ(test, twheel_destroy(NULL), 0);
	KUNIT_EXPECT_EQ(test, twheel_destroy(ERR_PTR(-ENOMEM)), 0);
}

/* Wheels of modules, and of code that is built in, are seen; the device's are not. */
static bool wheel_is_shown(u32 id)
{
	struct dentry *folder = debugfs_lookup("twheel", NULL);
	struct dentry *file = NULL;
	char number[11];

	snprintf(number, sizeof(number), "%u", id);
	if (folder)
		file = debugfs_lookup(number, folder);
	dput(folder);
	dput(file);
	return file;
}

static void users_wheels_are_shown(struct kunit *test)
{
	struct twheel *wheel;
	u32 id;

	if (!IS_ENABLED(CONFIG_DEBUG_FS))
		kunit_skip(test, "no debugfs");
	KUNIT_EXPECT_TRUE(test, wheel_is_shown(tw_system_wheel->id));
	wheel = virtual_wheel(test, MS, 0);
	id = wheel->id;
	KUNIT_EXPECT_TRUE(test, wheel_is_shown(id));
	wheel_end(test, wheel);
	KUNIT_EXPECT_FALSE(test, wheel_is_shown(id));
}

/* What it takes, life_test.c makes. */
static void valid_refuses(struct kunit *test)
{
	static const struct twheel_config bad[] = {
		{ .clock = TWHEEL_CLOCK_VIRTUAL + 1 }, { .clock = -1 },
		{ .context = TWHEEL_CONTEXT_WORK + 1 },
		{ .tick_ns = TWHEEL_TICK_MIN - 1 }, { .tick_ns = TWHEEL_TICK_MAX + 1 },
		{ .slots = TWHEEL_SLOTS_MIN - 1 }, { .slots = TWHEEL_SLOTS_MAX + 1 },
		{ .start_ns = 5 }, { .clock = TWHEEL_CLOCK_BOOTTIME, .start_ns = 5 },
		{ .clock = TWHEEL_CLOCK_VIRTUAL, .start_ns = TWHEEL_NEVER },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_FALSE_MSG(test, tw_base_valid(&bad[i]), "bad[%u]", i);
}

/* A timer of zeros, and calls that a program has not: see contract_test.c. */
static void zeros_are_on_no_cpu(struct kunit *test)
{
	struct twheel_item item = { .deadline_ns = MS };

	if (IS_ENABLED(CONFIG_DEBUG_OBJECTS))
		kunit_skip(test, "debug objects would report it");
	item.timer = kunit_kzalloc(test, sizeof(*item.timer), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, item.timer);
	KUNIT_EXPECT_EQ(test, twheel_arm_on(item.timer, 0, MS), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_arm_on_at(item.timer, 0, MS), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel_of_test(test), &item, 1), 0);
	KUNIT_EXPECT_EQ(test, item.result, -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_cancel_many(wheel_of_test(test), &item, 1), 1);
	KUNIT_EXPECT_EQ(test, item.result, 0);
	KUNIT_EXPECT_FALSE(test, twheel_pending(item.timer));
}

static struct kunit_case module_cases[] = {
	KUNIT_CASE(create_defaults),
	KUNIT_CASE(valid_refuses),
	KUNIT_CASE(zeros_are_on_no_cpu),
	KUNIT_CASE(users_wheels_are_shown),
	{ }
};

static struct kunit_suite twheel_module_suite = {
	.name		= "twheel_module",
	.init		= probe_test_init,
	.exit		= wheels_end,
	.test_cases	= module_cases,
};

kunit_test_suite(twheel_module_suite);
