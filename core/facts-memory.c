/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "base/number.h"
#include "base/strutil.h"
#include "core/facts-internal.h"

#define MEMINFO "/proc/meminfo"
#define ZONEINFO "/proc/zoneinfo"
#define BLOCKS "/sys/devices/system/memory"

int parse_zoneinfo(const char *text, struct zoneinfo *ret)
{
	struct zoneinfo z = {};
	const char *next;
	bool in_zone = false;

	for (const char *line = text; line; line = next) {
		static const struct {
			const char *key;
			size_t offset;
		} keys[] = {
			{ .key = "min ", .offset = offsetof(struct zoneinfo, min_pages) },
			{ .key = "low ", .offset = offsetof(struct zoneinfo, low_pages) },
			{ .key = "high ", .offset = offsetof(struct zoneinfo, high_pages) },
			{ .key = "present ", .offset = offsetof(struct zoneinfo, present_pages) },
			{ .key = "managed ", .offset = offsetof(struct zoneinfo, managed_pages) },
		};
		const char *s = line;

		next = strchr(line, '\n');
		if (next)
			next++;
		if (startswith(line, "Node ")) {
			z.zones++;
			in_zone = false;
			continue;
		}
		while (*s == ' ' || *s == '\t')
			s++;
		/* Only the lines between "pages free" and "protection:"; pagesets have a "high:" of their own. */
		if (startswith(s, "pages free")) {
			in_zone = true;
			continue;
		}
		if (startswith(s, "protection:"))
			in_zone = false;
		for (size_t i = 0; in_zone && i < ARRAY_SIZE(keys); i++) {
			const char *v = startswith(s, keys[i].key);
			uint64_t *sum = (uint64_t *)((char *)&z + keys[i].offset);

			if (!v)
				continue;
			while (*v == ' ' || *v == '\t')
				v++;
			for (uint64_t n = 0;; v++) {
				if (*v < '0' || *v > '9') {
					*sum += n;
					break;
				}
				n = n * 10 + (unsigned)(*v - '0');
			}
			break;
		}
	}
	if (z.zones == 0)
		return -EINVAL;
	*ret = z;
	return 0;
}

static void put_meminfo(struct prober *p, const char *text, const char *name, const char *key)
{
	_cleanup_free_ char *source = prober_format(p, MEMINFO " %s", key);
	uint64_t kib;
	int r;

	r = keyed_u64(text, key, &kib);
	if (r == 0 && kib <= UINT64_MAX / 1024)
		put_number(p, name, kib * 1024, CONFIDENCE_READ, source);
	else if (source)
		put_unreadable(p, name, source, r ?: -ERANGE);
}

static void put_zones(struct prober *p, uint64_t page_bytes, struct zoneinfo *z)
{
	_cleanup_free_ char *text = NULL;
	int r;

	text = prober_read(p, ZONEINFO, &r);
	if (text)
		r = parse_zoneinfo(text, z);
	if (r < 0 || page_bytes == 0) {
		*z = (struct zoneinfo){};
		put_unreadable(p, FACT_LOW_WATERMARK, ZONEINFO, r ?: -ENODATA);
		return;
	}
	put_number(p, "memory.min_watermark_bytes", z->min_pages * page_bytes, CONFIDENCE_COMPUTED,
		   ZONEINFO ": sum of min x page size");
	put_number(p, FACT_LOW_WATERMARK, z->low_pages * page_bytes, CONFIDENCE_COMPUTED,
		   ZONEINFO ": sum of low x page size");
	put_number(p, "memory.high_watermark_bytes", z->high_pages * page_bytes, CONFIDENCE_COMPUTED,
		   ZONEINFO ": sum of high x page size");
	put_number(p, "memory.present_bytes", z->present_pages * page_bytes, CONFIDENCE_COMPUTED,
		   ZONEINFO ": sum of present x page size");
	put_number(p, "memory.managed_bytes", z->managed_pages * page_bytes, CONFIDENCE_COMPUTED,
		   ZONEINFO ": sum of managed x page size");
}

static bool is_block(const char *name)
{
	const char *digits = startswith(name, "memory");

	return digits && *digits >= '0' && *digits <= '9';
}

static uint64_t count_online(struct prober *p, char *const *names)
{
	uint64_t online = 0;

	for (; *names; names++) {
		_cleanup_free_ char *path = NULL, *state = NULL;

		if (!is_block(*names))
			continue;
		path = prober_format(p, BLOCKS "/%s/state", *names);
		state = path ? prober_read_line(p, path, NULL) : NULL;
		online += state && streq(state, "online");
	}
	return online;
}

