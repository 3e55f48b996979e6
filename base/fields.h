/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdio.h>

/*
 * Lines of fields separated by tabs.  A tab, a newline and a backslash inside a field are written as \t, \n and \\, so that any text
 * survives.
 */

/* Writes a tab and the field. */
void put_field(FILE *f, const char *s);

/* Cuts line at its tabs, in place. Returns the number of fields, or -EINVAL for more than max or a bad escape. */
int split_fields(char *line, char **fields, int max);
