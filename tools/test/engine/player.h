/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes are played as operations on an engine, which an oracle watches. */
#ifndef TWHEEL_ENGINE_PLAY_H
#define TWHEEL_ENGINE_PLAY_H

#include "shim.h"

/* Play so many bytes. Returns how many operations that was; test->failed may be set. */
unsigned int play(struct kunit *test, const uint8_t *bytes, size_t size);

#endif /* TWHEEL_ENGINE_PLAY_H */
