/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "base/strutil.h"
#include "tests/fake-kernel.h"

struct file {
	struct fake_file how;
	char *path;
	char *value;
	int refuse;
	int hide;
};

struct fault {
	bool armed;
	unsigned write;
	int error;
};

struct fake_kernel {
	struct kernel_io io;
	struct file *files;
	size_t n_files;
	struct fault faults[2];
	char **written;
	unsigned n_writes;
	void (*hook)(void *userdata, unsigned write);
	void *userdata;
	unsigned window_kib, referenced_kib; /* of the probe of fault-around, where io.live */
	unsigned n_smaps;
};

static struct fake_kernel *of(struct kernel_io *io)
{
	return (struct fake_kernel *)io;
}

static struct file *find(struct fake_kernel *k, const char *path)
{
	for (size_t i = 0; i < k->n_files; i++)
		if (streq(k->files[i].path, path))
			return &k->files[i];
	return NULL;
}

static void become(struct file *f, const char *value)
{
	char *copy = strdup(value);

	free(f->value);
	f->value = copy;
}

static void become_number(struct file *f, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, n);
	become(f, text);
}

/*
 * One mapping all over the address space.  The probe looks twice: whether the file's pages are resident and unreferenced, then
 * what one touch has mapped.
 */
static char *smaps(struct fake_kernel *k)
{
	bool resident = k->n_smaps++ % 2 == 0;

	return xasprintf("0-ffffffffffffffff rw-s 00000000 00:01 1 /memfd:x\nRss: %u kB\nReferenced: %u kB\n"
			 "AnonHugePages: 0 kB\n",
			 resident ? 1U << 20 : k->window_kib, resident ? 0 : k->referenced_kib);
}

static int fake_read(struct kernel_io *io, const char *path, char **ret, size_t *ret_size)
{
	struct file *f = find(of(io), path);
	char *text;

	if (io->live && streq(path, "/proc/self/smaps")) {
		text = smaps(of(io));
		if (!text)
			return -ENOMEM;
		*ret = text;
		return 0;
	}
	if (!f)
		return -ENOENT;
	if (f->hide)
		return f->hide;
	if (f->how.behaviour == FAKE_WRITE_ONLY)
		return -EACCES;
	text = xasprintf("%s\n", f->value);
	if (!text)
		return -ENOMEM;
	if (ret_size)
		*ret_size = strlen(text);
	*ret = text;
	return 0;
}

static int store_choice(struct file *f, const char *word)
{
	_cleanup_(strv_freep) char **words = NULL;
	char *text = NULL;
	size_t size;
	FILE *out;
	bool known = false;

	if (strv_split(f->value, &words) < 0)
		return -ENOMEM;
	for (char **w = words; *w; w++) {
		if (**w == '[') {
			memmove(*w, *w + 1, strlen(*w));
			(*w)[strlen(*w) - 1] = '\0';
		}
		known |= streq(*w, word);
	}
	if (!known)
		return -EINVAL;
	out = open_memstream(&text, &size);
	for (char **w = words; *w; w++)
		fprintf(out, "%s%s%s%s", w == words ? "" : " ", streq(*w, word) ? "[" : "", *w,
			streq(*w, word) ? "]" : "");
	fclose(out);
	free(f->value);
	f->value = text;
	return 0;
}

static int store_list(struct file *f, const char *value)
{
	_cleanup_(strv_freep) char **words = NULL;
	char *text = NULL;
	size_t size;
	FILE *out;

	if (strv_split(value, &words) < 0)
		return -ENOMEM;
	out = open_memstream(&text, &size);
	for (char **w = words; *w; w++)
		fprintf(out, "%s%s", w == words ? "" : "\t", *w);
	fclose(out);
	free(f->value);
	f->value = text;
	return 0;
}

static int store_number(struct file *f, const char *value)
{
	char *end;
	int64_t n = strtoll(value, &end, 0), old = strtoll(f->value, NULL, 0), p = 1;
	char text[24];

	if (end == value || *end)
		return -EINVAL;
	switch (f->how.behaviour) {
	case FAKE_POOL:
		n = MAX(MIN(n, f->how.max), f->how.in_use);
		if (n > old && f->how.max == old)
			n = old;
		break;
	case FAKE_POWER_OF_2:
		while (p <= n / 2)
			p *= 2;
		n = p;
		break;
	case FAKE_MASK:
		snprintf(text, sizeof(text), "0x%04" PRIx64, n & f->how.max);
		become(f, text);
		return 0;
	case FAKE_PLAIN:
	case FAKE_CHOICE:
	case FAKE_BOOLEAN_NY:
	case FAKE_LIST:
	case FAKE_WORD:
	case FAKE_WRITE_ONLY:
		if (n < f->how.min || n > f->how.max)
			return -EINVAL;
		break;
	}
	become_number(f, n);
	return 0;
}

static int store(struct file *f, const char *value)
{
	switch (f->how.behaviour) {
	case FAKE_CHOICE:
		return store_choice(f, value);
	case FAKE_LIST:
		return store_list(f, value);
	case FAKE_WORD:
	case FAKE_WRITE_ONLY:
		become(f, value);
		return 0;
	case FAKE_BOOLEAN_NY:
		if (!streq(value, "Y") && !streq(value, "N") && !streq(value, "1") && !streq(value, "0"))
			return -EINVAL;
		become(f, *value == 'Y' || *value == '1' ? "Y" : "N");
		return 0;
	case FAKE_PLAIN:
	case FAKE_POOL:
	case FAKE_POWER_OF_2:
	case FAKE_MASK:
		break;
	}
	return store_number(f, value);
}

