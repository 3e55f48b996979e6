/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/manager-conf.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "base/ini-file.h"
#include "base/number.h"
#include "base/strutil.h"
#include "base/time-span.h"

#define MAIN_FILE "mmoptd.conf"
#define DROP_IN_DIR "mmoptd.conf.d"
#define SECTION "Manager"

/* An earlier directory hides files of the same name in a later one. */
static const char *const directories[] = { "/etc/mmopt", "/run/mmopt", "/usr/local/lib/mmopt", "/usr/lib/mmopt" };

/* A parser gives 0, -ENOMEM, or anything else for a value that is none of this kind. */
typedef int (*parse_value)(const char *value, void *field);

/* Word number 0 or 1 of the two that a key takes. */
static int parse_word(const char *value, const char *second, enum on_change *ret)
{
	if (streq(value, "report"))
		*ret = ON_CHANGE_REPORT;
	else if (streq(value, second))
		*ret = ON_CHANGE_APPLY;
	else
		return -EINVAL;
	return 0;
}

static int parse_reapply(const char *value, void *field)
{
	return parse_word(value, "reapply", field);
}

static int parse_apply(const char *value, void *field)
{
	return parse_word(value, "apply", field);
}

/* A time from min_usec to max_usec. */
static int parse_time(const char *value, uint64_t min_usec, uint64_t max_usec, uint64_t *ret)
{
	uint64_t usec;
	int r = parse_time_span(value, &usec);

	if (r < 0)
		return r;
	if (usec < min_usec || usec > max_usec)
		return -ERANGE;
	*ret = usec;
	return 0;
}

static bool is_off(const char *value)
{
	bool on;

	return parse_boolean(value, &on) >= 0 && !on;
}

static int parse_interval(const char *value, void *field)
{
	if (is_off(value)) {
		*(uint64_t *)field = 0;
		return 0;
	}
	return parse_time(value, 10 * USEC_PER_SEC, 7 * 24 * 3600 * USEC_PER_SEC, field);
}

static int parse_settle(const char *value, void *field)
{
	return parse_time(value, USEC_PER_SEC / 10, 3600 * USEC_PER_SEC, field);
}

/* Pressure is looked at in windows of 2 s. */
static int parse_guard_time(const char *value, void *field)
{
	return parse_time(value, 2 * USEC_PER_SEC, 24 * 3600 * USEC_PER_SEC, field);
}

static int parse_guard(const char *value, void *field)
{
	uint32_t permyriad;
	int r;

	if (is_off(value)) {
		*(unsigned *)field = 0;
		return 0;
	}
	r = parse_percent(value, &permyriad);
	if (r < 0)
		return r;
	/* At 100 % all the time it would never act, below 1 % it would act on noise. */
	if (permyriad < 100 || permyriad > 9900)
		return -ERANGE;
	*(unsigned *)field = permyriad;
	return 0;
}

static bool has_dot_dot(const char *path)
{
	for (const char *p = path; (p = strstr(p, "/..")); p += 3)
		if (!p[3] || p[3] == '/')
			return true;
	return false;
}

static int parse_directory(const char *value, void *field)
{
	char **place = field, *copy = NULL;

	if (!streq(value, "none")) {
		if (*value != '/' || has_dot_dot(value) || strlen(value) >= PATH_MAX - NAME_MAX)
			return -EINVAL;
		copy = strdup(value);
		if (!copy)
			return -ENOMEM;
	}
	free(*place);
	*place = copy;
	return 0;
}

static int parse_yes_no(const char *value, void *field)
{
	return parse_boolean(value, field);
}

#define FIELD(name) offsetof(struct manager_conf, name)

static const struct {
	const char *name;
	size_t field;
	parse_value parse;
	const char *wanted; /* for "... is not WANTED" */
} keys[] = {
	{ "OnDrift", FIELD(on_drift), parse_reapply, "report or reapply" },
	{ "OnPolicyChange", FIELD(on_policy_change), parse_apply, "report or apply" },
	{ "OnMemoryChange", FIELD(on_memory_change), parse_apply, "report or apply" },
	{ "DriftInterval", FIELD(drift_interval_usec), parse_interval, "off or a time from 10s to 7d, such as 1h" },
	{ "MemorySettleTime", FIELD(memory_settle_usec), parse_settle, "a time from 100ms to 1h, such as 5s" },
	{ "GuardAfterApply", FIELD(guard_permyriad), parse_guard,
	  "off or a share of time from 1% to 99%, such as 20%" },
	{ "GuardTime", FIELD(guard_usec), parse_guard_time, "a time from 2s to 1d, such as 1min" },
	{ "TextfileDirectory", FIELD(textfile_directory), parse_directory, "none or an absolute path without \"..\"" },
	{ "RebootRequiredFile", FIELD(reboot_required_file), parse_yes_no, "yes or no" },
};

