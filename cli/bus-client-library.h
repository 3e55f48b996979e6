/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

/*
 * libsystemd, loaded when the bus is wanted: linked in, it would cost each start of mmoptctl some milliseconds, most
 * of which never talk to a bus.
 */
#define BUS_FUNCTIONS(F)                                      \
	F(sd_bus_add_match)                                   \
	F(sd_bus_call)                                        \
	F(sd_bus_can_send)                                    \
	F(sd_bus_error_free)                                  \
	F(sd_bus_error_has_name)                              \
	F(sd_bus_flush_close_unref)                           \
	F(sd_bus_get_fd)                                      \
	F(sd_bus_message_append)                              \
	F(sd_bus_message_append_basic)                        \
	F(sd_bus_message_close_container)                     \
	F(sd_bus_message_enter_container)                     \
	F(sd_bus_message_exit_container)                      \
	F(sd_bus_message_get_member)                          \
	F(sd_bus_message_is_signal)                           \
	F(sd_bus_message_new_method_call)                     \
	F(sd_bus_message_open_container)                      \
	F(sd_bus_message_read)                                \
	F(sd_bus_message_set_auto_start)                      \
	F(sd_bus_message_set_allow_interactive_authorization) \
	F(sd_bus_message_unref)                               \
	F(sd_bus_open_system)                                 \
	F(sd_bus_open_system_machine)                         \
	F(sd_bus_open_system_remote)                          \
	F(sd_bus_process)

struct bus_library {
#define BUS_MEMBER(name) __typeof__(name) *name;
	BUS_FUNCTIONS(BUS_MEMBER)
#undef BUS_MEMBER
};

/* 0; -ENOPKG where the library is not installed. It stays loaded until the program ends. */
int bus_library_load(struct bus_library *ret);
