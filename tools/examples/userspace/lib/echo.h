/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of an echo server that has nothing to do with time. */
#ifndef EXAMPLE_ECHO_H
#define EXAMPLE_ECHO_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct echo_server - what the command line asks for
 * @listener: socket that connections come in at
 * @idle_ns: how long one may be silent
 */
struct echo_server {
	int listener;
	uint64_t idle_ns;
};

/*
 * Reads "[-i MILLISECONDS] PORT|PATH": TCP on the loopback address, or a Unix
 * socket. A mistake ends the program.
 */
struct echo_server echo_server(int argc, char **argv);

/* The next connection, non-blocking; -1 if there is none, or no room for one. */
int echo_accept(int listener);

/* Send back what has come. False if the peer is gone, or does not read. */
bool echo_answer(int fd);

/* Set by SIGTERM and SIGINT, which interrupt nothing but epoll_pwait(@mask). */
extern volatile sig_atomic_t echo_ended;
void echo_signals(sigset_t *mask);

#endif