void manager_conf_defaults(struct manager_conf *ret)
{
	*ret = (struct manager_conf){
		.on_drift = ON_CHANGE_REPORT,
		.on_policy_change = ON_CHANGE_REPORT,
		.on_memory_change = ON_CHANGE_APPLY,
		.drift_interval_usec = 3600 * USEC_PER_SEC,
		.memory_settle_usec = 5 * USEC_PER_SEC,
		.guard_usec = 60 * USEC_PER_SEC,
	};
}

void manager_conf_clear(struct manager_conf *conf)
{
	free(conf->textfile_directory);
	*conf = (struct manager_conf){ 0 };
}

/* One file being read. */
struct reader {
	const char *file;
	struct diag_list *diags;
	struct manager_conf *conf;
	bool foreign;			  /* below a section that is none of ours: said once */
	unsigned lines[ARRAY_SIZE(keys)]; /* where each key stood, 0: not yet */
};

static void unknown_key(struct reader *r, unsigned line, const char *key)
{
	const char *nearest = NULL;
	unsigned best = UINT_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (nearer_name(key, keys[i].name, &best))
			nearest = keys[i].name;
	diag_add(r->diags, DIAG_WARNING, r->file, line, key, "there is no such setting%s%s%s; this line does not count",
		 nearest ? ", did you mean \"" : "", nearest ?: "", nearest ? "\"?" : "");
}

static int on_section(void *userdata, unsigned line, const char *name)
{
	struct reader *r = userdata;

	r->foreign = !streq(name, SECTION);
	if (r->foreign)
		diag_add(r->diags, DIAG_WARNING, r->file, line, NULL,
			 "there is no section [%s] here, only [" SECTION "]; what stands in it does not count", name);
	return 0;
}

static int on_pair(void *userdata, unsigned line, const char *section, const char *key, const char *value)
{
	struct reader *r = userdata;
	size_t i;
	int e;

	if (!*section) {
		diag_add(r->diags, DIAG_WARNING, r->file, line, key,
			 "stands before the section [" SECTION "]; this line does not count");
		return 0;
	}
	if (r->foreign)
		return 0;
	for (i = 0; i < ARRAY_SIZE(keys) && !streq(keys[i].name, key); i++)
		;
	if (i == ARRAY_SIZE(keys)) {
		unknown_key(r, line, key);
		return 0;
	}
	if (r->lines[i])
		diag_add(r->diags, DIAG_WARNING, r->file, line, key, "stands in line %u already; the later one counts",
			 r->lines[i]);
	r->lines[i] = line;
	e = keys[i].parse(value, (char *)r->conf + keys[i].field);
	if (e == -ENOMEM)
		return e;
	if (e < 0)
		diag_add(r->diags, DIAG_WARNING, r->file, line, key, "\"%s\" is not %s; this line does not count",
			 value, keys[i].wanted);
	return 0;
}

static int on_fault(void *userdata, unsigned line, const char *text)
{
	struct reader *r = userdata;

	diag_add(r->diags, DIAG_WARNING, r->file, line, NULL, "%s; this line does not count", text);
	return 0;
}

int manager_conf_parse(const char *file, const char *text, size_t size, struct diag_list *diags,
		       struct manager_conf *conf)
{
	static const struct ini_handler handler = { .section = on_section, .pair = on_pair, .fault = on_fault };
	struct reader r = { .file = file, .diags = diags, .conf = conf };

	return ini_read(text, size, &handler, &r);
}

/* True where nobody but root (or who runs this) can change what fd is open on; else that is said. */
static bool is_trusted(const struct stat *st, const char *path, struct diag_list *diags)
{
	bool own = st->st_uid == 0 || st->st_uid == geteuid();

	if (own && !(st->st_mode & S_IWOTH) && !(st->st_mode & S_IWGRP && st->st_gid != 0))
		return true;
	diag_add(diags, DIAG_WARNING, path, 0, NULL,
		 "does not count: others than root can change it (user %u, group %u, mode %04o); to trust it: "
		 "chown root:root %s && chmod go-w %s",
		 (unsigned)st->st_uid, (unsigned)st->st_gid, (unsigned)(st->st_mode & 07777), path, path);
	return false;
}

/* A link that leads nowhere is there. */
static bool is_there(int root_fd, const char *path)
{
	_cleanup_close_ int fd = open_in_root(root_fd, path, O_PATH | O_NOFOLLOW, 0);

	return fd >= 0;
}

/*
 * Reads one file: 0, -ENOENT where there is none, -ENOMEM.  Everything else that is wrong with it is said, and it does
 * not count.
 */
