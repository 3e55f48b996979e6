/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options the kernel was built with, from /proc/config.gz or /boot/config-RELEASE.  Dear enough to be kept for the
 * rest of the boot.
 */
#ifdef HAVE_ZLIB
#define ZLIB_CONST
#include <dlfcn.h>
#include <zlib.h>
#endif

#include "base/strutil.h"
#include "core/facts-internal.h"

#define CONFIG_MAX_BYTES (8 * 1024 * 1024)
#define CONFIG_GZ_PATH "/proc/config.gz"

/* Sorted as kernel.md's subjects are: what decides whether a tunable or a probe can exist. */
static const char *const options[] = {
	"ARM64_HW_AFDBM",
	"CMA",
	"COMPACTION",
	"DAMON_LRU_SORT",
	"DAMON_RECLAIM",
	"DAMON_SYSFS",
	"DEBUG_FS",
	"DEBUG_INFO_BTF",
	"HUGETLBFS",
	"HUGETLB_PAGE_OPTIMIZE_VMEMMAP",
	"HUGETLB_PAGE_OPTIMIZE_VMEMMAP_DEFAULT_ON",
	"IDLE_PAGE_TRACKING",
	"IKCONFIG_PROC",
	"INIT_ON_ALLOC_DEFAULT_ON",
	"KSM",
	"LRU_GEN",
	"LRU_GEN_ENABLED",
	"MEMCG",
	"MEMORY_HOTPLUG",
	"MHP_MEMMAP_ON_MEMORY",
	"NUMA",
	"NUMA_BALANCING",
	"PAGE_EXTENSION",
	"PAGE_REPORTING",
	"PERSISTENT_HUGE_ZERO_FOLIO",
	"PROC_KCORE",
	"PROC_PAGE_MONITOR",
	"PSI",
	"SHRINKER_DEBUG",
	"SPARSEMEM_VMEMMAP",
	"SWAP",
	"TRANSPARENT_HUGEPAGE",
	"TRANSPARENT_HUGEPAGE_ALWAYS",
	"TRANSPARENT_HUGEPAGE_MADVISE",
	"ZONE_DEVICE",
	"ZRAM",
	"ZSWAP",
	"ZSWAP_DEFAULT_ON",
};

#ifdef HAVE_ZLIB
/* Loaded when it is needed: a run that has the options cached shall not pay for it. */
struct zlib {
	void *handle;
	__typeof__(inflateInit2_) *init;
	__typeof__(inflate) *step;
	__typeof__(inflateEnd) *end;
};

static int zlib_open(struct zlib *z)
{
	z->handle = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!z->handle)
		return -ELIBACC;
	z->init = (__typeof__(z->init))dlsym(z->handle, "inflateInit2_");
	z->step = (__typeof__(z->step))dlsym(z->handle, "inflate");
	z->end = (__typeof__(z->end))dlsym(z->handle, "inflateEnd");
	if (z->init && z->step && z->end)
		return 0;
	dlclose(z->handle);
	return -ELIBACC;
}

static int inflate_all(const struct zlib *z, z_stream *stream, char **ret)
{
	_cleanup_free_ char *out = NULL;
	size_t room = 256 * 1024, used = 0;

	for (;;) {
		char *grown = realloc(out, room + 1);
		int r;

		if (!grown)
			return -ENOMEM;
		out = grown;
		stream->next_out = (unsigned char *)out + used;
		stream->avail_out = room - used;
		r = z->step(stream, Z_NO_FLUSH);
		used = room - stream->avail_out;
		if (r == Z_STREAM_END)
			break;
		if (r != Z_OK || (stream->avail_in == 0 && stream->avail_out > 0))
			return r == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
		if (stream->avail_out == 0)
			room *= 2;
		if (room > CONFIG_MAX_BYTES)
			return -EFBIG;
	}
	out[used] = '\0';
	*ret = TAKE_PTR(out);
	return 0;
}

