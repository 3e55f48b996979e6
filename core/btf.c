/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/btf.h"

#include <linux/btf.h>

#include "base/macros.h"

#ifndef BTF_KIND_DECL_TAG
#define BTF_KIND_DECL_TAG 17
#endif
#ifndef BTF_KIND_TYPE_TAG
#define BTF_KIND_TYPE_TAG 18
#endif
#ifndef BTF_KIND_ENUM64
#define BTF_KIND_ENUM64 19
#endif

#define WINDOW_BYTES 16384

/* What is looked for.  The place of a name among the strings is its identity among the types. */
enum wanted { NAME_PAGE, NAME_WALK, NAME_ZONE, NAME_COMMIT, _NAME_MAX };

static const struct {
	const char *name;
	size_t length;
	unsigned kind;
} wanted_names[_NAME_MAX] = {
	[NAME_PAGE] = { .name = "page", .length = 4, .kind = BTF_KIND_STRUCT },
	[NAME_WALK] = { .name = "vmemmap_remap_walk", .length = 18, .kind = BTF_KIND_STRUCT },
	[NAME_ZONE] = { .name = "zone", .length = 4, .kind = BTF_KIND_STRUCT },
	[NAME_COMMIT] = { .name = "vm_committed_as_below", .length = 21, .kind = BTF_KIND_FUNC },
};

/* Where the strings lie in the file. */
struct strings {
	uint64_t offset;
	uint32_t size;
};

/* A part of the file, of which a window is in memory. */
struct reader {
	int fd;
	uint64_t next; /* in the file, behind the window */
	uint64_t left; /* from there to the end of the part */
	char *window;
	size_t start, end; /* what of the window has not been taken yet */
};

/* Makes at least size bytes of the part available, or all that are left of it. */
static int fill(struct reader *r, size_t size)
{
	if (r->end - r->start >= size)
		return 0;
	memmove(r->window, r->window + r->start, r->end - r->start);
	r->end -= r->start;
	r->start = 0;
	while (r->end < size && r->left > 0) {
		size_t room = MIN((uint64_t)(WINDOW_BYTES - r->end), r->left);
		ssize_t n = pread(r->fd, r->window + r->end, room, (off_t)r->next);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		r->end += (size_t)n;
		r->next += (uint64_t)n;
		r->left -= (uint64_t)n;
	}
	return 0;
}

/* Copies the next size bytes out; -EBADMSG where the part ends before. */
static int take(struct reader *r, void *to, size_t size)
{
	int e = fill(r, size);

	if (e < 0)
		return e;
	if (r->end - r->start < size)
		return -EBADMSG;
	memcpy(to, r->window + r->start, size);
	r->start += size;
	return 0;
}

static int skip(struct reader *r, uint64_t size)
{
	size_t n = MIN(size, (uint64_t)(r->end - r->start));

	r->start += n;
	size -= n;
	if (size > r->left)
		return -EBADMSG;
	r->next += size;
	r->left -= size;
	return 0;
}

static void set_part(struct reader *r, uint64_t offset, uint64_t size)
{
	r->next = offset;
	r->left = size;
	r->start = r->end = 0;
}

/* True where it is one of them. */
static bool match_name(const char *s, size_t length, uint32_t offset, uint32_t *offsets)
{
	for (size_t i = 0; i < _NAME_MAX; i++) {
		if (wanted_names[i].length != length || memcmp(s, wanted_names[i].name, length) != 0)
			continue;
		offsets[i] = offset;
		return true;
	}
	return false;
}

/*
 * Where the wanted names stand among the strings; 0, which is the empty name, where they do not.  Each name stands
 * there once.  How many there are tells when the types need not be read any further: of a name that no string has there
 * is no type.
 */
static int find_names(struct reader *r, uint32_t *offsets, unsigned *ret_found)
{
	unsigned found = 0;
	bool at_start = true; /* of a string: false inside one that is longer than the window */
	uint32_t offset = 0;
	int e;

	while (found < _NAME_MAX) {
		const char *s, *end;
		size_t length;

		e = fill(r, 1);
		if (e < 0)
			return e;
		if (r->start == r->end)
			break;
		s = r->window + r->start;
		end = memchr(s, '\0', r->end - r->start);
		if (!end && r->start > 0 && r->left > 0) {
			/* Cut by the end of the window: move it to the front and look again. */
			e = fill(r, r->end - r->start + 1);
			if (e < 0)
				return e;
			continue;
		}
		length = end ? (size_t)(end - s) : r->end - r->start;
		if (end && at_start)
			found += match_name(s, length, offset, offsets);
		at_start = end != NULL;
		length += end != NULL;
		offset += (uint32_t)length;
		r->start += length;
	}
	*ret_found = found;
	return 0;
}

/* What follows a struct btf_type: so many bytes, and so many for each of its vlen entries. */
struct behind {
	bool known;
	uint8_t fixed, each;
};

static const struct behind behind[] = {
	[BTF_KIND_INT] = { .known = true, .fixed = 4 },
	[BTF_KIND_PTR] = { .known = true },
	[BTF_KIND_ARRAY] = { .known = true, .fixed = sizeof(struct btf_array) },
	[BTF_KIND_STRUCT] = { .known = true, .each = sizeof(struct btf_member) },
	[BTF_KIND_UNION] = { .known = true, .each = sizeof(struct btf_member) },
	[BTF_KIND_ENUM] = { .known = true, .each = sizeof(struct btf_enum) },
	[BTF_KIND_FWD] = { .known = true },
	[BTF_KIND_TYPEDEF] = { .known = true },
	[BTF_KIND_VOLATILE] = { .known = true },
	[BTF_KIND_CONST] = { .known = true },
	[BTF_KIND_RESTRICT] = { .known = true },
	[BTF_KIND_FUNC] = { .known = true },
	[BTF_KIND_FUNC_PROTO] = { .known = true, .each = sizeof(struct btf_param) },
	[BTF_KIND_VAR] = { .known = true, .fixed = sizeof(struct btf_var) },
	[BTF_KIND_DATASEC] = { .known = true, .each = sizeof(struct btf_var_secinfo) },
	[BTF_KIND_FLOAT] = { .known = true },
	[BTF_KIND_DECL_TAG] = { .known = true, .fixed = 4 },
	[BTF_KIND_TYPE_TAG] = { .known = true },
	[BTF_KIND_ENUM64] = { .known = true, .each = 12 },
};

