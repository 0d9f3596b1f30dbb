/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Private: what the headers of the library want of C and C++. */
#ifndef LIBTWHEEL_LANGUAGE_H
#define LIBTWHEEL_LANGUAGE_H

#include <stddef.h>

#define TWHEEL_API	__attribute__((visibility("default")))

/* A conversion and a null pointer that C++ has, too, and its warnings do not mind. */
#ifdef __cplusplus
#define TWHEEL_CAST(type, value)	static_cast<type>(value)
#define TWHEEL_NULL	nullptr
#else
#define TWHEEL_CAST(type, value)	((type)(value))
#define TWHEEL_NULL	NULL
#endif

#endif
