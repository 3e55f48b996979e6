/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "base/number.h"
#include "base/strutil.h"
#include "core/facts-internal.h"

#define CACHE_DIRECTORY "run/mmopt"
#define CACHE_PATH "run/mmopt/probes"
#define CACHE_HEADER "mmopt-probes 1 "
#define CACHE_MAX_BYTES (64 * 1024)

/*
 * What is dear to find out and cannot change before the next boot; and what only a live machine can show, for captured
 * ones.  A trailing '*' stands for any rest.
 */
static const struct cached_name {
	const char *name;
	enum facts_group group;
	bool captured_only; /* can change while the machine runs: a live one is asked again */
} cached_names[] = {
	{ .name = "config.*", .group = FACTS_CONFIG },
	{ .name = FACT_STRUCT_PAGE, .group = FACTS_STRUCT_PAGE },
	{ .name = FACT_HVO_DEFECT, .group = FACTS_STRUCT_PAGE },
	{ .name = FACT_COMMIT_EXACT, .group = FACTS_STRUCT_PAGE },
	{ .name = "access_flag.*", .group = FACTS_ACCESS_FLAG },
	{ .name = FACT_FAULT_AROUND_WINDOW, .group = FACTS_FAULT_AROUND, .captured_only = true },
	{ .name = FACT_FAULT_AROUND_PTES, .group = FACTS_FAULT_AROUND, .captured_only = true },
};

static const struct cached_name *find_cached_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(cached_names); i++) {
		const char *known = cached_names[i].name;
		size_t n = strlen(known);

		if (known[n - 1] == '*' ? strncmp(name, known, n - 1) == 0 : streq(name, known))
			return &cached_names[i];
	}
	return NULL;
}

/*
 * A live system's cache steers what is written to the kernel, so as root only a file that nobody else could have
 * written counts.
 */
static bool trusted(struct kernel_io *io, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	if (!io->live || geteuid() != 0)
		return true;
	return st.st_uid == 0 && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The cache's text where it is of this boot, else NULL. */
static int read_cache(struct kernel_io *io, char **ret)
{
	_cleanup_free_ char *text = NULL, *boot_id = NULL;
	_cleanup_close_ int fd = -EBADF;
	const char *id;
	size_t n;
	int r;

	*ret = NULL;
	r = kernel_io_root_fd(io);
	if (r < 0)
		return 0;
	fd = open_in_root(r, CACHE_PATH, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0 || !trusted(io, fd))
		return 0;
	r = read_fd(fd, CACHE_MAX_BYTES, &text, NULL);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return 0;
	r = kernel_io_read_line(io, "/proc/sys/kernel/random/boot_id", &boot_id);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	id = startswith(text, CACHE_HEADER);
	n = strlen(boot_id);
	if (id && n > 0 && strncmp(id, boot_id, n) == 0 && id[n] == '\n')
		*ret = TAKE_PTR(text);
	return 0;
}

static int parse_confidence(const char *s, enum fact_confidence *ret)
{
	for (int c = CONFIDENCE_READ; c <= CONFIDENCE_INFERRED; c++)
		if (streq(s, fact_confidence_name(c))) {
			*ret = c;
			return 0;
		}
	return -EINVAL;
}

/* One line: name, type, value, confidence, source.  A line that is not of this form is passed over. */
static int take_line(struct facts *facts, char *line, unsigned groups, bool live)
{
	enum fact_confidence confidence;
	const struct cached_name *known;
	char *field[5], *next = line;
	uint64_t number;

	for (size_t i = 0; i < ARRAY_SIZE(field); i++) {
		field[i] = strsep(&next, "\t");
		if (!field[i])
			return 0;
	}
	known = find_cached_name(field[0]);
	if (next || !known || !(groups & known->group) || (live && known->captured_only) ||
	    facts_get(facts, field[0]) || parse_confidence(field[3], &confidence) < 0)
		return 0;
	if (streq(field[1], "word"))
		return facts_set_word(facts, known->group, field[0], field[2], confidence, field[4]);
	if (parse_u64(field[2], &number) < 0)
		return 0;
	if (streq(field[1], "number"))
		return facts_set_number(facts, known->group, field[0], number, confidence, field[4]);
	if (streq(field[1], "boolean") && number <= 1)
		return facts_set_boolean(facts, known->group, field[0], number, confidence, field[4]);
	return 0;
}

int facts_cache_load(struct facts *facts, struct kernel_io *io, unsigned groups)
{
	_cleanup_free_ char *text = NULL;
	unsigned cached = 0;
	char *next;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(cached_names); i++)
		cached |= cached_names[i].group;
	if (!(groups & cached))
		return 0;
	r = read_cache(io, &text);
	if (r < 0 || !text)
		return r;
	next = text;
	strsep(&next, "\n");
	while (next) {
		char *line = strsep(&next, "\n");

		/* A last line without its end is torn. */
		if (!next)
			break;
		r = take_line(facts, line, groups, io->live);
		if (r < 0)
			return r;
	}
	return 0;
}