/* block_size_bytes is hexadecimal without "0x". */
static int read_block_size(struct prober *p, uint64_t *ret)
{
	_cleanup_free_ char *text = NULL, *prefixed = NULL;
	int r;

	text = prober_read_line(p, BLOCKS "/block_size_bytes", &r);
	if (!text)
		return r;
	prefixed = prober_format(p, "0x%s", text);
	if (!prefixed)
		return -ENOMEM;
	r = parse_u64(prefixed, ret);
	return r < 0 || *ret == 0 ? -EINVAL : 0;
}

static void put_blocks(struct prober *p, const struct zoneinfo *z, uint64_t page_bytes)
{
	_cleanup_(strv_freep) char **names = NULL;
	uint64_t block_bytes, present = 0, online, total;
	int r;

	r = read_block_size(p, &block_bytes);
	if (r == 0)
		r = kernel_io_list(p->io, BLOCKS, &names);
	for (size_t i = 0; r == 0 && names && names[i]; i++)
		present += is_block(names[i]);
	if (r < 0 || present == 0 || __builtin_mul_overflow(present, block_bytes, &total)) {
		put_unreadable(p, "memory.block_bytes", BLOCKS, r ?: -ENODATA);
		if (facts_number(p->facts, FACT_MEMORY_TOTAL, &total) == 0)
			put_number(p, FACT_MEMORY_ONLINE, total, CONFIDENCE_READ,
				   MEMINFO " MemTotal: no memory blocks here");
		else
			put_unknown(p, FACT_MEMORY_ONLINE, "neither memory blocks nor MemTotal can be read");
		return;
	}
	/*
	 * Offline blocks are not in the zones.  Where the zones miss less than one block, all blocks are online, and
	 * thousands of small files need not be read.
	 */
	if (page_bytes && z->present_pages * page_bytes + block_bytes > total)
		online = present;
	else
		online = count_online(p, names);
	put_number(p, "memory.block_bytes", block_bytes, CONFIDENCE_READ, BLOCKS "/block_size_bytes");
	put_number(p, "memory.blocks_present", present, CONFIDENCE_READ, BLOCKS);
	put_number(p, "memory.blocks_online", online, CONFIDENCE_READ, BLOCKS);
	put_number(p, FACT_MEMORY_ONLINE, online * block_bytes, CONFIDENCE_COMPUTED,
		   BLOCKS ": blocks online x block size");
}

static void put_nodes(struct prober *p)
{
	_cleanup_free_ char *list = NULL;
	const char *s;
	uint32_t first, last;

	list = prober_read_line(p, "/sys/devices/system/node/has_memory", NULL);
	for (s = list; s && list_next(&s, &first, &last) > 0;)
		for (uint32_t node = first; node <= last && node - first < 4096; node++) {
			_cleanup_free_ char *path = NULL, *text = NULL;
			static const char *const keys[][2] = { { "MemTotal", "total" }, { "MemFree", "free" } };

			path = prober_format(p, "/sys/devices/system/node/node%u/meminfo", node);
			text = path ? prober_read(p, path, NULL) : NULL;
			for (size_t i = 0; text && i < ARRAY_SIZE(keys); i++) {
				_cleanup_free_ char *name =
					prober_format(p, "memory.node%u.%s_bytes", node, keys[i][1]);
				_cleanup_free_ char *key = prober_format(p, "Node %u %s", node, keys[i][0]);
				const char *found = key ? strstr(text, key) : NULL;
				uint64_t kib;

				if (found && keyed_u64(found, key, &kib) == 0)
					put_number(p, name, kib * 1024, CONFIDENCE_READ, path);
			}
		}
}

void facts_probe_memory(struct prober *p)
{
	_cleanup_free_ char *text = NULL;
	uint64_t page_bytes = prober_page_size(p);
	struct zoneinfo z = {};
	static const char *const keys[][2] = {
		{ FACT_MEMORY_TOTAL, "MemTotal" },	   { FACT_MEMORY_FREE, "MemFree" },
		{ FACT_MEMORY_AVAILABLE, "MemAvailable" }, { "memory.page_tables_bytes", "PageTables" },
		{ FACT_COMMITTED, "Committed_AS" },	   { FACT_COMMIT_LIMIT, "CommitLimit" },
	};
	int r;

	text = prober_read(p, MEMINFO, &r);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (text)
			put_meminfo(p, text, keys[i][0], keys[i][1]);
		else
			put_unreadable(p, keys[i][0], MEMINFO, r);
	}
	put_zones(p, page_bytes, &z);
	put_blocks(p, &z, page_bytes);
	put_nodes(p);
}
