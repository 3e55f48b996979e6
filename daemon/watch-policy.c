/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/strutil.h"
#include "daemon/journal.h"
#include "daemon/watch-policy.h"

#define QUIET_USEC USEC_PER_SEC
#define LATEST_USEC (10 * USEC_PER_SEC)
#define ACCURACY_USEC (10 * USEC_PER_MSEC)
/* As many as the kernel follows, see path_resolution(7). */
#define MAX_LINKS 40
/* Read in one go before the event loop may look at something else. */
#define READS_PER_TURN 64

#define ITSELF (IN_DELETE_SELF | IN_MOVE_SELF)
#define NAMES (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
#define WRITES (IN_ATTRIB | IN_CLOSE_WRITE | IN_MODIFY)

static const char *const homes[] = { "/etc/mmopt", "/run/mmopt", "/usr/local/lib/mmopt", "/usr/lib/mmopt" };

/* What is at the end of a path. */
enum role {
	ROLE_ON_THE_WAY, /* part of a longer path */
	ROLE_HOME,	 /* one of homes[], which holds the others */
	ROLE_DIRECTORY,	 /* *.conf in it count */
	ROLE_FILE,
};
static const struct {
	const char *name; /* in a home */
	enum role role;
} parts[] = {
	{ "policy.d", ROLE_DIRECTORY },
	{ "mmoptd.conf", ROLE_FILE },
	{ "mmoptd.conf.d", ROLE_DIRECTORY },
};

/* One inode that is watched. */
struct watched {
	int wd;
	bool conf_files; /* *.conf in it count */
	char **names;	 /* parts of a path that are to be looked for here */
};

/* All that is watched.  It is made anew whenever a path may lead elsewhere, so that nothing of before is left in it. */
struct watch_set {
	int fd;
	struct watched *items;
	size_t n;
};

struct watch_policy {
	struct watch_set set;
	sd_event_source *io, *timer;
	void (*changed)(void *userdata);
	void *userdata;
	bool pending;
	uint64_t first_usec; /* of the changes that are not told yet */
	bool complained;     /* of something that cannot be watched */
};

/* On the way along a path. */
struct position {
	char *at;   /* as far as we are, without symbolic links; "" is the root */
	char *rest; /* what is to come */
	unsigned links;
	bool arrived;
};

static void watch_set_clear(struct watch_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		strv_free(s->items[i].names);
	free(s->items);
	closep(&s->fd);
	*s = (struct watch_set){ .fd = -EBADF };
}

static void position_clear(struct position *p)
{
	free(p->at);
	free(p->rest);
}

static struct watched *find(const struct watch_set *s, int wd)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].wd == wd)
			return &s->items[i];
	return NULL;
}

/* In addition to what is watched there already. *ret is valid until the next call. */
static int watch(struct watch_set *s, const char *path, uint32_t mask, struct watched **ret)
{
	int wd = inotify_add_watch(s->fd, *path ? path : "/", mask | IN_MASK_ADD | IN_DONT_FOLLOW);
	struct watched *larger;

	if (wd < 0)
		return -errno;
	*ret = find(s, wd);
	if (*ret)
		return 0;
	larger = reallocarray(s->items, s->n + 1, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	s->items = larger;
	*ret = &s->items[s->n++];
	**ret = (struct watched){ .wd = wd };
	return 0;
}

static int add_name(struct watched *watched, const char *name)
{
	char *copy;

	if (watched->names && strv_contains(watched->names, name))
		return 0;
	copy = strdup(name);
	return copy ? strv_push(&watched->names, copy) : -ENOMEM;
}

static uint32_t mask_for(enum role role, mode_t mode)
{
	uint32_t mask = ITSELF | (S_ISDIR(mode) ? IN_ONLYDIR : 0);

	switch (role) {
	case ROLE_ON_THE_WAY:
		return mask;
	case ROLE_HOME: /* IN_ATTRIB: who may write to it decides whether the policy counts */
		return S_ISDIR(mode) ? mask | NAMES | IN_ATTRIB : mask;
	case ROLE_DIRECTORY:
		return S_ISDIR(mode) ? mask | NAMES | WRITES : mask;
	case ROLE_FILE: /* not /dev/null, which others write to all the time */
		return S_ISREG(mode) ? mask | WRITES : mask;
	}
	return mask;
}

/* path has been found to be there. */
static int arrive(struct watch_set *s, const char *path, enum role role, mode_t mode)
{
	struct watched *watched;
	int r = watch(s, path, mask_for(role, mode), &watched);

	if (r < 0)
		return r;
	if (role == ROLE_DIRECTORY && S_ISDIR(mode))
		watched->conf_files = true;
	for (size_t i = 0; role == ROLE_HOME && i < ARRAY_SIZE(parts) && r == 0; i++)
		r = add_name(watched, parts[i].name);
	return r;
}

/* Goes on where the symbolic link at path, of which tail is to come, leads. 1, or 0 where it leads nowhere. */
static int follow(struct position *p, const char *path, const char *tail)
{
	char target[PATH_MAX], *rest;
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n < 0 || ++p->links > MAX_LINKS)
		return 0;
	target[n] = '\0';
	rest = xasprintf("%s/%s", target, tail);
	if (!rest)
		return -ENOMEM;
	free(p->rest);
	p->rest = rest;
	if (target[0] == '/')
		p->at[0] = '\0';
	return 1;
}

