/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who else sets memory management on this machine, and to what: sysctl.d, tuned, saptune, kubelet.  By their files
 * alone: no program is run.  One fact for each key, "writers.vm.swappiness", whose word names every writer.
 */
#include <fnmatch.h>

#include "base/ini-file.h"
#include "base/strutil.h"
#include "core/facts-internal.h"
#include "core/sysctl-conf.h"

/* Deep enough for every real chain of profiles, and an end to a circle. */
#define TUNED_MAX_DEPTH 16

/* A '*' assignment, whose files are found at the end: exact keys win over it wherever they stand. */
struct glob {
	char *path;
	char *text; /* NULL: takes keys out */
};

struct writers {
	struct prober *p;
	/* Key in slashes to "FILE:LINE = VALUE"; the last one of a key stays, in the place of the first. */
	struct facts exact;
	struct glob *globs;
	size_t n_globs, n_globs_allocated;
	struct facts found; /* "writers.KEY" to the text of all writers */
	char **profiles;    /* tuned profiles that have been read */
};

static void writers_clear(struct writers *w)
{
	facts_clear(&w->exact);
	facts_clear(&w->found);
	for (size_t i = 0; i < w->n_globs; i++) {
		free(w->globs[i].path);
		free(w->globs[i].text);
	}
	free(w->globs);
	strv_free(w->profiles);
}

static void note(struct writers *w, int r)
{
	if (r < 0 && w->p->error == 0)
		w->p->error = r;
}

/* Only what has to do with memory and the kernel proper. */
static bool of_interest(const char *path)
{
	return startswith(path, "vm/") || startswith(path, "kernel/");
}

/* Adds one writer to a key, after those that are there. */
static void add(struct writers *w, const char *key, const char *text)
{
	_cleanup_free_ char *name = prober_format(w->p, "writers.%s", key);
	const char *old = name ? facts_word(&w->found, name) : NULL;
	_cleanup_free_ char *all = prober_format(w->p, "%s%s%s", old ?: "", old ? "; " : "", text);

	if (name && all)
		note(w, facts_set_word(&w->found, FACTS_WRITERS, name, all, CONFIDENCE_READ, ""));
}

static void add_glob(struct writers *w, char *path, char *text)
{
	if (w->n_globs == w->n_globs_allocated) {
		size_t n = w->n_globs ? w->n_globs * 2 : 16;
		struct glob *globs = realloc(w->globs, n * sizeof(*globs));

		if (!globs) {
			note(w, -ENOMEM);
			free(path);
			free(text);
			return;
		}
		w->globs = globs;
		w->n_globs_allocated = n;
	}
	w->globs[w->n_globs++] = (struct glob){ .path = path, .text = text };
}

static void take_sysctl_line(struct writers *w, const char *file, unsigned number, char *line)
{
	struct sysctl_line l;
	char *text = NULL;
	int r;

	r = sysctl_line_parse(line, &l);
	note(w, r);
	if (r != SYSCTL_LINE_ASSIGNMENT)
		return;
	if (l.value) {
		text = prober_format(w->p, "%s:%u = %s", file, number, l.value);
		if (!text) {
			free(l.path);
			return;
		}
	}
	if (l.is_glob || !l.value) {
		add_glob(w, l.path, text);
		return;
	}
	if (of_interest(l.path))
		note(w, facts_set_word(&w->exact, FACTS_WRITERS, l.path, text, CONFIDENCE_READ, ""));
	free(l.path);
	free(text);
}

static void read_sysctl_file(struct writers *w, const char *path)
{
	_cleanup_free_ char *text = prober_read(w->p, path, NULL);
	unsigned number = 0;

	for (char *next = text; next;)
		take_sysctl_line(w, path, ++number, strsep(&next, "\n"));
}

struct conf_file {
	char *name;
	char *path;
};

