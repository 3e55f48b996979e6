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

/* Names that are looked for.  Their place among the strings is their identity among the types. */
enum wanted { NAME_PAGE, NAME_WALK, NAME_ZONE, NAME_TAIL, NAME_TAILS, _NAME_MAX };

static const struct {
	const char *name;
	size_t length;
} wanted_names[_NAME_MAX] = {
	[NAME_PAGE] = { .name = "page", .length = 4 },
	[NAME_WALK] = { .name = "vmemmap_remap_walk", .length = 18 },
	[NAME_ZONE] = { .name = "zone", .length = 4 },
	[NAME_TAIL] = { .name = "vmemmap_tail", .length = 12 },
	[NAME_TAILS] = { .name = "vmemmap_tails", .length = 13 },
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

static void match_name(const char *s, size_t length, uint32_t offset, uint32_t *offsets)
{
	for (size_t i = 0; i < _NAME_MAX; i++)
		if (wanted_names[i].length == length && memcmp(s, wanted_names[i].name, length) == 0)
			offsets[i] = offset;
}

/* Where the wanted names stand among the strings; 0, which is the empty name, where they do not. */
static int find_names(struct reader *r, uint32_t *offsets)
{
	bool at_start = true; /* of a string: false inside one that is longer than the window */
	uint32_t offset = 0;
	int e;

	for (;;) {
		const char *s, *end;
		size_t length;

		e = fill(r, 1);
		if (e < 0)
			return e;
		if (r->start == r->end)
			return 0;
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
			match_name(s, length, offset, offsets);
		at_start = end != NULL;
		length += end != NULL;
		offset += (uint32_t)length;
		r->start += length;
	}
}

/* Bytes that follow a struct btf_type; false for a kind that is not known. */
static bool bytes_behind(const struct btf_type *type, uint32_t *ret)
{
	uint32_t vlen = BTF_INFO_VLEN(type->info);

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		*ret = 0;
		return true;
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		*ret = 4;
		return true;
	case BTF_KIND_ARRAY:
		*ret = sizeof(struct btf_array);
		return true;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case BTF_KIND_ENUM64:
		*ret = vlen * 12;
		return true;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		*ret = vlen * 8;
		return true;
	}
	return false;
}

/* Is one of the members called so?  Takes all of them. */
static int take_members(struct reader *r, uint32_t n, uint32_t name, bool *ret)
{
	struct btf_member member;
	int e;

	*ret = false;
	for (; n > 0; n--) {
		e = take(r, &member, sizeof(member));
		if (e < 0)
			return e;
		*ret |= name && member.name_off == name;
	}
	return 0;
}

static int find_types(struct reader *r, const uint32_t *names, struct btf_findings *ret)
{
	bool have_zone = false;
	int e;

	for (;;) {
		struct btf_type type;
		uint32_t behind;

		e = fill(r, sizeof(type));
		if (e < 0)
			return e;
		if (r->start == r->end)
			return 0;
		e = take(r, &type, sizeof(type));
		if (e < 0)
			return e;
		if (!bytes_behind(&type, &behind))
			return -EBADMSG;
		/* Of several types of a name the first one is the kernel's own. */
		if (BTF_INFO_KIND(type.info) == BTF_KIND_STRUCT && type.name_off) {
			uint32_t vlen = BTF_INFO_VLEN(type.info);

			if (type.name_off == names[NAME_PAGE] && !ret->struct_page_bytes) {
				ret->struct_page_bytes = type.size;
			} else if (type.name_off == names[NAME_WALK] && !ret->has_remap_walk) {
				ret->has_remap_walk = true;
				e = take_members(r, vlen, names[NAME_TAIL], &ret->walk_has_tail);
				behind = 0;
			} else if (type.name_off == names[NAME_ZONE] && !have_zone) {
				have_zone = true;
				e = take_members(r, vlen, names[NAME_TAILS], &ret->zone_has_tails);
				behind = 0;
			}
		}
		if (e == 0)
			e = skip(r, behind);
		if (e < 0)
			return e;
	}
}

int btf_find(int fd, struct btf_findings *ret)
{
	_cleanup_free_ char *window = malloc(WINDOW_BYTES);
	struct reader r = { .fd = fd, .window = window };
	uint32_t names[_NAME_MAX] = {};
	struct btf_findings findings = {};
	struct btf_header h;
	int e;

	if (!window)
		return -ENOMEM;
	set_part(&r, 0, sizeof(h));
	e = take(&r, &h, sizeof(h));
	if (e < 0)
		return e;
	if (h.magic != BTF_MAGIC || h.version != BTF_VERSION || h.hdr_len < sizeof(h))
		return -EBADMSG;
	set_part(&r, (uint64_t)h.hdr_len + h.str_off, h.str_len);
	e = find_names(&r, names);
	if (e < 0)
		return e;
	set_part(&r, (uint64_t)h.hdr_len + h.type_off, h.type_len);
	e = find_types(&r, names, &findings);
	if (e < 0)
		return e;
	*ret = findings;
	return 0;
}
