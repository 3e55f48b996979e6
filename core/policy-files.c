/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fileio.h"
#include "base/ini-file.h"
#include "base/strutil.h"
#include "core/policy-parse.h"

/* How many unknown names of one run get a "did you mean". */
#define MAX_SUGGESTIONS 500

/* An earlier directory hides files of the same name in a later one. */
static const char *const directories[] = {
	"/etc/mmopt/policy.d",
	"/run/mmopt/policy.d",
	"/usr/local/lib/mmopt/policy.d",
	"/usr/lib/mmopt/policy.d",
};

/* One name found in a directory. */
struct entry {
	char *name;
	char *path;
	unsigned directory; /* index, for who hides whom */
};

struct entries {
	struct entry *items;
	size_t n, n_allocated;
};

static void entries_clear(struct entries *e)
{
	for (size_t i = 0; i < e->n; i++) {
		free(e->items[i].name);
		free(e->items[i].path);
	}
	free(e->items);
	*e = (struct entries){ 0 };
}

static int add_entry(struct entries *e, const char *name, unsigned directory)
{
	struct entry *item;

	if (e->n == e->n_allocated) {
		size_t n = e->n_allocated ? 2 * e->n_allocated : 16;
		struct entry *larger = reallocarray(e->items, n, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		e->items = larger;
		e->n_allocated = n;
	}
	item = &e->items[e->n];
	item->directory = directory;
	item->name = strdup(name);
	item->path = xasprintf("%s/%s", directories[directory], name);
	e->n++;
	return item->name && item->path ? 0 : -ENOMEM;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ?: (int)x->directory - (int)y->directory;
}

static void report_errno(struct policy_parser *p, const char *path, const char *what, int r)
{
	diag_add(p->diags, DIAG_ERROR, path, 0, NULL, "cannot %s: %s", what, strerror(-r));
}

/* Who can change a policy can change the machine, so nobody but root may.  True where that holds. */
static bool owner_is_root(struct policy_parser *p, const char *path, const struct stat *st)
{
	mode_t others = S_IWOTH | (st->st_gid != 0 ? S_IWGRP : 0);

	if (st->st_uid != 0) {
		diag_add(
			p->diags, DIAG_ERROR, path, 0, NULL,
			"belongs to user %u, who could change this machine through it; to trust it: chown root:root %s",
			(unsigned)st->st_uid, path);
		return false;
	}
	if (st->st_mode & others) {
		diag_add(p->diags, DIAG_ERROR, path, 0, NULL,
			 "can be written by others than root (mode %04o, group %u); to trust it: chmod go-w %s",
			 (unsigned)(st->st_mode & 07777), (unsigned)st->st_gid, path);
		return false;
	}
	return true;
}

/* Opens a directory and, where asked, looks at who can write it.  -ENOENT where it is not there; -EPERM after a message. */
static int open_directory(struct policy_parser *p, int root_fd, const char *path, bool owner)
{
	_cleanup_close_ int fd = open_in_root(root_fd, path, O_RDONLY | O_DIRECTORY, 0);
	struct stat st;

	if (fd == -ENOENT)
		return fd;
	if (fd >= 0 && fstat(fd, &st) < 0) {
		report_errno(p, path, "open this policy directory", -errno);
		return -EPERM;
	}
	if (fd < 0) {
		report_errno(p, path, "open this policy directory", fd);
		return -EPERM;
	}
	if (owner && !owner_is_root(p, path, &st))
		return -EPERM;
	return TAKE_FD(fd);
}

/* Who can write the directory above can put another policy.d in the place of this one. */
static bool parent_is_safe(struct policy_parser *p, int root_fd, const char *path)
{
	_cleanup_free_ char *parent = strndup(path, (size_t)(strrchr(path, '/') - path));
	_cleanup_close_ int fd = parent ? open_directory(p, root_fd, parent, true) : -ENOMEM;

	return fd >= 0;
}

static int list_directory(struct policy_parser *p, int root_fd, unsigned index, bool owner, struct entries *e)
{
	const char *path = directories[index];
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *de;
	int fd = open_directory(p, root_fd, path, owner);

	if (fd < 0)
		return 0;
	if (owner && !parent_is_safe(p, root_fd, path)) {
		close(fd);
		return 0;
	}
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	for (errno = 0; (de = readdir(dir)); errno = 0) {
		/* Hidden files are those of editors and package managers at work. */
		if (de->d_name[0] != '.' && add_entry(e, de->d_name, index) < 0)
			return -ENOMEM;
	}
	if (errno != 0)
		report_errno(p, path, "read this policy directory", -errno);
	return 0;
}

/* Reads an open file and takes it in.  0 or -ENOMEM. */
static int parse_fd(struct policy_parser *p, int fd, unsigned file)
{
	const char *path = p->policy->files[file].path;
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r;

	r = read_fd(fd, INI_FILE_MAX_BYTES, &text, &size);
	if (r == -EFBIG) {
		policy_report_too_large(p, path);
		return 0;
	}
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		report_errno(p, path, "read this policy file", r);
		return 0;
	}
	return policy_parse_text(p, file, text, size);
}