/* By name; of two of the same name, the one found first stands first. */
static int compare_conf_file(const void *a, const void *b)
{
	const struct conf_file *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	/* The letter before the path tells which directory is looked at first. */
	return c ? c : strcmp(x->path, y->path);
}

/* Files of all directories, in systemd's order: by name over all, the directory only decides between equal names. */
static void read_sysctl_directories(struct writers *w)
{
	static const char *const directories[] = {
		"/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d",
	};
	struct conf_file *files = NULL;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		_cleanup_(strv_freep) char **names = NULL;
		struct conf_file *more;

		if (kernel_io_list(w->p->io, directories[i], &names) < 0)
			continue;
		more = reallocarray(files, n + strv_length(names) + 1, sizeof(*files));
		if (!more) {
			note(w, -ENOMEM);
			break;
		}
		files = more;
		for (size_t k = 0; names && names[k]; k++) {
			char *path;

			if (!endswith(names[k], ".conf"))
				continue;
			path = prober_format(w->p, "%c%s/%s", (char)('a' + i), directories[i], names[k]);
			if (!path)
				continue;
			files[n].path = path;
			files[n].name = strrchr(path, '/') + 1;
			n++;
		}
	}
	if (n)
		qsort(files, n, sizeof(*files), compare_conf_file);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || !streq(files[i].name, files[i - 1].name))
			read_sysctl_file(w, files[i].path + 1);
	for (size_t i = 0; i < n; i++)
		free(files[i].path);
	free(files);
}

/* The last glob that matches counts, unless an exact key or an exclusion stands against it. */
static const char *glob_for(const struct writers *w, const char *path)
{
	const char *text = NULL;

	for (size_t i = 0; i < w->n_globs; i++) {
		if (fnmatch(w->globs[i].path, path, FNM_PATHNAME) != 0)
			continue;
		if (!w->globs[i].text)
			return NULL;
		text = w->globs[i].text;
	}
	return text;
}

/* Globs are for the files that are there. */
static void expand_globs(struct writers *w)
{
	static const char *const directories[] = { "vm", "kernel" };

	for (size_t i = 0; i < ARRAY_SIZE(directories) && w->n_globs; i++) {
		_cleanup_free_ char *directory = prober_format(w->p, "/proc/sys/%s", directories[i]);
		_cleanup_(strv_freep) char **names = NULL;

		if (!directory || kernel_io_list(w->p->io, directory, &names) < 0)
			continue;
		for (size_t k = 0; names && names[k]; k++) {
			_cleanup_free_ char *path = prober_format(w->p, "%s/%s", directories[i], names[k]);
			const char *text;

			if (!path || facts_get(&w->exact, path))
				continue;
			text = glob_for(w, path);
			if (text)
				note(w, facts_set_word(&w->exact, FACTS_WRITERS, path, text, CONFIDENCE_READ, ""));
		}
	}
}

/* sysctl.conf is read by procps alone, and after the directories; where a link in sysctl.d leads to it, it was read. */
static void read_sysctl(struct writers *w)
{
	_cleanup_free_ char *link = NULL;

	read_sysctl_directories(w);
	if (kernel_io_readlink(w->p->io, "/etc/sysctl.d/99-sysctl.conf", &link) < 0)
		read_sysctl_file(w, "/etc/sysctl.conf");
	expand_globs(w);
	for (size_t i = 0; i < w->exact.n; i++) {
		_cleanup_free_ char *key = prober_format(w->p, "%s", w->exact.items[i].name);

		if (!key)
			continue;
		sysctl_path_to_key(key);
		add(w, key, w->exact.items[i].word);
	}
}

/* Reading one ini file of tuned or saptune. */
struct ini_context {
	struct writers *w;
	const char *file;
	const char *who;
	char *include; /* tuned: parents named in [main] */
};

static int take_section(void *userdata, unsigned line, const char *name)
{
	return 0;
}

static int take_fault(void *userdata, unsigned line, const char *text)
{
	return 0;
}

