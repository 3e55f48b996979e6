/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/terminal.h"

#include <sys/ioctl.h>

#include "base/macros.h"
#include "base/number.h"
#include "base/strutil.h"

static bool wants_colour(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (no_color && *no_color)
		return false;
	return term && *term && !streq(term, "dumb");
}

/* COLUMNS and LINES, as users set them, go before what the terminal says. */
static unsigned dimension(const char *variable, unsigned by_terminal, unsigned otherwise)
{
	const char *text = getenv(variable);
	uint64_t n;

	if (text && parse_u64(text, &n) == 0 && n > 0 && n <= 10000)
		return (unsigned)n;
	return by_terminal ?: otherwise;
}

void terminal_look(int fd, struct terminal *ret)
{
	struct winsize size = {};

	*ret = (struct terminal){};
	if (!isatty(fd))
		return;
	if (ioctl(fd, TIOCGWINSZ, &size) < 0)
		size = (struct winsize){};
	ret->is_terminal = true;
	ret->colour = wants_colour();
	ret->width = dimension("COLUMNS", size.ws_col, 80);
	ret->height = dimension("LINES", size.ws_row, 24);
}