static int load_file(int root_fd, const char *path, struct diag_list *diags, struct manager_conf *conf)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -EBADF;
	struct stat st;
	size_t size;
	int r;

	/* Without O_NONBLOCK a FIFO would hold everything up. */
	fd = open_in_root(root_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd == -ENOENT && !is_there(root_fd, path))
		return -ENOENT;
	r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;
	if (r >= 0 && S_ISCHR(st.st_mode)) /* /dev/null: as if it were empty */
		return 0;
	if (r >= 0 && !S_ISREG(st.st_mode))
		r = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (r >= 0 && !is_trusted(&st, path, diags))
		return 0;
	if (r >= 0)
		r = read_fd(fd, INI_FILE_MAX_BYTES, &text, &size);
	if (r >= 0)
		return manager_conf_parse(path, text, size, diags, conf);
	if (r == -ENOMEM)
		return r;
	diag_add(diags, DIAG_WARNING, path, 0, NULL, "does not count, it cannot be read: %s", strerror(-r));
	return 0;
}

/* Opens a directory that nobody but root can change. -ENOENT where it is not there or does not count, which is said. */
static int open_directory(int root_fd, const char *path, struct diag_list *diags)
{
	_cleanup_close_ int fd = open_in_root(root_fd, path, O_RDONLY | O_DIRECTORY, 0);
	struct stat st;
	int r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;

	if (r == -ENOENT)
		return r;
	if (r < 0) {
		diag_add(diags, DIAG_WARNING, path, 0, NULL, "does not count, this directory cannot be opened: %s",
			 strerror(-r));
		return -ENOENT;
	}
	return is_trusted(&st, path, diags) ? TAKE_FD(fd) : -ENOENT;
}

/* Adds the drop-ins of one directory to names, each name once. */
static int list_drop_ins(int dir_fd, const char *path, struct diag_list *diags, char ***names)
{
	_cleanup_closedir_ DIR *dir = fdopendir(dir_fd);
	struct dirent *de;

	if (!dir) {
		close(dir_fd);
		return -ENOMEM;
	}
	for (errno = 0; (de = readdir(dir)); errno = 0) {
		int r;

		/* Hidden files are those of editors and package managers at work. */
		if (de->d_name[0] == '.' || !endswith(de->d_name, ".conf") || strv_contains(*names, de->d_name))
			continue;
		r = strv_push(names, strdup(de->d_name));
		if (r < 0)
			return r;
	}
	if (errno != 0)
		diag_add(diags, DIAG_WARNING, path, 0, NULL, "cannot read this directory: %s", strerror(errno));
	return 0;
}

/* Where settings may come from: the directories that are there and trusted, the first counts first. */
struct places {
	char **main;	 /* files that may be there */
	char **drop_ins; /* directories */
	char **names;	 /* of the files in those */
};

static void places_clear(struct places *p)
{
	strv_free(p->main);
	strv_free(p->drop_ins);
	strv_free(p->names);
}

static int find_places(int root_fd, struct diag_list *diags, struct places *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		_cleanup_close_ int fd = open_directory(root_fd, directories[i], diags);
		_cleanup_free_ char *path = NULL;
		int drop_fd, r;

		/* Who can change the directory above can put other drop-ins in its place. */
		if (fd < 0)
			continue;
		r = strv_push(&ret->main, xasprintf("%s/" MAIN_FILE, directories[i]));
		path = xasprintf("%s/" DROP_IN_DIR, directories[i]);
		if (r < 0 || !path)
			return -ENOMEM;
		drop_fd = open_directory(root_fd, path, diags);
		if (drop_fd < 0)
			continue;
		r = list_drop_ins(drop_fd, path, diags, &ret->names);
		if (r >= 0)
			r = strv_push(&ret->drop_ins, TAKE_PTR(path));
		if (r < 0)
			return r;
	}
	strv_sort(ret->names);
	return 0;
}

static int load_drop_in(int root_fd, const struct places *p, const char *name, struct diag_list *diags,
			struct manager_conf *conf)
{
	for (char **directory = p->drop_ins; *directory; directory++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", *directory, name);
		int r = path ? load_file(root_fd, path, diags, conf) : -ENOMEM;

		if (r != -ENOENT)
			return r;
	}
	return 0;
}

int manager_conf_load(int root_fd, struct diag_list *diags, struct manager_conf *ret)
{
	_cleanup_(manager_conf_clear) struct manager_conf conf;
	_cleanup_(places_clear) struct places p = { 0 };
	int r;

	manager_conf_defaults(&conf);
	r = find_places(root_fd, diags, &p);
	if (r < 0)
		return r;
	r = -ENOENT;
	for (char **file = p.main; file && *file && r == -ENOENT; file++)
		r = load_file(root_fd, *file, diags, &conf);
	if (r < 0 && r != -ENOENT)
		return r;
	for (char **name = p.names; name && *name; name++) {
		r = load_drop_in(root_fd, &p, *name, diags, &conf);
		if (r < 0)
			return r;
	}
	*ret = conf;
	conf.textfile_directory = NULL;
	return 0;
}
