/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Where mmopt keeps what lives as long as the boot. */
#define STATE_DIR "/run/mmopt"

/* Makes /run/mmopt below root_fd where it is missing, and sees that it can be trusted. 0 or a negative errno. */
int state_dir_make(int root_fd);

/* Makes parent/name, both below root_fd. An existing directory is fine. 0 or a negative errno. */
int state_dir_make_below(int root_fd, const char *parent, const char *name);

/* Nobody but root, or the user who runs mmopt below a root of their own, may write there. 0, -EPERM, or another negative errno. */
int check_trusted(int fd);
