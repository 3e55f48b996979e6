/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* What a terminal behind a file descriptor can take. */
struct terminal {
	bool is_terminal;
	bool colour;	 /* NO_COLOR and TERM=dumb honoured */
	unsigned width;	 /* 0 where it is no terminal */
	unsigned height; /* likewise */
};

void terminal_look(int fd, struct terminal *ret);
