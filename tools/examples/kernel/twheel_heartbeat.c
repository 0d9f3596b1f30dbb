// SPDX-License-Identifier: GPL-2.0-only
/*
 * Peers that send each other heart-beats, and close those that fall silent.
 *
 * Each peer has a periodic timer, for the beats that it sends to its receiver,
 * and a watch over the peer that sends to it. Some peers die after a few
 * beats. They run for a second in the module's init, which then says which were
 * closed. Load it with twheel.ko loaded, and read the kernel log.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>

#define PEERS		64
#define BEAT_NS		(50 * (u64)NSEC_PER_MSEC)
#define SILENCE_NS	(4 * BEAT_NS)

/* Every fourth peer dies when it has sent this many beats. */
#define LIFE		6

/**
 * struct peer - sends beats, and receives some
 * @beat: sends a beat
 * @watch: over the sender, whose beats this peer gets
 * @receiver: gets this peer's beats
 * @mortal: dies after some beats
 * @sent: beats sent
 * @last: the deadline of the last one
 * @heard: when the last beat was received
 * @closed: when the sender was found silent, or 0
 */
struct peer {
	struct twheel_periodic beat;
	struct twheel_idle watch;
	struct peer *receiver;
	bool mortal;
	unsigned int sent;
	u64 last;
	u64 heard;
	u64 closed;
};

static struct twheel *wheel;
static struct peer *peers;

/* What would be done for every packet that comes from the sender. */
static void peer_receive(struct peer *peer)
{
	peer->heard = twheel_now(wheel);
	twheel_idle_touch(&peer->watch);
}

/* Runs in softirq, every BEAT_NS. */
static enum twheel_next peer_send(struct twheel_periodic *beat)
{
	struct peer *peer = container_of(beat, struct peer, beat);

	peer_receive(peer->receiver);
	peer->sent++;
	peer->last = twheel_periodic_deadline(beat);
	return peer->mortal && peer->sent == LIFE ? TWHEEL_DONE : TWHEEL_AGAIN;
}

/* Runs in softirq when nothing was heard for SILENCE_NS. */
static void peer_close_sender(struct twheel_idle *watch)
{
	struct peer *peer = container_of(watch, struct peer, watch);

	WRITE_ONCE(peer->closed, twheel_now(wheel));
}

static void peer_init(unsigned int i)
{
	struct peer *peer = &peers[i];

	peer->receiver = &peers[(i + 1) % PEERS];
	peer->mortal = i % 4 == 0;
	twheel_periodic_init(&peer->beat, wheel, peer_send);
	twheel_idle_init(&peer->watch, wheel, peer_close_sender);
}

/* Spread over the period, so that they do not all beat at once. */
static u64 peer_first_beat(unsigned int i, u64 start)
{
	return start + i * (BEAT_NS / PEERS);
}

static void peer_start(unsigned int i, u64 start)
{
	struct peer *peer = &peers[i];

	peer->heard = twheel_now(wheel);
	twheel_idle_start(&peer->watch, SILENCE_NS);
	twheel_periodic_start_at(&peer->beat, peer_first_beat(i, start), BEAT_NS,
				 TWHEEL_FIXED_RATE);
}

static unsigned int peers_dead_and_closed(void)
{
	unsigned int i, count = 0;

	for (i = 0; i < PEERS; i++)
		count += peers[i].mortal &&
			 READ_ONCE(peers[i].receiver->closed);
	return count;
}

/* How many beats a peer should have sent when it sent its last one. */
static u64 peer_beats_due(unsigned int i, u64 start)
{
	if (!peers[i].sent)
		return 0;
	return div64_u64(peers[i].last - peer_first_beat(i, start), BEAT_NS) + 1;
}

static int heartbeat_check(u64 start)
{
	unsigned int i, closed = 0, early = 0, uncounted = 0;
	unsigned int dead = peers_dead_and_closed();
	u64 sent = 0, missed = 0;

	for (i = 0; i < PEERS; i++) {
		struct peer *peer = &peers[i];
		u64 late = twheel_periodic_missed(&peer->beat);

		sent += peer->sent;
		missed += late;
		uncounted += peer->sent + late != peer_beats_due(i, start);
		closed += !!peer->closed;
		early += peer->closed &&
			 peer->closed < peer->heard + SILENCE_NS;
	}
	pr_info("%llu beats sent, %llu missed; closed %u of %u dead peers, %u others, %u early\n",
		sent, missed, dead, PEERS / 4, closed - dead, early);
	return early || uncounted || dead != PEERS / 4 ? -EPROTO : 0;
}

static void heartbeat_end(void)
{
	twheel_destroy(wheel);
	kfree(peers);
}

static int __init heartbeat_init(void)
{
	struct twheel_config config = { .name = KBUILD_MODNAME };
	unsigned int i;
	u64 start;
	int ret;

	peers = kcalloc(PEERS, sizeof(*peers), GFP_KERNEL);
	if (!peers)
		return -ENOMEM;
	wheel = twheel_create(&config);
	if (IS_ERR(wheel)) {
		kfree(peers);
		return PTR_ERR(wheel);
	}

	/* All of them first: a beat touches the receiver's watch. */
	for (i = 0; i < PEERS; i++)
		peer_init(i);
	start = twheel_now(wheel) + BEAT_NS;
	for (i = 0; i < PEERS; i++)
		peer_start(i, start);
	msleep(800);
	/* That should do, but this machine may be a slow one. */
	for (i = 0; i < 100 && peers_dead_and_closed() < PEERS / 4; i++)
		msleep(50);

	/* No callback of theirs runs any more when these have returned. */
	for (i = 0; i < PEERS; i++)
		twheel_periodic_stop_sync(&peers[i].beat);
	for (i = 0; i < PEERS; i++)
		twheel_idle_stop_sync(&peers[i].watch);

	ret = heartbeat_check(start);
	if (ret)
		heartbeat_end();
	return ret;
}
module_init(heartbeat_init);

static void __exit heartbeat_exit(void)
{
	heartbeat_end();
}
module_exit(heartbeat_exit);

MODULE_DESCRIPTION("Example: heart-beats and idle peers on a timing wheel");
MODULE_LICENSE("GPL");
TWHEEL_IMPORT();