static void add_ini(struct ini_context *c, unsigned line, const char *key, const char *value)
{
	_cleanup_free_ char *text = prober_format(c->w->p, "%s:%u = %s (%s)", c->file, line, value, c->who);

	if (text)
		add(c->w, key, text);
}

static int take_pair(void *userdata, unsigned line, const char *section, const char *key, const char *value)
{
	struct ini_context *c = userdata;
	_cleanup_free_ char *copy = NULL;
	char *path;

	if (streq(section, "main") && streq(key, "include")) {
		free(c->include);
		c->include = prober_format(c->w->p, "%s", value);
	} else if (streq(section, "sysctl")) {
		copy = prober_format(c->w->p, "%s", key);
		path = copy ? sysctl_key_to_path(copy) : NULL;
		if (path && of_interest(path)) {
			sysctl_path_to_key(path);
			add_ini(c, line, path, value);
		}
	} else if (streq(section, "vm") && (startswith(key, "transparent_hugepage") || streq(key, "THP"))) {
		add_ini(c, line, "thp.enabled", value);
	} else if (streq(section, "vm") && streq(key, "KSM")) {
		add_ini(c, line, "ksm.run", value);
	} else if (streq(section, "sysfs") && startswith(key, "/sys/kernel/mm/")) {
		add_ini(c, line, key, value);
	}
	return c->w->p->error;
}

static const struct ini_handler ini_handler = { .section = take_section, .pair = take_pair, .fault = take_fault };

static void read_ini(struct ini_context *c, const char *text)
{
	note(c->w, ini_read(text, strlen(text), &ini_handler, c));
}

static char *read_profile(struct writers *w, const char *name, char **ret_path)
{
	static const char *const patterns[] = {
		"/etc/tuned/profiles/%s/tuned.conf",
		"/etc/tuned/%s/tuned.conf",
		"/usr/lib/tuned/profiles/%s/tuned.conf",
		"/usr/lib/tuned/%s/tuned.conf",
	};

	/* A name is one part of a path. */
	if (strchr(name, '/') || startswith(name, "."))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		_cleanup_free_ char *path = prober_format(w->p, patterns[i], name);
		char *text = path ? prober_read(w->p, path, NULL) : NULL;

		if (text) {
			*ret_path = TAKE_PTR(path);
			return text;
		}
	}
	return NULL;
}

static void read_tuned_profile(struct writers *w, const char *name, unsigned depth);

/* "include" names parents, with blanks or commas between; a leading '-' means that it may be missing. */
static void read_parents(struct writers *w, char *include, unsigned depth)
{
	while (include) {
		char *name = strsep(&include, ", \t");

		if (*name == '-')
			name++;
		if (*name)
			read_tuned_profile(w, name, depth + 1);
	}
}

static void read_tuned_profile(struct writers *w, const char *name, unsigned depth)
{
	_cleanup_free_ char *path = NULL, *text = NULL, *who = NULL;
	struct ini_context c = { .w = w };
	char *copy;

	if (depth > TUNED_MAX_DEPTH || strv_contains(w->profiles, name))
		return;
	copy = prober_format(w->p, "%s", name);
	if (!copy || strv_push(&w->profiles, copy) < 0) {
		note(w, -ENOMEM);
		return;
	}
	text = read_profile(w, name, &path);
	if (!text)
		return;
	who = prober_format(w->p, "tuned profile %s", name);
	c.file = path;
	c.who = who ?: "";
	read_ini(&c, text);
	if (c.include)
		read_parents(w, c.include, depth);
	free(c.include);
}

static void read_tuned(struct writers *w)
{
	static const char path[] = "/etc/tuned/active_profile";
	_cleanup_(strv_freep) char **names = NULL;
	_cleanup_free_ char *text = prober_read_line(w->p, path, NULL);

	if (!text || !*text)
		return;
	put_word(w->p, "writers.tuned_profile", text, CONFIDENCE_READ, path);
	if (strv_split(text, &names) < 0)
		note(w, -ENOMEM);
	for (size_t i = 0; names && names[i]; i++)
		read_tuned_profile(w, names[i], 0);
}

