/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/ini-file.h"

#include <ini.h>

#include "base/strutil.h"
#include "base/utf8.h"

/*
 * inih cuts lines at 200 bytes and section names at 49, takes an indented line for more of the value before it, ':' for '='
 * and only ';' for a comment within a line, and says nothing.  So no text of the user's ever reaches it: each line is taken
 * apart here, and inih is handed a skeleton of the same structure ("[s]" or "k=v").  It calls its handler before it asks
 * for the next line, so the handler finds the real names in the reader.
 */
#define SKELETON_SECTION "[s]\n"
#define SKELETON_PAIR "k=v\n"

/* How much of a bad line a message shows. */
#define SHOWN_BYTES 60

struct reader {
	const char *next, *end; /* what has not been read yet */
	unsigned line;
	char *buffer; /* the current line, NUL-terminated; key and value point into it */
	size_t buffer_size;
	char *section;	   /* the last one seen, or NULL */
	bool section_lost; /* its line was faulty: what follows belongs to no section that is known */
	const char *key, *value;
	const struct ini_handler *handler;
	void *userdata;
	int result; /* what a handler returned, or -ENOMEM; where it is not 0 the reading ends */
};

static void fault(struct reader *r, const char *text)
{
	r->result = text ? r->handler->fault(r->userdata, r->line, text) : -ENOMEM;
}

/* BEFORE "part of the line" AFTER */
static void fault_about(struct reader *r, const char *before, const char *line, const char *after)
{
	size_t n = utf8_cut(line, SHOWN_BYTES);
	_cleanup_free_ char *text = xasprintf("%s\"%.*s%s\"%s", before, (int)n, line, line[n] ? "..." : "", after);

	fault(r, text);
}

/* By its byte order mark, or by the NULs that ASCII text has in UTF-16; NULL where it is neither. */
static const char *wide_encoding(const char *text, size_t size)
{
	if (size < 2)
		return NULL;
	if (size >= 4 && memcmp(text, "\xff\xfe\0\0", 4) == 0)
		return "UTF-32 (little endian)";
	if (size >= 4 && memcmp(text, "\0\0\xfe\xff", 4) == 0)
		return "UTF-32 (big endian)";
	if (memcmp(text, "\xff\xfe", 2) == 0 || (text[0] && !text[1]))
		return "UTF-16 (little endian)";
	if (memcmp(text, "\xfe\xff", 2) == 0 || (!text[0] && text[1]))
		return "UTF-16 (big endian)";
	return NULL;
}

/* Moves on to the next line and copies it, without its end, into the buffer.  False at the end and on lack of memory. */
static bool next_line(struct reader *r, size_t *ret_size)
{
	const char *start = r->next, *stop;
	size_t size;

	if (start == r->end)
		return false;
	stop = memchr(start, '\n', (size_t)(r->end - start));
	r->next = stop ? stop + 1 : r->end;
	size = (size_t)((stop ? stop : r->end) - start);
	if (size > 0 && start[size - 1] == '\r')
		size--;
	r->line++;

	if (size >= r->buffer_size) {
		size_t want = MAX(2 * r->buffer_size, size + 1);
		char *larger = realloc(r->buffer, want);

		if (!larger) {
			r->result = -ENOMEM;
			return false;
		}
		r->buffer = larger;
		r->buffer_size = want;
	}
	memcpy(r->buffer, start, size);
	r->buffer[size] = 0;
	*ret_size = size;
	return true;
}

/* True where the line is text throughout; else the fault is reported. */
static bool check_bytes(struct reader *r, size_t size)
{
	_cleanup_free_ char *text = NULL;
	size_t i = 0, n;

	for (; i < size; i += n) {
		uint32_t point;

		n = utf8_next(r->buffer + i, &point);
		if (n == 0) {
			text = xasprintf("byte 0x%02x in column %zu is not UTF-8; save the file as UTF-8",
					 (unsigned char)r->buffer[i], i + 1);
			break;
		}
		if (point == 0) {
			text = xasprintf("NUL byte in column %zu; is this a text file?", i + 1);
			break;
		}
		if ((point < 0x20 && point != '\t') || (point >= 0x7f && point < 0xa0)) {
			text = xasprintf("control character U+%04X in column %zu", (unsigned)point, i + 1);
			break;
		}
	}
	if (i >= size)
		return true;
	fault(r, text);
	return false;
}

