// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmopt_faultaround - vm.want_old_faultaround_pte for kernels that lack it
 *
 * The accessed bit of the PTEs that fault-around maps besides the one that
 * faulted:
 *
 * -1  as the architecture has it (the value after loading)
 *  0  young
 *  1  old
 *
 * While the value asks for something else than the architecture does anyway,
 * and only then, ftrace sends the calls of filemap_map_pages() to
 * fa_map_pages(), as a live patch would.  That function is exported and always
 * called through vm_operations_struct or by another module, hence never
 * inlined.  fa_map_pages() notes which PTEs of the window are none, calls the
 * original, takes the PTE lock again and corrects the PTEs that have appeared.
 *
 * A PTE that another thread maps in the same window in between passes for one
 * of fault-around's.  It then loses (with 0: gains) one reference, which an
 * aging pass of reclaim might have taken just as well.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/pagemap.h>
#include <linux/sysctl.h>
#include <linux/utsname.h>

#include "compat.h"

/* A window has one page table at most; larger ones, of larger pages, are left alone. */
#define FA_MAX_PAGES		512UL

/*
 * Set in vmf->flags, which belong to the faulting thread, while it is in
 * fa_map_pages().  The return address would tell, but kretprobes and the graph
 * tracer replace it.
 */
#define FA_INSIDE		BIT(31)

#define FA_DIR			"/proc/sys/vm"
#define FA_NAME			"want_old_faultaround_pte"
#define FA_FILE			FA_DIR "/" FA_NAME

struct fa_window {
	unsigned long addr;	/* of its first page */
	unsigned long nr;	/* of pages */
	unsigned long self;	/* the page that faulted */
	pgoff_t start;
	/* the PTEs to correct */
	unsigned long todo[BITS_TO_LONGS(FA_MAX_PAGES)];
};

static bool untested;
module_param(untested, bool, 0444);
MODULE_PARM_DESC(untested, "load on kernels newer than 6.12, which nobody has tried");

/* A compiler's error, should the function take other arguments one day. */
static vm_fault_t (*const fa_original)(struct vm_fault *vmf, pgoff_t start,
				       pgoff_t end) = filemap_map_pages;

static int fa_value = -1;
static bool fa_young;		/* what the hook makes of them */
static bool fa_hooked;
static DEFINE_MUTEX(fa_lock);	/* of these three */

/* What is there instead of a page table, or nothing: NULL. */
static pte_t *fa_table_at(pmd_t pmd, unsigned long addr)
{
	if (pmd_none(pmd) || !pmd_present(pmd) || pmd_leaf(pmd) || pmd_bad(pmd))
		return NULL;

	return pte_offset_kernel(&pmd, addr);
}

/* What do_fault_around() asks for; false for anything else. */
static bool fa_window_init(struct fa_window *w, struct vm_fault *vmf,
			   pgoff_t start, pgoff_t end)
{
	struct vm_area_struct *vma = vmf->vma;

	w->start = start;
	w->addr = vma->vm_start + ((start - vma->vm_pgoff) << PAGE_SHIFT);
	w->nr = end - start + 1;
	w->self = (vmf->address - w->addr) >> PAGE_SHIFT;

	return w->nr <= FA_MAX_PAGES && w->self < w->nr &&
	       pte_index(w->addr) + w->nr <= PTRS_PER_PTE;
}

/*
 * Sets the bits of the PTEs that are none.  The page table cannot go: mmap_lock
 * or the lock of the VMA is held, and khugepaged, which does without them since
 * 6.6, frees it by RCU.  What is read without the PTE lock may be out of date,
 * as described at the top.
 */
static void fa_note(struct fa_window *w, struct vm_fault *vmf)
{
	unsigned long i;
	pte_t *table;

	bitmap_zero(w->todo, w->nr);
	rcu_read_lock();
	table = fa_table_at(READ_ONCE(*vmf->pmd), w->addr);
	for (i = 0; i < w->nr; i++)
		if (!table || pte_none(READ_ONCE(table[i])))
			__set_bit(i, w->todo);
	rcu_read_unlock();
	__clear_bit(w->self, w->todo);
}

/*
 * Since 6.6 the PTEs of a large folio are set together, and all young if the
 * one that faulted is among them.  Keep that: it is the folio that reclaim
 * looks at.  The folio cannot go while it is mapped and the PTE lock is held.
 */
