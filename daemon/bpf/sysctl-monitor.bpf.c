/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "daemon/bpf/sysctl-monitor.h"

/*
 * Notes who writes to the sysctls that user space has named, and rings a bell.
 *
 * The program runs in every access to /proc/sys by any process, so it leaves at the first question for a read.  A
 * write to a name that nobody asked for costs one look into a hash table.  Nothing is queued per write: the table
 * holds the latest writer of each name, and the ring buffer only wakes user space, which then looks into the table.
 * So a storm of writes cannot overflow anything.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SYSCTL_NAMES);
	__type(key, char[SYSCTL_NAME_MAX]);
	__type(value, struct sysctl_write);
} names SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} bell SEC(".maps");

SEC("cgroup/sysctl")
int sysctl_monitor(struct bpf_sysctl *ctx)
{
	char name[SYSCTL_NAME_MAX] = {};
	char comm[16] __attribute__((aligned(8))) = {};
	struct sysctl_write *w;
	__u32 pid;
	__u64 *ring;

	if (!ctx->write)
		return 1;
	/* Flags 0: the whole name below /proc/sys, not only its last part. */
	if (bpf_sysctl_get_name(ctx, name, sizeof(name), 0) < 0)
		return 1;
	w = bpf_map_lookup_elem(&names, name);
	if (!w)
		return 1;
	pid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(comm, sizeof(comm));

	bpf_spin_lock(&w->lock);
	w->pid = pid;
	w->writes++;
	__builtin_memcpy(w->comm, comm, sizeof(comm));
	bpf_spin_unlock(&w->lock);

	/* Full means that the bell has rung and nobody has listened yet. */
	ring = bpf_ringbuf_reserve(&bell, sizeof(*ring), 0);
	if (ring) {
		*ring = 0;
		bpf_ringbuf_submit(ring, 0);
	}
	return 1;
}

char _license[] SEC("license") = "LGPL-2.1-or-later";
