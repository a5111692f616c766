/* The news that a supervisor gets of a program: systemd's protocol (sd_notify(3)), datagrams to the socket
 * that NOTIFY_SOCKET names, by path or by "@name". Its own text asks programs to send these few bytes by
 * themselves rather than to link libsystemd for them.
 *
 * Threads: any; nothing waits.
 * Errors:  none: without a supervisor nothing is sent, and one that does not hear restarts the program. */
#pragma once

/* What it waits for before it can serve, or where it serves, is shown to people (systemctl status). */
void supervisor_tell_waiting(const char *reason);
void supervisor_tell_ready(const char *address);
void supervisor_tell_stopping(void);