/* 1 where the string at that place is name, 0 where not. */
static int string_is(int fd, const struct strings *strings, uint32_t at, const char *name)
{
	size_t size = strlen(name) + 1;
	char buf[32];
	ssize_t n;

	if (at > strings->size || size > strings->size - at || size > sizeof(buf))
		return 0;
	n = pread(fd, buf, size, (off_t)(strings->offset + at));
	if (n < 0)
		return -errno;
	return (size_t)n == size && memcmp(buf, name, size) == 0;
}

/* Is one of the n members called so?  Takes all of them. */
static int take_members(struct reader *r, const struct strings *strings, uint32_t n, const char *name, bool *ret)
{
	struct btf_member member;
	bool found = false;

	for (; n > 0; n--) {
		int e = take(r, &member, sizeof(member));

		if (e == 0 && !found)
			e = string_is(r->fd, strings, member.name_off, name);
		if (e < 0)
			return e;
		found |= e > 0;
	}
	*ret = found;
	return 0;
}

/* What has been found of the wanted types: of several of a name the first one is the kernel's own. */
struct search {
	const uint32_t *names;
	unsigned n_names; /* that are there */
	const struct strings *strings;
	bool found[_NAME_MAX];
	unsigned n_found;
	struct btf_findings findings;
};

/* One of the wanted types, behind whose head the reader stands. */
static int take_wanted(struct reader *r, struct search *s, enum wanted which, const struct btf_type *type)
{
	uint32_t vlen = BTF_INFO_VLEN(type->info);

	s->found[which] = true;
	s->n_found++;
	switch (which) {
	case NAME_PAGE:
		s->findings.struct_page_bytes = type->size;
		return skip(r, (uint64_t)vlen * sizeof(struct btf_member));
	case NAME_WALK:
		s->findings.has_remap_walk = true;
		return take_members(r, s->strings, vlen, "vmemmap_tail", &s->findings.walk_has_tail);
	case NAME_ZONE:
		return take_members(r, s->strings, vlen, "vmemmap_tails", &s->findings.zone_has_tails);
	case NAME_COMMIT:
		s->findings.has_exact_commit = true;
		return 0;
	case _NAME_MAX:
		break;
	}
	return -EINVAL;
}

/* _NAME_MAX: not one of them, or one that was found already. */
static enum wanted which_wanted(const struct search *s, const struct btf_type *type)
{
	unsigned kind = BTF_INFO_KIND(type->info);

	if ((kind != BTF_KIND_STRUCT && kind != BTF_KIND_FUNC) || !type->name_off)
		return _NAME_MAX;
	for (int i = 0; i < _NAME_MAX; i++)
		if (type->name_off == s->names[i] && kind == wanted_names[i].kind && !s->found[i])
			return (enum wanted)i;
	return _NAME_MAX;
}

/* More than 100000 types: what is done for each of them is all that counts here. */
static int find_types(struct reader *r, struct search *s)
{
	while (s->n_found < s->n_names) {
		struct btf_type type;
		enum wanted which;
		uint32_t kind;
		int e = r->end - r->start < sizeof(type) ? fill(r, sizeof(type)) : 0;

		if (e < 0)
			return e;
		if (r->start == r->end)
			return 0;
		e = take(r, &type, sizeof(type));
		if (e < 0)
			return e;
		kind = BTF_INFO_KIND(type.info);
		if (kind >= ARRAY_SIZE(behind) || !behind[kind].known)
			return -EBADMSG;
		which = which_wanted(s, &type);
		if (which == _NAME_MAX)
			e = skip(r, behind[kind].fixed + (uint64_t)BTF_INFO_VLEN(type.info) * behind[kind].each);
		else
			e = take_wanted(r, s, which, &type);
		if (e < 0)
			return e;
	}
	return 0;
}

int btf_find(int fd, struct btf_findings *ret)
{
	_cleanup_free_ char *window = malloc(WINDOW_BYTES);
	struct reader r = { .fd = fd, .window = window };
	uint32_t names[_NAME_MAX] = {};
	struct strings strings;
	struct search search = { .names = names, .strings = &strings };
	struct btf_header h;
	int e;

	if (!window)
		return -ENOMEM;
	set_part(&r, 0, sizeof(h));
	e = fill(&r, 1);
	if (e < 0)
		return e == -EBADMSG ? -ENODATA : e;
	e = take(&r, &h, sizeof(h));
	if (e < 0)
		return e;
	if (h.magic != BTF_MAGIC || h.version != BTF_VERSION || h.hdr_len < sizeof(h))
		return -EBADMSG;
	strings = (struct strings){ .offset = (uint64_t)h.hdr_len + h.str_off, .size = h.str_len };
	set_part(&r, strings.offset, strings.size);
	e = find_names(&r, names, &search.n_names);
	if (e < 0)
		return e;
	set_part(&r, (uint64_t)h.hdr_len + h.type_off, h.type_len);
	e = find_types(&r, &search);
	if (e < 0)
		return e;
	*ret = search.findings;
	return 0;
}
