/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/boot/place.h"

#include "base/macros.h"
#include "base/strutil.h"

const char *boot_place(const struct facts *facts)
{
	static const struct {
		const char *loader, *place;
	} table[] = {
		{ "bls", "to the options line of each file in loader/entries and to /etc/kernel/cmdline" },
		{ "container", "on the host: a container has no kernel of its own" },
		{ "extlinux", "to U_BOOT_PARAMETERS in /etc/default/u-boot, then run u-boot-update" },
		{ "ostree", "with rpm-ostree kargs --append=PARAMETER for each, in this order" },
		{ "raspberrypi", "to the one line of /boot/firmware/cmdline.txt" },
		{ "systemd-boot",
		  "to /etc/kernel/cmdline and to the options line of each file in loader/entries; a unified "
		  "kernel image has to be built anew" },
		{ "zipl", "to parameters= in /etc/zipl.conf, then run zipl" },
	};
	const char *loader = facts_word(facts, "boot.loader");

	for (size_t i = 0; loader && i < ARRAY_SIZE(table); i++)
		if (streq(loader, table[i].loader))
			return table[i].place;
	if (!loader || !streq(loader, "grub"))
		return "where this kernel is started: the hypervisor, a PXE server, firmware";
	/* Not by grubby: it keeps one value for a name, and of two pairs of huge pages one is left. */
	if (facts_true(facts, "boot.bls_entries"))
		return "to the options line of each file in /boot/loader/entries and to /etc/kernel/cmdline";
	if (strstr(facts_get(facts, "boot.loader")->source, "grub2"))
		return "to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then run grub2-mkconfig -o /boot/grub2/grub.cfg";
	return "with mmoptctl export --format=grub --resolve >/etc/default/grub.d/90-mmopt.cfg, then run update-grub";
}
