/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/mman.h>

#include "base/fileio.h"
#include "base/strutil.h"
#include "core/btf.h"
#include "core/facts-internal.h"
#include "core/mounts.h"
#include "core/probe.h"
#include "core/sysctl-conf.h"
#include "fuzz.h"

static int check_mount(void *userdata, const struct mount_line *line)
{
	const char *text = userdata, *value;
	size_t length;

	HOLDS(strlen(line->source) + strlen(line->target) + strlen(line->type) + strlen(line->options) <= strlen(text));
	value = mount_option(line->options, "pagesize", &length);
	HOLDS(!value || (value >= line->options && value + length <= line->options + strlen(line->options)));
	return 0;
}

static void check_keyed(const char *text)
{
	uint64_t n = 7;

	if (keyed_u64(text, "MemTotal", &n) < 0)
		HOLDS(n == 7);
}

static void check_zoneinfo(const char *text)
{
	struct zoneinfo z = { .zones = 7 };

	HOLDS(parse_zoneinfo(text, &z) == 0 ? z.zones > 0 : z.zones == 7);
}

static void check_smaps(const char *text)
{
	struct smaps_entry e = { .rss_bytes = 7 };

	if (smaps_find(text, 0x400000, &e) < 0)
		HOLDS(e.rss_bytes == 7);
	else
		HOLDS(e.rss_bytes % 1024 == 0);
}

static void check_swaps(const char *text)
{
	struct swaps s = { 0 };

	HOLDS(parse_swaps(text, &s) == 0);
	HOLDS(s.zram + s.disk <= strlen(text));
}

static void check_list(const char *text)
{
	uint32_t first, last;
	uint64_t n = 0;

	if (list_count(text, &n) < 0)
		HOLDS(n == 0);
	else if (n > 0)
		HOLDS(list_next(&text, &first, &last) == 1 && first <= last);
}

static void check_sysctl(char *text)
{
	for (char *next = text; next;) {
		struct sysctl_line l = { 0 };

		if (sysctl_line_parse(strsep(&next, "\n"), &l) != SYSCTL_LINE_ASSIGNMENT)
			continue;
		/* It stays below /proc/sys. */
		HOLDS(*l.path && *l.path != '/' && !endswith(l.path, "/") && !strstr(l.path, "//"));
		HOLDS(!streq(l.path, "..") && !startswith(l.path, "../") && !strstr(l.path, "/../") &&
		      !endswith(l.path, "/.."));
		HOLDS(l.value || l.ignore_failure);
		free(l.path);
	}
}

static void check_btf(const char *data, size_t size)
{
	struct btf_findings f = { .struct_page_bytes = 7 };
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);

	HOLDS(fd >= 0 && write_all(fd, data, size) == 0);
	if (btf_find(fd, &f) < 0)
		HOLDS(f.struct_page_bytes == 7);
	else
		HOLDS(f.has_remap_walk || (!f.walk_has_tail));
}

/* What any text makes of a fact is printable UTF-8 on one line. */
static void check_word(const char *text)
{
	_cleanup_(facts_clear) struct facts facts = { 0 }, again = { 0 };
	const char *word;

	HOLDS(facts_set_word(&facts, FACTS_KERNEL, "w", text, CONFIDENCE_READ, text) == 0);
	word = facts_word(&facts, "w");
	for (const char *s = word; *s; s++)
		HOLDS((unsigned char)*s >= 0x20 && *s != 0x7f);
	/* and nothing more happens to it */
	HOLDS(facts_set_word(&again, FACTS_KERNEL, "w", word, CONFIDENCE_READ, "") == 0);
	HOLDS(facts_is(&again, "w", word));
}

/* The first byte says which file it is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = NULL;

	if (size == 0)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	HOLDS(text);
	switch (data[0] % 10) {
	case 0:
		check_keyed(text);
		break;
	case 1:
		check_zoneinfo(text);
		break;
	case 2:
		HOLDS(mounts_parse(text, check_mount, text) == 0);
		break;
	case 3:
		check_smaps(text);
		break;
	case 4:
		check_swaps(text);
		break;
	case 5:
		check_list(text);
		break;
	case 6:
		check_sysctl(text);
		break;
	case 7:
		HOLDS(vmcoreinfo_page_bytes((const char *)data + 1, size - 1) < 10 * 65536);
		break;
	case 8:
		check_btf((const char *)data + 1, size - 1);
		break;
	case 9:
		check_word(text);
		break;
	}
	return 0;
}