/* Goes on behind name, which is path. */
static int advance(struct position *p, char *path, const char *tail)
{
	char *rest = strdup(tail);

	if (!rest)
		return -ENOMEM;
	position_clear(p);
	p->at = path;
	p->rest = rest;
	return 1;
}

static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strndup(path, slash ? (size_t)(slash - path) : 0);
}

/*
 * One part of the path further.  Where that is a symbolic link or not there, the directory is watched for its name,
 * and only then is it looked at for good: what happens later comes as an event. 1 to go on, 0 at the end or where
 * there is nothing more, or a negative errno.
 */
static int step(struct watch_set *s, struct position *p, enum role role)
{
	const char *start = p->rest + strspn(p->rest, "/"), *tail = start + strcspn(start, "/");
	_cleanup_free_ char *name = strndup(start, (size_t)(tail - start)), *path = NULL;
	bool last = tail[strspn(tail, "/")] == '\0', named = false;
	struct watched *watched;
	struct stat st;
	int r;

	if (!name)
		return -ENOMEM;
	if (!*name)
		return 0;
	if (streq(name, ".") || streq(name, ".."))
		path = name[1] ? parent_of(p->at) : strdup(p->at);
	else
		path = xasprintf("%s/%s", p->at, name);
	if (!path)
		return -ENOMEM;
	for (;; named = true) {
		bool there = lstat(*path ? path : "/", &st) == 0, link = there && S_ISLNK(st.st_mode);

		r = there && !link ? arrive(s, path, last ? role : ROLE_ON_THE_WAY, st.st_mode) : -ENOENT;
		if (r == 0)
			break;
		if (r != -ENOENT && r != -ENOTDIR)
			return r;
		if (named)
			return link ? follow(p, path, tail) : 0;
		r = watch(s, p->at, (link ? NAMES : IN_CREATE | IN_MOVED_TO) | IN_ONLYDIR, &watched);
		if (r == 0)
			r = add_name(watched, name);
		if (r < 0)
			return r == -ENOENT || r == -ENOTDIR ? 0 : r;
	}
	p->arrived = last;
	return advance(p, TAKE_PTR(path), tail);
}

static bool is_conf(const char *name)
{
	/* Hidden files are those of editors at work, and the policy does not take them either. */
	return name[0] != '.' && endswith(name, ".conf");
}

static int walk(struct watch_set *s, const char *path, enum role role);

/* Files in a watched directory that are symbolic links: what they lead to counts as well. */
static int walk_links(struct watch_set *s, const char *directory)
{
	_cleanup_closedir_ DIR *dir = opendir(directory);
	struct dirent *de;
	int r = 0;

	while (dir && r >= 0 && (de = readdir(dir))) {
		_cleanup_free_ char *path = NULL;

		if (!is_conf(de->d_name) || (de->d_type != DT_LNK && de->d_type != DT_UNKNOWN))
			continue;
		path = xasprintf("%s/%s", directory, de->d_name);
		r = path ? walk(s, path, ROLE_FILE) : -ENOMEM;
	}
	return r;
}

/* Watches all that decides where path leads, and what is there.  0 or a negative errno. */
static int walk(struct watch_set *s, const char *path, enum role role)
{
	_cleanup_(position_clear) struct position p = { .at = strdup(""), .rest = strdup(path) };
	int r = p.at && p.rest ? 1 : -ENOMEM;

	while (r > 0)
		r = step(s, &p, role);
	return r == 0 && p.arrived && role == ROLE_DIRECTORY ? walk_links(s, p.at) : r;
}

/* Once for each time that something begins to fail. */
static void complain(struct watch_policy *w, const char *path, int r)
{
	if (!w->complained)
		journal(LOG_WARNING, EVENT_NONE, NULL,
			"%s cannot be watched for changes: %s; after a change there: systemctl reload mmoptd%s", path,
			strerror(-r),
			r == -ENOSPC   ? "; fs.inotify.max_user_watches is too small"
			: r == -EMFILE ? "; fs.inotify.max_user_instances is too small"
				       : "");
	w->complained = true;
}

