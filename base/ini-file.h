/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* The largest policy file that is read: above it, one clear error. */
#define INI_FILE_MAX_BYTES (1024 * 1024)

/*
 * What the reader found, one call per line that says something.  Strings live only during the call.
 * A non-zero return ends the reading and becomes the result of ini_read().
 */
struct ini_handler {
	/* "[name]"; white space inside the brackets is stripped. */
	int (*section)(void *userdata, unsigned line, const char *name);
	/*
	 * "key = value" (section is the last one seen, "" before the first).  Comments, white space at the ends and
	 * one pair of matching quotes around the whole value are gone.
	 */
	int (*pair)(void *userdata, unsigned line, const char *section, const char *key, const char *value);
	/* A line that cannot be taken; text is a finished sentence without file and line; reading goes on. */
	int (*fault)(void *userdata, unsigned line, const char *text);
};

/*
 * Reads INI text.  Drops a UTF-8 byte order mark and CR before LF.  Comments start with '#' or ';' at the start of a line
 * or after white space (not inside a quoted value).  A key without '=', an empty key or value, an unclosed section, NUL,
 * control characters, invalid UTF-8 and UTF-16 are faults.  Lines may be of any length; an indented line is a line
 * of its own; ':' is an ordinary character.  Pairs below a faulty section line are looked at for faults only.
 * The text does not need a NUL at its end.
 * 0, -ENOMEM, or what a handler returned.
 */
int ini_read(const char *text, size_t size, const struct ini_handler *handler, void *userdata);
