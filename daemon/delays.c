/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <linux/taskstats.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "base/fileio.h"
#include "base/number.h"
#include "base/strutil.h"
#include "daemon/watch-netlink.h"

/*
 * All versions of struct taskstats grew at their end but for this one, which had new members in its midst: Linux 6.14
 * and 6.15 before their stable updates, undone by "taskstats: fix struct taskstats breaks backward compatibility
 * since version 15".
 */
#define VERSION_OUT_OF_ORDER 15
#if TASKSTATS_VERSION == VERSION_OUT_OF_ORDER
#error "<linux/taskstats.h> is of the one version that no other kernel agrees with"
#endif

/* Where the numbers stand in the kernel's struct taskstats. */
struct offsets {
	size_t reclaim, swapin, thrashing;
};

/* One reading. */
struct reading {
	struct nl_sock *socket;
	struct nl_cb *callbacks;
	int family;
	int error;	/* the kernel's last answer, where it was one */
	bool accounted; /* some process was counted as waiting for a processor, ever */
	struct delays sum;
};

static struct offsets offsets_of(unsigned version)
{
	struct offsets o = {
		.reclaim = offsetof(struct taskstats, freepages_delay_total),
		.swapin = offsetof(struct taskstats, swapin_delay_total),
		.thrashing = offsetof(struct taskstats, thrashing_delay_total),
	};

	/* A largest and a smallest delay behind each total: cpu, blkio, swapin, freepages, thrashing in this order. */
	if (version == VERSION_OUT_OF_ORDER) {
		o.swapin += 2 * 2 * sizeof(uint64_t);
		o.reclaim += 3 * 2 * sizeof(uint64_t);
		o.thrashing += 4 * 2 * sizeof(uint64_t);
	}
	return o;
}

/* 0 where this kernel's struct is too short to have it. */
static uint64_t number_at(const void *data, size_t size, size_t offset)
{
	uint64_t n = 0;

	if (offset + sizeof(n) <= size)
		memcpy(&n, (const char *)data + offset, sizeof(n));
	return n;
}

static int on_answer(struct nl_msg *message, void *userdata)
{
	struct reading *r = userdata;
	struct nlattr *outer[TASKSTATS_TYPE_MAX + 1], *inner[TASKSTATS_TYPE_MAX + 1], *stats;
	struct offsets at;
	const char *data;
	uint16_t version;
	size_t size;

	if (genlmsg_parse(nlmsg_hdr(message), 0, outer, TASKSTATS_TYPE_MAX, NULL) < 0 ||
	    !outer[TASKSTATS_TYPE_AGGR_TGID] ||
	    nla_parse_nested(inner, TASKSTATS_TYPE_MAX, outer[TASKSTATS_TYPE_AGGR_TGID], NULL) < 0 ||
	    !inner[TASKSTATS_TYPE_STATS])
		return NL_SKIP;
	stats = inner[TASKSTATS_TYPE_STATS];
	data = nla_data(stats);
	size = (size_t)nla_len(stats);
	if (size < sizeof(version))
		return NL_SKIP;
	memcpy(&version, data, sizeof(version));
	at = offsets_of(version);
	r->accounted |= number_at(data, size, offsetof(struct taskstats, cpu_count)) > 0;
	r->sum.reclaim_nsec += number_at(data, size, at.reclaim);
	r->sum.swapin_nsec += number_at(data, size, at.swapin);
	r->sum.thrashing_nsec += number_at(data, size, at.thrashing);
	r->sum.n_processes++;
	return NL_OK;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *userdata)
{
	struct reading *r = userdata;

	r->error = error->error;
	return NL_STOP;
}

static int begin(struct reading *r)
{
	int error;

	r->socket = nl_socket_alloc();
	r->callbacks = nl_cb_alloc(NL_CB_DEFAULT);
	if (!r->socket || !r->callbacks)
		return -ENOMEM;
	if (nl_cb_set(r->callbacks, NL_CB_VALID, NL_CB_CUSTOM, on_answer, r) < 0 ||
	    nl_cb_err(r->callbacks, NL_CB_CUSTOM, on_error, r) < 0)
		return -EINVAL;
	error = genl_connect(r->socket);
	if (error < 0)
		return error == -NLE_NOMEM ? -ENOMEM : -EOPNOTSUPP;
	r->family = genl_ctrl_resolve(r->socket, TASKSTATS_GENL_NAME);
	if (r->family < 0)
		return r->family == -NLE_NOMEM ? -ENOMEM : -EOPNOTSUPP;
	/* An answer is there when the question has been sent, so there is nothing to wait for. */
	nl_socket_disable_auto_ack(r->socket);
	nl_socket_disable_msg_peek(r->socket);
	return nl_socket_set_nonblocking(r->socket) < 0 ? -EIO : 0;
}

static void reading_done(struct reading *r)
{
	nl_cb_put(r->callbacks);
	nl_socket_free(r->socket);
}

/* One thread group. 0, also where it has ended; or a negative errno. */
static int add_process(struct reading *r, uint32_t pid)
{
	struct nl_msg *question = nlmsg_alloc_size(NLMSG_HDRLEN + GENL_HDRLEN + NLA_HDRLEN + sizeof(pid));
	int error = -NLE_NOMEM;

	if (question && genlmsg_put(question, NL_AUTO_PORT, NL_AUTO_SEQ, r->family, 0, 0, TASKSTATS_CMD_GET,
				    TASKSTATS_GENL_VERSION))
		error = nla_put_u32(question, TASKSTATS_CMD_ATTR_TGID, pid);
	if (error >= 0)
		error = nl_send_auto(r->socket, question);
	nlmsg_free(question);
	r->error = 0;
	if (error >= 0)
		error = nl_recvmsgs(r->socket, r->callbacks);
	if (r->error == -ESRCH)
		return 0;
	if (r->error < 0)
		return r->error;
	return error >= 0 ? 0 : error == -NLE_NOMEM ? -ENOMEM : -EIO;
}

/* A kernel before 5.14 has no switch and counts unless it was started with nodelayacct. */
static bool is_switched_off(void)
{
	_cleanup_free_ char *text = NULL;

	return read_file_at(AT_FDCWD, "/proc/sys/kernel/task_delayacct", 0, &text, NULL) == 0 &&
	       streq(strstrip(text), "0");
}

int delays_read(struct delays *ret)
{
	_cleanup_(reading_done) struct reading r = {};
	_cleanup_closedir_ DIR *proc = NULL;
	struct dirent *de;
	int error;

	if (is_switched_off())
		return -ENODATA;
	error = begin(&r);
	if (error < 0)
		return error;
	proc = opendir("/proc");
	if (!proc)
		return -errno;
	while ((de = readdir(proc))) {
		uint64_t pid;

		if (parse_u64(de->d_name, &pid) < 0 || pid > UINT32_MAX)
			continue;
		error = add_process(&r, (uint32_t)pid);
		if (error < 0)
			return error;
	}
	if (!r.accounted)
		return -ENODATA;
	*ret = r.sum;
	return 0;
}