static int store_and_ripple(struct fake_kernel *k, struct file *f, const char *value)
{
	struct file *other;
	int r = store(f, value);

	if (r < 0)
		return r;
	if (f->how.linked && (other = find(k, f->how.linked)))
		become(other, "0");
	if (f->how.raises && (other = find(k, f->how.raises)) && strtoll(other->value, NULL, 0) < f->how.raises_to)
		become_number(other, f->how.raises_to);
	return 0;
}

static int fake_write(struct kernel_io *io, const char *path, const char *data, size_t size)
{
	struct fake_kernel *k = of(io);
	_cleanup_free_ char *value = strndup(data, size);
	struct file *f = find(k, path);
	unsigned write = k->n_writes++;

	if (strv_push(&k->written, strdup(path)) < 0 || !value)
		return -ENOMEM;
	if (k->hook)
		k->hook(k->userdata, write);
	strstrip(value);
	for (size_t i = 0; i < ARRAY_SIZE(k->faults); i++) {
		struct fault *fault = &k->faults[i];

		if (!fault->armed || fault->write != write)
			continue;
		fault->armed = false;
		if (fault->error != FAKE_SHORT_WRITE)
			return fault->error;
		/* procfs has taken what it got: "10" became 1. */
		if (f && strlen(value) > 1) {
			value[1] = '\0';
			store_and_ripple(k, f, value);
		}
		return -EIO;
	}
	if (!f)
		return -ENOENT;
	if (f->refuse)
		return f->refuse;
	return store_and_ripple(k, f, value);
}

static int fake_list(struct kernel_io *io, const char *path, char ***ret)
{
	struct fake_kernel *k = of(io);
	_cleanup_(strv_freep) char **names = NULL;

	for (size_t i = 0; i < k->n_files; i++) {
		const char *rest = startswith(k->files[i].path, path);
		_cleanup_free_ char *name = NULL;

		if (!rest || *rest != '/')
			continue;
		name = strndup(rest + 1, strcspn(rest + 1, "/"));
		if (strv_contains(names, name))
			continue;
		if (strv_push(&names, TAKE_PTR(name)) < 0)
			return -ENOMEM;
	}
	if (!names)
		return -ENOENT;
	strv_sort(names);
	*ret = TAKE_PTR(names);
	return 0;
}

static bool fake_exists(struct kernel_io *io, const char *path)
{
	_cleanup_(strv_freep) char **names = NULL;

	return find(of(io), path) || fake_list(io, path, &names) >= 0;
}

static int fake_readlink(struct kernel_io *io, const char *path, char **ret)
{
	return fake_exists(io, path) ? -EINVAL : -ENOENT;
}

static void fake_free(struct kernel_io *io)
{
	struct fake_kernel *k = of(io);

	for (size_t i = 0; i < k->n_files; i++) {
		free(k->files[i].path);
		free(k->files[i].value);
	}
	free(k->files);
	strv_free(k->written);
	free(k);
}

static const struct kernel_io_ops fake_ops = {
	.read = fake_read,
	.write = fake_write,
	.list = fake_list,
	.exists = fake_exists,
	.readlink = fake_readlink,
	.free = fake_free,
};

struct fake_kernel *fake_kernel_new(const struct fake_file *files, size_t n)
{
	struct fake_kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->io.ops = &fake_ops;
	for (size_t i = 0; i < n; i++) {
		fake_kernel_set(k, files[i].path, files[i].value);
		find(k, files[i].path)->how = files[i];
	}
	return k;
}

struct kernel_io *fake_kernel_io(struct fake_kernel *k)
{
	return &k->io;
}

void fake_kernel_set(struct fake_kernel *k, const char *path, const char *text)
{
	struct file *f = find(k, path);

	if (!f) {
		k->files = reallocarray(k->files, k->n_files + 1, sizeof(*k->files));
		f = &k->files[k->n_files++];
		*f = (struct file){ .path = strdup(path), .how.behaviour = FAKE_WORD };
	}
	become(f, text);
}

const char *fake_kernel_get(struct fake_kernel *k, const char *path)
{
	struct file *f = find(k, path);

	return f ? f->value : NULL;
}

void fake_kernel_refuse(struct fake_kernel *k, const char *path, int error)
{
	find(k, path)->refuse = error;
}

void fake_kernel_hide(struct fake_kernel *k, const char *path, int error)
{
	find(k, path)->hide = error;
}

void fake_kernel_fault(struct fake_kernel *k, unsigned write, int error)
{
	k->faults[0] = (struct fault){ .armed = true, .write = k->n_writes + write, .error = error };
}

void fake_kernel_fault_too(struct fake_kernel *k, unsigned write, int error)
{
	k->faults[1] = (struct fault){ .armed = true, .write = k->n_writes + write, .error = error };
}

unsigned fake_kernel_writes(struct fake_kernel *k)
{
	return k->n_writes;
}

const char *fake_kernel_write_path(struct fake_kernel *k, unsigned n)
{
	return n < k->n_writes ? k->written[n] : NULL;
}

void fake_kernel_on_write(struct fake_kernel *k, void (*hook)(void *userdata, unsigned write), void *userdata)
{
	k->hook = hook;
	k->userdata = userdata;
}

void fake_kernel_go_live(struct fake_kernel *k, unsigned window_kib, unsigned referenced_kib)
{
	k->io.live = true;
	k->window_kib = window_kib;
	k->referenced_kib = referenced_kib;
}

static int compare_files(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

char *fake_kernel_dump(struct fake_kernel *k)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	qsort(k->files, k->n_files, sizeof(*k->files), compare_files);
	for (size_t i = 0; i < k->n_files; i++)
		fprintf(f, "%s = %s\n", k->files[i].path, k->files[i].value);
	fclose(f);
	return text;
}