static void fa_spare_folio(struct fa_window *w, pte_t pte)
{
	pgoff_t first, end;
	struct folio *folio;

	if (!FA_SETS_FOLIOS)
		return;
	if (!pte_present(pte) || pte_special(pte) || !pfn_valid(pte_pfn(pte)))
		return;
	folio = page_folio(pfn_to_page(pte_pfn(pte)));
	if (!folio_test_large(folio) || folio_test_anon(folio))
		return;
	first = max(folio->index, w->start);
	end = min(folio->index + folio_nr_pages(folio), w->start + w->nr);
	if (first < end)
		bitmap_clear(w->todo, first - w->start, end - first);
}

/* With the PTE lock held. */
static void fa_correct_table(struct fa_window *w, struct vm_area_struct *vma, pte_t *table)
{
	bool young = READ_ONCE(fa_young);
	unsigned long i;

	fa_spare_folio(w, READ_ONCE(table[w->self]));
	for (i = 0; i < w->nr; i++) {
		if (!test_bit(i, w->todo) || !pte_present(READ_ONCE(table[i])))
			continue;
		if (young)
			fa_make_young(&table[i]);
		else
			fa_make_old(vma, w->addr + (i << PAGE_SHIFT), &table[i]);
	}
}

/* Around it, what pte_offset_map_lock() does; since 6.5 that is not exported. */
static void fa_correct(struct fa_window *w, struct vm_fault *vmf)
{
	spinlock_t *ptl;	/* of the page table */
	pte_t *table;
	pmd_t pmd;

	rcu_read_lock();
	pmd = READ_ONCE(*vmf->pmd);
	table = fa_table_at(pmd, w->addr);
	if (table) {
		ptl = pte_lockptr(vmf->vma->vm_mm, &pmd);
		spin_lock(ptl);
		/* Not so if a huge page has replaced the page table. */
		if (likely(pmd_same(pmd, READ_ONCE(*vmf->pmd))))
			fa_correct_table(w, vmf->vma, table);
		spin_unlock(ptl);
	}
	rcu_read_unlock();
}

/* Instead of filemap_map_pages(). */
static noinline vm_fault_t fa_map_pages(struct vm_fault *vmf, pgoff_t start, pgoff_t end)
{
	struct fa_window w;
	bool fits = fa_window_init(&w, vmf, start, end);
	vm_fault_t ret;

	if (fits)
		fa_note(&w, vmf);

	vmf->flags |= FA_INSIDE;
	ret = filemap_map_pages(vmf, start, end);
	vmf->flags &= ~FA_INSIDE;

	if (fits && !bitmap_empty(w.todo, w.nr))
		fa_correct(&w, vmf);

	return ret;
}

/*
 * Nothing here may be traced, or ftrace would call itself: all that is called
 * is inline.
 */
static void notrace fa_ftrace(unsigned long ip, unsigned long parent_ip,
			      struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct vm_fault *vmf = fa_argument(fregs);

	if (!(vmf->flags & FA_INSIDE))
		fa_redirect(fregs, (unsigned long)fa_map_pages);
}

/* PERMANENT: kernel.ftrace_enabled=0 is refused while the hook is there. */
static struct ftrace_ops fa_ops = {
	.func	= fa_ftrace,
	.flags	= FA_IPMODIFY | FA_SAVE_REGS | FTRACE_OPS_FL_PERMANENT,
};

/* A hook holds the module, should ftrace ever fail to remove it. */
static int fa_hook(bool young)
{
	int ret;

	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	WRITE_ONCE(fa_young, young);
	ret = register_ftrace_function(&fa_ops);
	if (ret) {
		pr_err("filemap_map_pages() cannot be redirected: %pe%s\n", ERR_PTR(ret),
		       ret == -EBUSY ? " (kernel.ftrace_enabled=0, or a live patch)" : "");
		module_put(THIS_MODULE);
		return ret;
	}
	fa_hooked = true;

	return 0;
}

/*
 * Nobody is in fa_ftrace() or fa_map_pages() when it returns: ftrace waits
 * until each task has slept or was in user space, and nothing sleeps in there.
 */
static int fa_unhook(void)
{
	int ret = unregister_ftrace_function(&fa_ops);

	if (ret) {
		pr_err("filemap_map_pages() stays redirected: %pe\n", ERR_PTR(ret));
		return ret;
	}
	fa_hooked = false;
	module_put(THIS_MODULE);

	return 0;
}

static int fa_set(int value)
{
	/* The same on all CPUs and for ever, so that no hook changes its mind. */
	bool hook = value >= 0 && (value == 1) != arch_wants_old_prefaulted_pte();
	int ret = 0;

	if (hook && !fa_hooked)
		ret = fa_hook(value == 0);
	else if (!hook && fa_hooked)
		ret = fa_unhook();
	if (!ret)
		fa_value = value;

	return ret;
}

