/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <endian.h>
#include <linux/filter.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "daemon/watch-netlink.h"

/* The group of the kernel's own messages; udev's are in another. */
#define GROUP_KERNEL 1
#define RECEIVE_BUFFER_BYTES (1 << 20)
/* Read in one go before the event loop may look at something else. */
#define MESSAGES_PER_TURN 256

/* Behind the action, at the start of each message about a memory block. */
static const char about_blocks[] = "@/devices/system/memory/memory";

struct watch_memory {
	struct nl_sock *socket;
	sd_event_source *io, *timer;
	uint64_t settle_usec;
	void (*changed)(void *userdata);
	void *userdata;
};

static unsigned put_load(struct sock_filter *code, unsigned size, unsigned offset)
{
	*code = (struct sock_filter)BPF_STMT(BPF_LD | size | BPF_ABS, offset);
	return 1;
}

/*
 * Lets a message pass that has about_blocks at this offset, else goes on with the code behind.  Offsets beyond the
 * end of a message make the kernel drop it, but none is that short.  Returns the length of the code.
 */
static unsigned put_comparison(struct sock_filter *code, unsigned offset)
{
	const unsigned size = sizeof(about_blocks) - 1, n_words = size / 4, n_checks = n_words + size % 4;
	unsigned n = 0;

	for (unsigned i = 0; i < n_checks; i++) {
		bool word = i < n_words;
		unsigned at = word ? 4 * i : 4 * n_words + (i - n_words);
		uint32_t want;

		memcpy(&want, about_blocks + at, sizeof(want) * word);
		want = word ? be32toh(want) : (unsigned char)about_blocks[at];
		n += put_load(code + n, word ? BPF_W : BPF_B, offset + at);
		/* To the end of this comparison: what is left of it and the return. */
		code[n++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, want, 0, 2 * (n_checks - i - 1) + 1);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
	return n;
}

/*
 * The kernel drops the events of all other devices, of which a busy machine has hundreds in a second: they must not
 * wake us up. A message starts with ACTION@DEVPATH (lib/kobject_uevent.c).
 */
static int attach_filter(int fd)
{
	static const char *const actions[] = { "add", "online",
					       "offline" }; /* remove and change are as long as online */
	struct sock_filter code[64];
	struct sock_fprog program = { .filter = code };
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		n += put_comparison(code + n, (unsigned)strlen(actions[i]));
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	program.len = (unsigned short)n;
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno : 0;
}

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct watch_memory *w = userdata;

	w->changed(w->userdata); /* may free w */
	return 0;
}

/* Once more from the start, until it is quiet. */
static int settle(struct watch_memory *w)
{
	int r = sd_event_source_set_time_relative(w->timer, w->settle_usec);

	return r < 0 ? r : sd_event_source_set_enabled(w->timer, SD_EVENT_ONESHOT);
}

static int on_message(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct watch_memory *w = userdata;
	bool heard = false;

	for (unsigned i = 0; i < MESSAGES_PER_TURN; i++) {
		_cleanup_free_ unsigned char *message = NULL;
		struct sockaddr_nl from = {};
		int n = nl_recv(w->socket, &from, &message, NULL);

		if (n == 0 || n == -NLE_AGAIN)
			break;
		/* The buffer overflowed (ENOBUFS): what was lost was about memory. */
		if (n == -NLE_NOMEM || n == -NLE_MSG_TRUNC)
			heard = true;
		else if (n < 0)
			return -EIO;
		else if (from.nl_pid == 0) /* another program can send here too, the kernel alone has no address */
			heard = true;
	}
	return heard ? settle(w) : 0;
}

static int listen_to_kernel(struct watch_memory *w)
{
	int r;

	w->socket = nl_socket_alloc();
	if (!w->socket)
		return -ENOMEM;
	/*
	 * Messages of the kernel to all are no netlink messages inside: they have no header, and nothing is in order.
	 */
	nl_socket_disable_seq_check(w->socket);
	nl_socket_disable_msg_peek(w->socket);
	r = nl_connect(w->socket, NETLINK_KOBJECT_UEVENT);
	if (r < 0)
		return r == -NLE_NOMEM ? -ENOMEM : r == -NLE_PERM ? -EPERM : -EPROTONOSUPPORT;
	r = attach_filter(nl_socket_get_fd(w->socket));
	if (r < 0)
		return r;
	/* As much as may be; less is no harm, an overflow is noticed. */
	(void)nl_socket_set_buffer_size(w->socket, RECEIVE_BUFFER_BYTES, 0);
	if (nl_socket_set_nonblocking(w->socket) < 0 || nl_socket_add_membership(w->socket, GROUP_KERNEL) < 0)
		return -EIO;
	return 0;
}

int watch_memory_new(sd_event *event, uint64_t settle_usec, void (*changed)(void *userdata), void *userdata,
		     struct watch_memory **ret)
{
	_cleanup_(watch_memory_freep) struct watch_memory *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->settle_usec = settle_usec;
	w->changed = changed;
	w->userdata = userdata;
	r = listen_to_kernel(w);
	if (r < 0)
		return r;
	r = sd_event_add_time(event, &w->timer, CLOCK_MONOTONIC, UINT64_MAX, 0, on_settled, w);
	if (r < 0)
		return r;
	r = sd_event_source_set_enabled(w->timer, SD_EVENT_OFF);
	if (r < 0)
		return r;
	r = sd_event_add_io(event, &w->io, nl_socket_get_fd(w->socket), EPOLLIN, on_message, w);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(w);
	return 0;
}

void watch_memory_free(struct watch_memory *w)
{
	if (!w)
		return;
	sd_event_source_disable_unref(w->io);
	sd_event_source_disable_unref(w->timer);
	nl_socket_free(w->socket);
	free(w);
}
