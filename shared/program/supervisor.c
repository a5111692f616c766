#include "shared/program/supervisor.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { STATE_SIZE = 256 };

static void
tell(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = path == NULL ? 0 : strlen(path);
    if (size == 0 || size >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@')) {
        return;
    }
    memcpy(address.sun_path, path, size);
    if (path[0] == '@') {
        address.sun_path[0] = '\0'; /* of Linux' abstract name space */
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return;
    }
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&address,
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
    (void)close(fd);
}

void
supervisor_tell_waiting(const char *reason)
{
    char state[STATE_SIZE];
    (void)snprintf(state, sizeof state, "STATUS=%s", reason);
    tell(state);
}

void
supervisor_tell_ready(const char *address)
{
    char state[STATE_SIZE];
    (void)snprintf(state, sizeof state, "READY=1\nSTATUS=listening on %s", address);
    tell(state);
}

void
supervisor_tell_stopping(void)
{
    tell("STOPPING=1\nSTATUS=ends when what runs has ended");
}