/* Where a link leads, or NULL where path is none.  *ret_mask: to /dev/null, be it there in this root or not. */
static char *read_link(int root_fd, const char *path, bool *ret_mask)
{
	_cleanup_close_ int fd = open_in_root(root_fd, path, O_PATH | O_NOFOLLOW, 0);
	char target[PATH_MAX];
	const char *rest;
	ssize_t n;

	*ret_mask = false;
	if (fd < 0)
		return NULL;
	n = readlinkat(fd, "", target, sizeof(target) - 1);
	if (n < 0)
		return NULL;
	target[n] = 0;
	for (rest = target; startswith(rest, "../"); rest += 3)
		;
	if (rest == target && *rest == '/')
		rest++;
	*ret_mask = rest != target && streq(rest, "dev/null");
	return strdup(target);
}

/* Who can write the directory of a link's target can put another file in its place. */
static bool target_is_safe(struct policy_parser *p, int root_fd, const char *path, const char *target)
{
	const char *base = *target == '/' ? target : path, *slash = strrchr(target, '/');
	_cleanup_free_ char *directory = NULL;
	_cleanup_close_ int fd = -EBADF;

	if (!slash)
		return true;
	directory = *target == '/' ? strndup(target, MAX((size_t)(slash - target), (size_t)1))
				   : xasprintf("%.*s/%.*s", (int)(strrchr(base, '/') - base), base,
					       (int)(slash - target), target);
	fd = directory ? open_directory(p, root_fd, directory, true) : -ENOMEM;
	return fd >= 0;
}