/* What can be watched is; the rest is complained about.  0 or a negative errno, then s is empty. */
static int fill(struct watch_policy *w, struct watch_set *s)
{
	bool failed = false;

	s->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (s->fd < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
		int r = walk(s, homes[i], ROLE_HOME);

		for (size_t k = 0; k < ARRAY_SIZE(parts) && r >= 0; k++) {
			_cleanup_free_ char *path = xasprintf("%s/%s", homes[i], parts[k].name);

			r = path ? walk(s, path, parts[k].role) : -ENOMEM;
		}
		if (r < 0)
			complain(w, homes[i], r);
		failed |= r < 0;
	}
	w->complained &= failed;
	return 0;
}

/* Where that fails, the watches there were stay. */
static void watch_anew(struct watch_policy *w)
{
	struct watch_set s = {};
	int r = fill(w, &s);

	if (r == 0)
		r = sd_event_source_set_io_fd(w->io, s.fd);
	if (r < 0) {
		complain(w, "the policy", r);
		watch_set_clear(&s);
		return;
	}
	watch_set_clear(&w->set);
	w->set = s;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch_policy *w = userdata;

	w->pending = false;
	/* Before the change is told: what changes after it was looked at comes as an event. */
	watch_anew(w);
	w->changed(w->userdata); /* may free w */
	return 0;
}

static int settle(struct watch_policy *w)
{
	uint64_t now = clock_usec(CLOCK_MONOTONIC);
	int r;

	if (!w->pending)
		w->first_usec = now;
	w->pending = true;
	r = sd_event_source_set_time(w->timer, MIN(now + QUIET_USEC, w->first_usec + LATEST_USEC));
	return r < 0 ? r : sd_event_source_set_enabled(w->timer, SD_EVENT_ONESHOT);
}

enum meaning {
	MEANS_NOTHING,
	MEANS_CONTENT, /* a file is another */
	MEANS_PATHS,   /* a path may lead elsewhere */
};

static enum meaning meaning_of(const struct watch_set *s, const struct inotify_event *e)
{
	const struct watched *watched;

	if (e->mask & IN_Q_OVERFLOW)
		return MEANS_PATHS;
	watched = find(s, e->wd);
	if (!watched)
		return MEANS_NOTHING;
	if (e->mask & (ITSELF | IN_IGNORED | IN_UNMOUNT))
		return MEANS_PATHS;
	if (e->len == 0)
		return MEANS_CONTENT;
	if (e->mask & NAMES && watched->names && strv_contains(watched->names, e->name))
		return MEANS_PATHS;
	return watched->conf_files && is_conf(e->name) ? MEANS_CONTENT : MEANS_NOTHING;
}

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct watch_policy *w = userdata;
	union {
		struct inotify_event event;
		char bytes[4096];
	} buffer;
	enum meaning all = MEANS_NOTHING;
	int r = 0;

	for (unsigned i = 0; i < READS_PER_TURN; i++) {
		ssize_t n = read(fd, &buffer, sizeof(buffer));

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n <= 0)
			break;
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const struct inotify_event *)(buffer.bytes + at);

			all = MAX(all, meaning_of(&w->set, e));
			at += (ssize_t)(sizeof(*e) + e->len);
		}
	}
	if (all != MEANS_NOTHING)
		r = settle(w);
	if (all == MEANS_PATHS)
		watch_anew(w);
	return r;
}

int watch_policy_new(sd_event *event, void (*changed)(void *userdata), void *userdata, struct watch_policy **ret)
{
	_cleanup_(watch_policy_freep) struct watch_policy *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->set.fd = -EBADF;
	w->changed = changed;
	w->userdata = userdata;
	r = fill(w, &w->set);
	if (r < 0)
		return r;
	r = sd_event_add_time(event, &w->timer, CLOCK_MONOTONIC, UINT64_MAX, ACCURACY_USEC, on_timer, w);
	if (r < 0)
		return r;
	r = sd_event_source_set_enabled(w->timer, SD_EVENT_OFF);
	if (r < 0)
		return r;
	r = sd_event_add_io(event, &w->io, w->set.fd, EPOLLIN, on_readable, w);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(w);
	return 0;
}

void watch_policy_free(struct watch_policy *w)
{
	if (!w)
		return;
	sd_event_source_disable_unref(w->io);
	sd_event_source_disable_unref(w->timer);
	watch_set_clear(&w->set);
	free(w);
}