/* The value of NAME="..." in a shell-like file; the caller frees. */
static char *shell_value(struct prober *p, const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *v = line + n;
		size_t length;

		if (strncmp(line, name, n) != 0 || *v != '=')
			continue;
		v++;
		if (*v == '"' || *v == '\'') {
			const char quote[] = { *v, '\n', '\0' };

			v++;
			length = strcspn(v, quote);
		} else {
			length = strcspn(v, " \t\n");
		}
		return prober_format(p, "%.*s", (int)MIN(length, 65536U), v);
	}
	return NULL;
}

static void read_saptune(struct writers *w)
{
	static const char config[] = "/etc/sysconfig/saptune";
	static const char *const patterns[] = {
		"/etc/saptune/override/%s",
		"/var/lib/saptune/working/notes/%s",
		"/etc/saptune/extra/%s.conf",
	};
	_cleanup_(strv_freep) char **notes = NULL;
	_cleanup_free_ char *text = prober_read(w->p, config, NULL), *order = NULL;

	order = text ? shell_value(w->p, text, "NOTE_APPLY_ORDER") : NULL;
	if (!order || !*order)
		return;
	put_word(w->p, "writers.saptune_notes", order, CONFIDENCE_READ, config);
	if (strv_split(order, &notes) < 0)
		note(w, -ENOMEM);
	for (size_t i = 0; notes && notes[i]; i++) {
		_cleanup_free_ char *who = prober_format(w->p, "saptune note %s", notes[i]);

		if (strchr(notes[i], '/'))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(patterns); k++) {
			_cleanup_free_ char *path = prober_format(w->p, patterns[k], notes[i]);
			_cleanup_free_ char *note_text = path ? prober_read(w->p, path, NULL) : NULL;

			if (!note_text)
				continue;
			read_ini(&(struct ini_context){ .w = w, .file = path, .who = who ?: "" }, note_text);
			break;
		}
	}
}

/* What kubelet writes at its start unless protectKernelDefaults is on: it then only checks. */
static void read_kubelet(struct writers *w)
{
	static const char *const files[] = { "/var/lib/kubelet/config.yaml", "/etc/kubernetes/kubelet-config.yaml",
					     "/etc/kubernetes/kubelet.conf" };
	static const char *const keys[][2] = {
		{ "vm.overcommit_memory", "1" },
		{ "vm.panic_on_oom", "0" },
		{ "kernel.panic", "10" },
		{ "kernel.panic_on_oops", "1" },
	};
	const char *found = NULL;
	bool protects = false;

	for (size_t i = 0; i < ARRAY_SIZE(files) && !found; i++) {
		_cleanup_free_ char *text = prober_read(w->p, files[i], NULL);

		if (!text && !kernel_io_exists(w->p->io, files[i]))
			continue;
		found = files[i];
		protects = text && strstr(text, "protectKernelDefaults: true");
	}
	if (!found)
		return;
	put_word(w->p, "writers.kubelet", protects ? "checks" : "writes", CONFIDENCE_INFERRED, found);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		_cleanup_free_ char *text =
			prober_format(w->p, "kubelet %s = %s", protects ? "demands" : "writes", keys[i][1]);

		if (text)
			add(w, keys[i][0], text);
	}
}

void facts_probe_writers(struct prober *p)
{
	struct writers w = { .p = p };

	read_sysctl(&w);
	read_tuned(&w);
	read_saptune(&w);
	read_kubelet(&w);
	for (size_t i = 0; i < w.found.n; i++)
		put_word(p, w.found.items[i].name, w.found.items[i].word, CONFIDENCE_READ,
			 "configuration files of other programs");
	writers_clear(&w);
}
