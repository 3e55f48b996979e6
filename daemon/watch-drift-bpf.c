/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Loads bpf/sysctl-monitor.bpf.c and listens to it.  The skeleton is of the light kind: it brings the program along
 * with a loader that runs in the kernel (BPF_PROG_TYPE_SYSCALL, Linux 5.14), and after that only descriptors are
 * left, so there is no library to load at run time and no memory to give back.
 */
#include "base/strutil.h"
#include "daemon/watch-drift-methods.h"

#ifdef HAVE_BPF

#include <fcntl.h>
#include <sys/mman.h>

#include "base/fileio.h"
#include "core/mounts.h"

/* Generated, so not ours to mend. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpointer-arith"
#include "daemon/bpf/sysctl-monitor.skel.h"
#pragma GCC diagnostic pop

/* Needs what the skeleton includes. */
#include "daemon/bpf/sysctl-monitor.h"

struct sysctl_monitor {
	struct sysctl_monitor_bpf *skeleton;
	int link_fd;
	/* Positions in the ring: the first is ours, the second the kernel's (Documentation/bpf/ringbuf.rst). */
	unsigned long *heard, *rung;
};

static int sys_bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return syscall(__NR_bpf, command, attr, sizeof(*attr)) < 0 ? -errno : 0;
}

static int open_root_cgroup(void *userdata, const struct mount_line *line)
{
	_cleanup_close_ int fd = -EBADF;
	struct stat st;

	if (!streq(line->type, "cgroup2"))
		return 0;
	fd = open(line->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	/* The id of the root of all; what is mounted in a cgroup namespace has another. */
	if (st.st_ino != 1)
		return 0;
	*(int *)userdata = TAKE_FD(fd);
	return 1;
}

/* An fd or a negative errno. */
static int find_root_cgroup(char **ret_error)
{
	_cleanup_free_ char *mounts = NULL;
	int fd = -EBADF, r;

	r = read_file_at(AT_FDCWD, "/proc/self/mounts", 0, &mounts, NULL);
	if (r < 0) {
		*ret_error = xasprintf("/proc/self/mounts: %s", strerror(-r));
		return r;
	}
	r = mounts_parse(mounts, open_root_cgroup, &fd);
	if (r > 0)
		return fd;
	*ret_error = r < 0 ? NULL : strdup("the root of the cgroup v2 hierarchy is not mounted here");
	return r < 0 ? r : -ENOENT;
}

static int load(struct sysctl_monitor *m, char **ret_error)
{
	int r;

	m->skeleton = sysctl_monitor_bpf__open();
	if (!m->skeleton)
		return -ENOMEM;
	r = sysctl_monitor_bpf__load(m->skeleton);
	if (r < 0)
		*ret_error = xasprintf("loading the BPF program: %s; it takes Linux 5.14, and CAP_SYS_ADMIN or all of "
				       "CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN",
				       strerror(-r));
	return r;
}

static int attach(struct sysctl_monitor *m, char **ret_error)
{
	_cleanup_close_ int cgroup_fd = find_root_cgroup(ret_error);
	union bpf_attr attr = {};

	if (cgroup_fd < 0)
		return cgroup_fd;
	attr.link_create.prog_fd = (__u32)m->skeleton->progs.sysctl_monitor.prog_fd;
	attr.link_create.target_fd = (__u32)cgroup_fd;
	attr.link_create.attach_type = BPF_CGROUP_SYSCTL;
	m->link_fd = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (m->link_fd >= 0)
		return 0;
	m->link_fd = -errno;
	*ret_error = xasprintf("attaching the BPF program to the root cgroup: %s", strerror(-m->link_fd));
	return m->link_fd;
}

static int map_positions(struct sysctl_monitor *m)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = m->skeleton->maps.bell.map_fd;
	void *p;

	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	m->heard = p;
	p = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (p == MAP_FAILED)
		return -errno;
	m->rung = p;
	return 0;
}

int sysctl_monitor_new(struct sysctl_monitor **ret, char **ret_error)
{
	_cleanup_(sysctl_monitor_freep) struct sysctl_monitor *m = calloc(1, sizeof(*m));
	char *error = NULL;
	int r;

	if (!m)
		return -ENOMEM;
	m->link_fd = -EBADF;
	r = load(m, &error);
	if (r >= 0)
		r = attach(m, &error);
	if (r >= 0)
		r = map_positions(m);
	if (r < 0) {
		*ret_error = error ? error : strdup(strerror(-r));
		return r;
	}
	*ret = TAKE_PTR(m);
	return 0;
}

void sysctl_monitor_free(struct sysctl_monitor *m)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!m)
		return;
	if (m->heard)
		munmap(m->heard, page);
	if (m->rung)
		munmap(m->rung, page);
	if (m->link_fd >= 0)
		close(m->link_fd);
	sysctl_monitor_bpf__destroy(m->skeleton);
	free(m);
}

int sysctl_monitor_fd(const struct sysctl_monitor *m)
{
	return m->skeleton->maps.bell.map_fd;
}

void sysctl_monitor_hush(struct sysctl_monitor *m)
{
	__atomic_store_n(m->heard, __atomic_load_n(m->rung, __ATOMIC_ACQUIRE), __ATOMIC_SEQ_CST);
}

static int command(struct sysctl_monitor *m, enum bpf_cmd cmd, const char *name, void *value, uint64_t flags)
{
	char key[SYSCTL_NAME_MAX] = {};
	union bpf_attr attr = {};

	if (strlen(name) >= sizeof(key))
		return -ENAMETOOLONG;
	memcpy(key, name, strlen(name));
	attr.map_fd = (__u32)m->skeleton->maps.names.map_fd;
	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	attr.flags = flags;
	return sys_bpf(cmd, &attr);
}

int sysctl_monitor_add(struct sysctl_monitor *m, const char *name)
{
	struct sysctl_write w = {};

	return command(m, BPF_MAP_UPDATE_ELEM, name, &w, BPF_ANY);
}

void sysctl_monitor_remove(struct sysctl_monitor *m, const char *name)
{
	(void)command(m, BPF_MAP_DELETE_ELEM, name, NULL, 0);
}

int sysctl_monitor_last(struct sysctl_monitor *m, const char *name, uint64_t *ret_writes, struct drift_writer *ret)
{
	struct sysctl_write w;
	int r;

	r = command(m, BPF_MAP_LOOKUP_ELEM, name, &w, BPF_F_LOCK);
	if (r < 0)
		return r;
	*ret_writes = w.writes;
	ret->pid = (pid_t)w.pid;
	memcpy(ret->comm, w.comm, sizeof(ret->comm));
	ret->comm[sizeof(ret->comm) - 1] = '\0';
	return 0;
}

#else

int sysctl_monitor_new(struct sysctl_monitor **ret, char **ret_error)
{
	*ret_error = strdup("mmoptd was built without BPF");
	return -EOPNOTSUPP;
}

void sysctl_monitor_free(struct sysctl_monitor *m)
{
}

int sysctl_monitor_fd(const struct sysctl_monitor *m)
{
	return -EBADF;
}

void sysctl_monitor_hush(struct sysctl_monitor *m)
{
}

int sysctl_monitor_add(struct sysctl_monitor *m, const char *name)
{
	return -EOPNOTSUPP;
}

void sysctl_monitor_remove(struct sysctl_monitor *m, const char *name)
{
}

int sysctl_monitor_last(struct sysctl_monitor *m, const char *name, uint64_t *ret_writes, struct drift_writer *ret)
{
	return -EOPNOTSUPP;
}

#endif