static int gunzip(const char *data, size_t size, char **ret)
{
	z_stream stream = { .next_in = (const unsigned char *)data, .avail_in = size };
	struct zlib z;
	int r;

	if (size > CONFIG_MAX_BYTES)
		return -EFBIG;
	r = zlib_open(&z);
	if (r < 0)
		return r;
	/* 16: a gzip header is expected */
	if (z.init(&stream, 16 + MAX_WBITS, ZLIB_VERSION, (int)sizeof(stream)) == Z_OK) {
		r = inflate_all(&z, &stream, ret);
		z.end(&stream);
	} else {
		r = -ENOMEM;
	}
	dlclose(z.handle);
	return r;
}
#else
static int gunzip(const char *data, size_t size, char **ret)
{
	return -EOPNOTSUPP;
}
#endif

static int read_config_gz(struct prober *p, char **ret)
{
	_cleanup_free_ char *data = NULL;
	size_t size;
	int r;

	r = kernel_io_read(p->io, CONFIG_GZ_PATH, &data, &size);
	return r < 0 ? r : gunzip(data, size, ret);
}

/* The text of the options and where it was found; NULL, with the reason in *ret_source, where there is none. */
static char *read_config(struct prober *p, char **ret_source)
{
	static const char *const patterns[] = { "/boot/config-%s", "/lib/modules/%s/config",
						"/usr/lib/modules/%s/config" };
	_cleanup_free_ char *release = NULL;
	bool hidden = false;
	char *text = NULL;
	int r, error;

	r = read_config_gz(p, &text);
	if (r == -ENOMEM)
		p->error = r;
	if (r >= 0) {
		*ret_source = prober_format(p, CONFIG_GZ_PATH);
		return text;
	}
	release = prober_read_line(p, "/proc/sys/kernel/osrelease", NULL);
	for (size_t i = 0; release && i < ARRAY_SIZE(patterns); i++) {
		_cleanup_free_ char *path = prober_format(p, patterns[i], release);

		text = path ? prober_read(p, path, &error) : NULL;
		if (text) {
			*ret_source = TAKE_PTR(path);
			return text;
		}
		hidden |= path && (error == -EACCES || error == -EPERM);
	}
	*ret_source = prober_format(p, "%s: %s; %s", CONFIG_GZ_PATH, prober_error(r),
				    hidden ? "files of this kernel's in /boot or /lib/modules cannot be seen from here"
					   : "no /boot/config of this kernel either");
	return NULL;
}

static int compare_option(const void *key, const void *member)
{
	const char *name = key, *option = *(const char *const *)member;
	size_t n = strcspn(name, "= ");
	int c = strncmp(name, option, n);

	return c ? c : -(int)(unsigned char)option[n];
}

/* "CONFIG_X=y", "CONFIG_X=\"text\"" or "# CONFIG_X is not set"; line is cut up. */
static void take_option(struct prober *p, char *line, const char *source)
{
	_cleanup_free_ char *name = NULL;
	const char *option, *value = NULL;
	const char *const *known;
	size_t n;

	option = startswith(line, "CONFIG_");
	if (!option) {
		option = startswith(line, "# CONFIG_");
		if (!option || !endswith(option, " is not set"))
			return;
		value = "n";
	}
	known = bsearch(option, options, ARRAY_SIZE(options), sizeof(*options), compare_option);
	if (!known)
		return;
	n = strlen(*known);
	if (!value && option[n] == '=')
		value = option + n + 1;
	name = prober_format(p, "config.%s", *known);
	put_word(p, name, value, CONFIDENCE_READ, source);
}

static void put_cached_options(struct prober *p)
{
	for (size_t i = 0; i < p->cache->n; i++)
		if (p->cache->items[i].group == FACTS_CONFIG)
			put_cached(p, p->cache->items[i].name);
}

void facts_probe_config(struct prober *p)
{
	_cleanup_free_ char *text = NULL, *source = NULL;
	char *next;

	if (put_cached(p, FACT_CONFIG_SOURCE)) {
		put_cached_options(p);
		return;
	}
	text = read_config(p, &source);
	if (!text) {
		put_unknown(p, FACT_CONFIG_SOURCE, source);
		return;
	}
	put_word(p, FACT_CONFIG_SOURCE, source, CONFIDENCE_READ, source);
	for (next = text; next;)
		take_option(p, strsep(&next, "\n"), source);
	p->facts->dirty_cache = true;
}