/* NULL: not worth keeping. */
static const char *type_name(enum fact_type type)
{
	switch (type) {
	case FACT_UNKNOWN:
		return NULL;
	case FACT_NUMBER:
		return "number";
	case FACT_BOOLEAN:
		return "boolean";
	case FACT_WORD:
		return "word";
	}
	return NULL;
}

static bool worth_keeping(const struct fact *f)
{
	/* "unknown" may be bad luck; the next run shall try again. */
	return find_cached_name(f->name) && type_name(f->type) && !(f->type == FACT_WORD && streq(f->word, "unknown"));
}

static void format_facts(FILE *f, const struct facts *facts, const struct facts *except)
{
	for (size_t i = 0; i < facts->n; i++) {
		const struct fact *fact = &facts->items[i];

		if (!worth_keeping(fact) || (except && facts_get(except, fact->name)))
			continue;
		fprintf(f, "%s\t%s\t", fact->name, type_name(fact->type));
		if (fact->type == FACT_WORD)
			fprintf(f, "%s", fact->word);
		else
			fprintf(f, "%llu", (unsigned long long)fact->number);
		fprintf(f, "\t%s\t%s\n", fact_confidence_name(fact->confidence), fact->source);
	}
}

static int format_cache(const struct facts *facts, const struct facts *earlier, const char *boot_id, char **ret,
			size_t *ret_size)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size = 0;

	f = open_memstream(&text, &size);
	if (!f)
		return -ENOMEM;
	fprintf(f, CACHE_HEADER "%s\n", boot_id);
	format_facts(f, facts, NULL);
	format_facts(f, earlier, facts);
	if (ferror(f) || fclose(TAKE_PTR(f)) != 0)
		return -ENOMEM;
	*ret = TAKE_PTR(text);
	*ret_size = size;
	return 0;
}

int facts_cache_save(struct facts *facts, struct kernel_io *io)
{
	_cleanup_(facts_clear) struct facts earlier = {};
	_cleanup_free_ char *text = NULL, *boot_id = NULL;
	int root_fd, r;
	size_t size;

	if (!facts->dirty_cache)
		return 0;
	if (!io->live)
		return -EOPNOTSUPP;
	root_fd = kernel_io_root_fd(io);
	if (root_fd < 0)
		return root_fd;
	r = kernel_io_read_line(io, "/proc/sys/kernel/random/boot_id", &boot_id);
	if (r < 0)
		return r;
	/* What an earlier run kept of other groups stays. */
	r = facts_cache_load(&earlier, io, FACTS_ALL);
	if (r < 0)
		return r;
	r = format_cache(facts, &earlier, boot_id, &text, &size);
	if (r < 0)
		return r;
	r = mkdir_p_at(root_fd, CACHE_DIRECTORY, 0755);
	if (r < 0)
		return r;
	r = replace_file_at(root_fd, CACHE_PATH, text, size, 0644);
	if (r < 0)
		return r;
	facts->dirty_cache = false;
	return 0;
}
