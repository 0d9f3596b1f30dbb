# SPDX-License-Identifier: GPL-2.0-only
# Words for make. Of the kernel itself, KASAN looks into what works on memory of its users, as
# a wheel is one, and UBSAN into nothing. With both in all of it, the build took 590 seconds on
# two CPUs, and not 336. The module is built with both, whatever stands here.
KASAN_SANITIZE=n
UBSAN_SANITIZE=n
KASAN_SANITIZE_alarmtimer.o=y
KASAN_SANITIZE_debugobjects.o=y
KASAN_SANITIZE_eventpoll.o=y
KASAN_SANITIZE_hrtimer.o=y
KASAN_SANITIZE_irq_work.o=y
KASAN_SANITIZE_kthread.o=y
KASAN_SANITIZE_list_debug.o=y
KASAN_SANITIZE_mutex.o=y
KASAN_SANITIZE_rbtree.o=y
KASAN_SANITIZE_rwsem.o=y
KASAN_SANITIZE_seq_file.o=y
KASAN_SANITIZE_task_work.o=y
KASAN_SANITIZE_timerqueue.o=y
KASAN_SANITIZE_tree.o=y
KASAN_SANITIZE_wait.o=y
KASAN_SANITIZE_workqueue.o=y