static bool is_null_device(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

static int load_entry(struct policy_parser *p, int root_fd, unsigned file, bool owner)
{
	struct policy_file *f = &p->policy->files[file];
	_cleanup_free_ char *target = NULL;
	_cleanup_close_ int fd = -EBADF;
	struct stat st;
	int r;

	target = read_link(root_fd, f->path, &f->masked);
	if (f->masked)
		return 0;
	/* Without O_NONBLOCK a FIFO would hold everything up. */
	fd = open_in_root(root_fd, f->path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;
	if (r == -ENOENT && target) {
		diag_add(p->diags, DIAG_ERROR, f->path, 0, NULL, "is a link to %s, which does not exist", target);
		return 0;
	}
	if (r < 0) {
		report_errno(p, f->path, "open this policy file", r);
		return 0;
	}
	if (is_null_device(&st) || (S_ISREG(st.st_mode) && st.st_size == 0)) {
		f->masked = true;
		return 0;
	}
	if (!S_ISREG(st.st_mode)) {
		diag_add(p->diags, DIAG_ERROR, f->path, 0, NULL, "is not a regular file");
		return 0;
	}
	if (owner && (!owner_is_root(p, f->path, &st) || (target && !target_is_safe(p, root_fd, f->path, target))))
		return 0;
	return parse_fd(p, fd, file);
}

static int load_entries(struct policy_parser *p, int root_fd, struct entries *e, bool owner)
{
	struct policy *policy = p->policy;
	const struct entry *leader = NULL;

	if (e->n == 0)
		return 0;
	qsort(e->items, e->n, sizeof(*e->items), compare_entries);
	policy->files = calloc(e->n, sizeof(*policy->files));
	if (!policy->files)
		return -ENOMEM;
	for (size_t i = 0; i < e->n; i++) {
		struct entry *item = &e->items[i];
		struct policy_file *f;
		int r;

		if (!endswith(item->name, ".conf")) {
			diag_add(p->diags, DIAG_NOTICE, item->path, 0, NULL,
				 "not read: its name does not end in \".conf\"");
			continue;
		}
		f = &policy->files[policy->n_files++];
		f->path = strdup(item->path);
		if (!f->path)
			return -ENOMEM;
		if (leader && streq(leader->name, item->name)) {
			f->masked_by = strdup(leader->path);
			if (!f->masked_by)
				return -ENOMEM;
			continue;
		}
		leader = item;
		r = load_entry(p, root_fd, (unsigned)policy->n_files - 1, owner);
		if (r < 0)
			return r;
	}
	return 0;
}

static int load_directories(struct policy_parser *p, int root_fd, bool owner)
{
	_cleanup_(entries_clear) struct entries e = { 0 };

	for (unsigned i = 0; i < ARRAY_SIZE(directories); i++) {
		int r = list_directory(p, root_fd, i, owner, &e);

		if (r < 0)
			return r;
	}
	return load_entries(p, root_fd, &e, owner);
}

/* A policy with one file of this name, not read yet. */
static int add_only_file(struct policy_parser *p, const char *path)
{
	p->policy->files = calloc(1, sizeof(*p->policy->files));
	if (!p->policy->files)
		return -ENOMEM;
	p->policy->n_files = 1;
	p->policy->files[0].path = strdup(path);
	return p->policy->files[0].path ? 0 : -ENOMEM;
}

/* The file that was asked for by name: a pipe is fine too, and its directory is the asker's own business. */
static int load_only_file(struct policy_parser *p, const char *path, bool owner)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	int r = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		r = -errno;
	else if (S_ISDIR(st.st_mode))
		r = -EISDIR;
	if (r < 0) {
		report_errno(p, path, "open this policy file", r);
		return r;
	}
	r = add_only_file(p, path);
	if (r < 0 || (owner && !owner_is_root(p, path, &st)))
		return r;
	return parse_fd(p, fd, 0);
}

static int parser_init(struct policy_parser *p, struct facts *facts, struct kernel_io *io, struct diag_list *diags)
{
	*p = (struct policy_parser){
		.policy = calloc(1, sizeof(struct policy)),
		.facts = facts,
		.io = io,
		.diags = diags,
		.suggestions_left = MAX_SUGGESTIONS,
	};
	return p->policy ? 0 : -ENOMEM;
}

/* Ends the reading; the policy is handed out where all went well. */
static int parser_finish(struct policy_parser *p, int r, struct policy **ret)
{
	if (r >= 0)
		r = policy_resolve(p);
	if (r >= 0)
		*ret = TAKE_PTR(p->policy);
	policy_free(p->policy);
	policy_parser_clear(p);
	return r < 0 ? r : 0;
}

int policy_load(int root_fd, const char *only_file, struct facts *facts, struct kernel_io *io, bool check_owner,
		struct diag_list *diags, struct policy **ret)
{
	struct policy_parser p;
	int r;

	r = parser_init(&p, facts, io, diags);
	if (r < 0)
		return r;
	if (only_file)
		r = load_only_file(&p, only_file, check_owner);
	else
		r = load_directories(&p, root_fd, check_owner);
	return parser_finish(&p, r, ret);
}

int policy_load_text(const char *name, const char *text, size_t size, struct facts *facts, struct kernel_io *io,
		     struct diag_list *diags, struct policy **ret)
{
	struct policy_parser p;
	int r;

	r = parser_init(&p, facts, io, diags);
	if (r < 0)
		return r;
	r = add_only_file(&p, name);
	if (r >= 0)
		r = policy_parse_text(&p, 0, text, size);
	return parser_finish(&p, r, ret);
}
