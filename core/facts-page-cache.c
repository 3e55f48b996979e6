/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the page cache of mapped files can have large folios: a conclusion from the kernel's release and what is mounted.
 * Behaviour shows it only for a file that the kernel has just read ahead, and only of the file system which that file
 * lies on: mmopt would have to write files everywhere to find out.
 */
#include "base/strutil.h"
#include "core/facts-internal.h"
#include "core/mounts.h"

#define THP "/sys/kernel/mm/transparent_hugepage"

/* Who calls mapping_set_large_folios() and the like, and from which release on: 6.1.192 and 6.12.117 were read. */
static const struct {
	const char *type;
	const char *none_before; /* NULL: not known to have any */
	const char *since;
} file_systems[] = {
	{ .type = "bcachefs", .none_before = "6.2", .since = "6.12" },
	{ .type = "btrfs", .none_before = "6.17", .since = "7.2" }, /* in between for CONFIG_BTRFS_EXPERIMENTAL */
	{ .type = "cifs", .none_before = "6.2", .since = "6.12" },
	{ .type = "erofs", .none_before = "6.2", .since = "6.12" },
	{ .type = "exfat" },
	{ .type = "ext2" },
	{ .type = "ext3", .none_before = "6.16", .since = "6.16" }, /* ext4 takes care of it */
	{ .type = "ext4", .none_before = "6.16", .since = "6.16" },
	{ .type = "iso9660" },
	{ .type = "nfs", .none_before = "6.2", .since = "6.12" },
	{ .type = "nfs4", .none_before = "6.2", .since = "6.12" },
	{ .type = "ntfs3" },
	{ .type = "smb3", .none_before = "6.2", .since = "6.12" },
	{ .type = "squashfs" },
	{ .type = "vfat" },
	{ .type = "xfs", .none_before = "5.18", .since = "5.18" },
};

struct findings {
	const char *release;
	char *with;   /* a mount that can have them, as "xfs at /srv" */
	char *unsure; /* one of which nothing is known */
	char *without;
};

static int note(char **where, const struct mount_line *line)
{
	if (*where)
		return 0;
	*where = xasprintf("%s at %s", line->type, line->target);
	return *where ? 0 : -ENOMEM;
}

static int take_mount(void *userdata, const struct mount_line *line)
{
	struct findings *f = userdata;

	for (size_t i = 0; i < ARRAY_SIZE(file_systems); i++) {
		if (!streq(line->type, file_systems[i].type))
			continue;
		if (!file_systems[i].none_before || kernel_release_compare(f->release, file_systems[i].none_before) < 0)
			return note(&f->without, line);
		return note(kernel_release_compare(f->release, file_systems[i].since) >= 0 ? &f->with : &f->unsure,
			    line);
	}
	/* Some other on a device; what is on none is the kernel's own, or made of the files of others (overlay). */
	return line->source[0] == '/' ? note(&f->unsure, line) : 0;
}

static void put_findings(struct prober *p, const struct findings *f)
{
	_cleanup_free_ char *source = NULL;

	if (f->with)
		source = prober_format(p, "/proc/mounts: %s, which has them in Linux %s", f->with, f->release);
	else if (f->unsure)
		source = prober_format(p, "/proc/mounts: %s, of which it is not known for Linux %s", f->unsure,
				       f->release);
	else if (f->without)
		source = prober_format(p, "/proc/mounts: %s and no others that would have them in Linux %s", f->without,
				       f->release);
	if (f->with || (f->without && !f->unsure))
		put_boolean(p, FACT_LARGE_FOLIOS, f->with != NULL, CONFIDENCE_INFERRED, source);
	else
		put_unknown(p, FACT_LARGE_FOLIOS, source ?: "/proc/mounts has no file system that is known");
}

void put_large_folios(struct prober *p)
{
	struct findings f = { .release = facts_word(p->facts, FACT_RELEASE) };
	_cleanup_free_ char *text = NULL;
	int r;

	if (!kernel_io_exists(p->io, THP)) {
		put_boolean(p, FACT_LARGE_FOLIOS, false, CONFIDENCE_INFERRED,
			    THP " is not there: without it the page cache has no large folios");
		return;
	}
	text = prober_read(p, "/proc/mounts", &r);
	if (!text || !f.release) {
		put_unreadable(p, FACT_LARGE_FOLIOS, text ? "the kernel's release" : "/proc/mounts",
			       text ? -ENODATA : r);
		return;
	}
	r = mounts_parse(text, take_mount, &f);
	if (r < 0)
		p->error = r;
	else
		put_findings(p, &f);
	free(f.with);
	free(f.unsure);
	free(f.without);
}
