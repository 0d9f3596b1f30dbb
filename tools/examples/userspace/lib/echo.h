/* SPDX-License-Identifier: MIT-0 */
/* The parts of an echo server that do not concern time. */
#ifndef EXAMPLE_ECHO_H
#define EXAMPLE_ECHO_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct echo_server - what the command line asks for
 * @listener: the socket that accepts connections
 * @idle_ns: how long a connection may be silent
 */
struct echo_server {
	int listener;
	uint64_t idle_ns;
};

/*
 * Read "[-i MILLISECONDS] PORT|PATH" and listen there: with TCP on the loopback
 * address, or at a Unix socket. A mistake ends the program.
 */
struct echo_server echo_server(int argc, char **argv);

/* Accept the connections that wait, non-blocking, and begin each. */
void echo_accept_all(int listener, void (*begin)(int fd));

/* Have an epoll name @what when a descriptor is readable. A failure ends the program. */
void echo_watch(int epoll, int fd, void *what);

/* Send back what has come. False if the peer is gone or does not read. */
bool echo_answer(int fd);

/* Set by SIGTERM and SIGINT, which are blocked except in epoll_pwait(@mask). */
extern volatile sig_atomic_t echo_ended;
void echo_signals(sigset_t *mask);

#endif