static int fa_handler(fa_const struct ctl_table *table, int write, void *buffer,
		      size_t *lenp, loff_t *ppos)
{
	struct ctl_table copy = *table;
	int value, ret;

	mutex_lock(&fa_lock);
	value = fa_value;
	copy.data = &value;
	ret = proc_dointvec_minmax(&copy, write, buffer, lenp, ppos);
	if (!ret && write && value != fa_value)
		ret = fa_set(value);
	mutex_unlock(&fa_lock);

	return ret;
}

static struct ctl_table fa_sysctls[] = {
	{
		.procname	= FA_NAME,
		.data		= &fa_value,
		.maxlen		= sizeof(fa_value),
		.mode		= 0644,
		.proc_handler	= fa_handler,
		.extra1		= SYSCTL_NEG_ONE,
		.extra2		= SYSCTL_ONE,
	},
	FA_SYSCTL_END
};

static struct ctl_table_header *fa_header;

static int __init fa_check_version(void)
{
	if (!FA_IS_TOO_NEW || untested)
		return 0;

	pr_err("nobody has looked at fault-around in Linux %s; untested=1 loads all the same\n",
	       init_utsname()->release);
	return -EOPNOTSUPP;
}

/*
 * Look before registering.  The kernel refuses a second file of the same name,
 * but the error path of insert_header() then takes a node out of the tree that
 * was never put in, and with it all others: /proc/sys/vm is empty afterwards
 * (seen on 6.1.192 and 6.12.117).
 */
static int __init fa_check_name(void)
{
	struct path path;
	bool proc;
	int ret;

	ret = kern_path(FA_DIR, LOOKUP_FOLLOW, &path);
	if (ret) {
		pr_err(FA_DIR " cannot be looked at: %pe\n", ERR_PTR(ret));
		return -ENODEV;
	}
	proc = path.dentry->d_sb->s_magic == PROC_SUPER_MAGIC;
	path_put(&path);
	if (!proc) {
		pr_err(FA_DIR " is not the kernel's\n");
		return -ENODEV;
	}

	ret = kern_path(FA_FILE, LOOKUP_FOLLOW, &path);
	if (ret == -ENOENT)
		return 0;
	if (ret) {
		pr_err(FA_FILE " cannot be looked at: %pe\n", ERR_PTR(ret));
		return ret;
	}
	path_put(&path);
	pr_err(FA_FILE " is there already: this kernel does without the module\n");
	return -EEXIST;
}

/*
 * Hooks once, making of the PTEs what the architecture makes of them, so that
 * a kernel that does not allow it is known now and not at the first write.
 */
static int __init fa_try(void)
{
	int ret;

	ret = ftrace_set_filter_ip(&fa_ops, (unsigned long)fa_original, 0, 0);
	if (ret) {
		pr_err("filemap_map_pages() cannot be traced: %pe\n", ERR_PTR(ret));
		return ret;
	}
	ret = fa_hook(!arch_wants_old_prefaulted_pte());
	if (ret) {
		ftrace_free_filter(&fa_ops);
		return ret;
	}
	/* Should that fail, the module has to stay, and does no harm. */
	fa_unhook();

	return 0;
}

static int __init fa_init(void)
{
	int ret;

	ret = fa_check_version();
	if (ret)
		return ret;
	ret = fa_check_name();
	if (ret)
		return ret;
	mutex_lock(&fa_lock);
	ret = fa_try();
	mutex_unlock(&fa_lock);
	if (ret)
		return ret;

	fa_header = register_sysctl("vm", fa_sysctls);
	if (fa_header)
		return 0;
	pr_err(FA_FILE " cannot be made\n");
	/* A hook that could not be removed needs the module. */
	if (fa_hooked)
		return 0;
	ftrace_free_filter(&fa_ops);

	return -ENOMEM;
}

static void __exit fa_exit(void)
{
	/* Waits for the handler.  No hook is left: it would hold the module. */
	unregister_sysctl_table(fa_header);
	ftrace_free_filter(&fa_ops);
}

module_init(fa_init);
module_exit(fa_exit);
MODULE_DESCRIPTION("vm.want_old_faultaround_pte: accessed bit of the PTEs that fault-around maps");
MODULE_AUTHOR("mmopt");
MODULE_LICENSE("GPL");
MODULE_VERSION(FA_VERSION);
