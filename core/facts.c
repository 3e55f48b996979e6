/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/facts.h"

#include <stdarg.h>

#include "base/strutil.h"
#include "core/facts-internal.h"

/* FNV-1a: names are short, and nobody gains by making them collide. */
static uint32_t hash_name(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h;
}

/* The slot that holds name, or the empty one where it would go.  The table is never full. */
static size_t find_slot(const struct facts *facts, const char *name)
{
	size_t i = hash_name(name) & (facts->n_slots - 1);

	while (facts->slots[i] && !streq(facts->items[facts->slots[i] - 1].name, name))
		i = (i + 1) & (facts->n_slots - 1);
	return i;
}

static int grow(struct facts *facts)
{
	size_t n_items = facts->n_allocated ? facts->n_allocated * 2 : 64;
	size_t n_slots = n_items * 2;
	struct fact *items;
	uint32_t *slots;

	if (n_slots > UINT32_MAX / sizeof(*items))
		return -ENOMEM;
	items = realloc(facts->items, n_items * sizeof(*items));
	if (!items)
		return -ENOMEM;
	facts->items = items;
	slots = calloc(n_slots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(facts->slots);
	facts->slots = slots;
	facts->n_slots = n_slots;
	facts->n_allocated = n_items;
	for (size_t i = 0; i < facts->n; i++)
		slots[find_slot(facts, items[i].name)] = i + 1;
	return 0;
}

static struct fact *find(const struct facts *facts, const char *name)
{
	size_t slot;

	if (facts->n == 0)
		return NULL;
	slot = find_slot(facts, name);
	return facts->slots[slot] ? &facts->items[facts->slots[slot] - 1] : NULL;
}

/* Length of the valid UTF-8 sequence at s, or 0: overlong forms, surrogates and control characters are none. */
static size_t utf8_sequence(const unsigned char *s)
{
	static const unsigned char lowest[] = { 0, 0, 0x80, 0, 0 };
	size_t n;

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	n = (s[0] >= 0xc2 && s[0] <= 0xdf)   ? 2
	    : (s[0] >= 0xe0 && s[0] <= 0xef) ? 3
	    : (s[0] >= 0xf0 && s[0] <= 0xf4) ? 4
					     : 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if (n == 2 && s[1] < lowest[2])
		return 0;
	if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/*
 * Words and sources go into JSON, onto terminals and into the cache, one line each: bytes that are no printable
 * UTF-8 are written as \xNN.
 */
static char *printable(const char *text)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *s = (const unsigned char *)text;
	char *out = malloc(strlen(text) * 4 + 1), *o = out;

	if (!out)
		return NULL;
	while (*s) {
		size_t n = utf8_sequence(s);

		if (n) {
			memcpy(o, s, n);
			o += n;
			s += n;
			continue;
		}
		*o++ = '\\';
		*o++ = 'x';
		*o++ = digits[*s >> 4];
		*o++ = digits[*s & 15];
		s++;
	}
	*o = '\0';
	return out;
}

static void fact_clear(struct fact *f)
{
	free(f->name);
	free(f->word);
	free(f->source);
	*f = (struct fact){};
}

static int set(struct facts *facts, const char *name, const char *word, const char *source, struct fact value)
{
	struct fact *old;

	value.name = printable(name);
	value.word = word ? printable(word) : NULL;
	value.source = printable(source);
	if (!value.name || (word && !value.word) || !value.source)
		goto fail;
	old = find(facts, value.name);
	if (old) {
		fact_clear(old);
		*old = value;
		return 0;
	}
	if (facts->n == facts->n_allocated && grow(facts) < 0)
		goto fail;
	facts->slots[find_slot(facts, value.name)] = facts->n + 1;
	facts->items[facts->n++] = value;
	return 0;
fail:
	fact_clear(&value);
	return -ENOMEM;
}

int facts_set_number(struct facts *facts, enum facts_group group, const char *name, uint64_t number,
		     enum fact_confidence confidence, const char *source)
{
	return set(facts, name, NULL, source,
		   (struct fact){ .type = FACT_NUMBER, .confidence = confidence, .number = number, .group = group });
}

int facts_set_boolean(struct facts *facts, enum facts_group group, const char *name, bool b,
		      enum fact_confidence confidence, const char *source)
{
	return set(facts, name, NULL, source,
		   (struct fact){ .type = FACT_BOOLEAN, .confidence = confidence, .number = b, .group = group });
}

int facts_set_word(struct facts *facts, enum facts_group group, const char *name, const char *word,
		   enum fact_confidence confidence, const char *source)
{
	return set(facts, name, word, source,
		   (struct fact){ .type = FACT_WORD, .confidence = confidence, .group = group });
}

int facts_set_unknown(struct facts *facts, enum facts_group group, const char *name, const char *reason)
{
	return set(facts, name, NULL, reason, (struct fact){ .type = FACT_UNKNOWN, .group = group });
}

const struct fact *facts_get(const struct facts *facts, const char *name)
{
	return find(facts, name);
}

int facts_number(const struct facts *facts, const char *name, uint64_t *ret)
{
	const struct fact *f = find(facts, name);

	if (!f || f->type != FACT_NUMBER)
		return -ENOENT;
	*ret = f->number;
	return 0;
}

int facts_boolean(const struct facts *facts, const char *name, bool *ret)
{
	const struct fact *f = find(facts, name);

	if (!f || f->type != FACT_BOOLEAN)
		return -ENOENT;
	*ret = f->number;
	return 0;
}

const char *facts_word(const struct facts *facts, const char *name)
{
	const struct fact *f = find(facts, name);

	return f && f->type == FACT_WORD ? f->word : NULL;
}

bool facts_is(const struct facts *facts, const char *name, const char *w)
{
	const char *word = facts_word(facts, name);

	return word && streq(word, w);
}

bool facts_true(const struct facts *facts, const char *name)
{
	bool b;

	return facts_boolean(facts, name, &b) == 0 && b;
}

void facts_clear(struct facts *facts)
{
	for (size_t i = 0; i < facts->n; i++)
		fact_clear(&facts->items[i]);
	free(facts->items);
	free(facts->slots);
	*facts = (struct facts){};
}

const char *fact_confidence_name(enum fact_confidence confidence)
{
	switch (confidence) {
	case CONFIDENCE_READ:
		return "read";
	case CONFIDENCE_PROBED:
		return "probed";
	case CONFIDENCE_COMPUTED:
		return "computed";
	case CONFIDENCE_INFERRED:
		return "inferred";
	}
	return "unknown";
}

/* Takes one number off the front of a release; 0 where there is none, so that "6.12" equals "6.12.0". */
static uint64_t next_number(const char **s)
{
	uint64_t n = 0;

	while (**s >= '0' && **s <= '9') {
		unsigned digit = *(*s)++ - '0';

		n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
	}
	/* Only a dot before a digit leads to a further number: "6.12.117+deb12" and "6.12-rc1" end where they should. */
	if ((*s)[0] == '.' && (*s)[1] >= '0' && (*s)[1] <= '9')
		(*s)++;
	else
		*s = "";
	return n;
}

int kernel_release_compare(const char *a, const char *b)
{
	while (*a || *b) {
		uint64_t x = next_number(&a), y = next_number(&b);

		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}