/* What looks like a blank, or like nothing at all, comes along with text copied from a web page. */
static bool check_blanks(struct reader *r, const char *s)
{
	static const struct {
		const char *bytes, *name;
	} table[] = {
		{ "\xc2\xa0", "a no-break space (U+00A0)" },
		{ "\xe2\x80\xaf", "a narrow no-break space (U+202F)" },
		{ "\xe2\x80\x8b", "a zero width space (U+200B)" },
		{ "\xef\xbb\xbf", "a byte order mark (U+FEFF) in the middle of the text" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		_cleanup_free_ char *before = NULL;

		if (!strstr(s, table[i].bytes))
			continue;
		before = xasprintf("%s in ", table[i].name);
		if (before)
			fault_about(r, before, s, "; use an ordinary blank");
		else
			r->result = -ENOMEM;
		return false;
	}
	return true;
}

static bool starts_comment(const char *line, const char *p)
{
	return (*p == '#' || *p == ';') && (p == line || is_blank(p[-1]));
}

/* Ends line where, at from or later, a comment starts. */
static void cut_comment(const char *line, char *from)
{
	for (char *p = from; *p; p++)
		if (starts_comment(line, p)) {
			*p = 0;
			return;
		}
}

/* True where the line gives a new section. */
static bool take_section(struct reader *r, char *line)
{
	char *close, *name;

	r->section_lost = true;
	cut_comment(line, line);
	line = strstrip(line);
	close = strchr(line, ']');
	if (!close) {
		fault_about(r, "no \"]\" at the end of ", line, "");
		return false;
	}
	if (close[1]) {
		fault_about(r, "text after the \"]\" of ", line, "");
		return false;
	}
	*close = 0;
	name = strstrip(line + 1);
	if (!*name) {
		fault(r, "the section has no name between \"[\" and \"]\"");
		return false;
	}
	if (!check_blanks(r, name))
		return false;

	r->section_lost = false;
	free(r->section);
	r->section = strdup(name);
	if (!r->section)
		r->result = -ENOMEM;
	else if (r->handler->section)
		r->result = r->handler->section(r->userdata, r->line, r->section);
	return r->result == 0;
}

/*
 * Takes the comment and one pair of quotes off a value.  There is no escaping in quotes: a value with one kind of quote in it
 * is put into the other kind.  NULL where the fault has been reported.
 */
static char *clean_value(struct reader *r, char *after_equals)
{
	char *value = strstrip(after_equals), *close;

	if (*value != '"' && *value != '\'') {
		/* "key =#5": no white space comes before this '#', so it is no comment. */
		cut_comment(after_equals - 1, value);
		return strstrip(value);
	}
	close = strchr(value + 1, *value);
	if (!close) {
		fault_about(r, "no closing quote in the value of ", r->key, "");
		return NULL;
	}
	*close++ = 0;
	if (*close && !is_blank(*close)) {
		fault_about(r, "text after the closing quote in the value of ", r->key, "");
		return NULL;
	}
	close = strstrip(close);
	if (*close && *close != '#' && *close != ';') {
		fault_about(r, "text after the closing quote in the value of ", r->key, "");
		return NULL;
	}
	return value + 1;
}

/* The '=' of a pair: the first that does not stand in a comment. */
static char *find_equals(char *line)
{
	for (char *p = line; *p && !starts_comment(line, p); p++)
		if (*p == '=')
			return p;
	return NULL;
}

/* True where the line gives a key and a value. */
static bool take_pair(struct reader *r, char *line)
{
	char *equals = find_equals(line), *value;

	if (!equals) {
		cut_comment(line, line);
		fault_about(r, "", strstrip(line), " is neither a comment, a [section] nor a line with \"=\"");
		return false;
	}
	if (equals == line) {
		fault_about(r, "nothing before the \"=\" in ", line, "");
		return false;
	}
	*equals = 0;
	r->key = strstrip(line);
	value = clean_value(r, equals + 1);
	if (!value)
		return false;
	if (!*value) {
		fault_about(r, "no value after the \"=\" of ", r->key, "");
		return false;
	}
	r->value = value;
	return check_blanks(r, r->key) && check_blanks(r, r->value) && !r->section_lost;
}

/* Takes one line apart.  What to hand to inih for it, or NULL. */
static const char *take_line(struct reader *r, size_t size)
{
	char *line;

	if (!check_bytes(r, size))
		return NULL;
	line = strstrip(r->buffer);
	if (!*line || *line == '#' || *line == ';')
		return NULL;
	if (*line == '[')
		return take_section(r, line) ? SKELETON_SECTION : NULL;
	return take_pair(r, line) ? SKELETON_PAIR : NULL;
}

/* What inih calls in the place of fgets(3). */
static char *read_skeleton(char *str, int num, void *stream)
{
	struct reader *r = stream;
	size_t size;

	while (r->result == 0 && next_line(r, &size)) {
		const char *skeleton = take_line(r, size);

		if (skeleton && (size_t)num > strlen(skeleton))
			return memcpy(str, skeleton, strlen(skeleton) + 1);
	}
	return NULL;
}

/* What inih calls for a pair; 0 would mean an error to it. */
static int take_skeleton(void *userdata, const char *section, const char *name, const char *value)
{
	struct reader *r = userdata;

	r->result = r->handler->pair(r->userdata, r->line, r->section ? r->section : "", r->key, r->value);
	return 1;
}

int ini_read(const char *text, size_t size, const struct ini_handler *handler, void *userdata)
{
	struct reader r = { .next = text, .end = text + size, .handler = handler, .userdata = userdata };
	const char *wide = wide_encoding(text, size);
	int k;

	if (wide) {
		_cleanup_free_ char *message = xasprintf("the file is in %s; save it as UTF-8", wide);

		r.line = 1;
		fault(&r, message);
		return r.result;
	}
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.next += 3;

	k = ini_parse_stream(read_skeleton, &r, take_skeleton, &r);
	free(r.buffer);
	free(r.section);
	return r.result != 0 ? r.result : k != 0 ? -ENOMEM : 0;
}
