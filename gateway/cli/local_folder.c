#include "gateway/cli/local_folder.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>

static void
folder_close(DIR **folder)
{
    if (*folder != NULL) {
        (void)closedir(*folder);
    }
}

static Status
fail_folder(Call *call, const char *path)
{
    int error = errno;
    return call_fail(call, error == ENOENT ? STATUS_NOT_FOUND : STATUS_INVALID_ARGUMENT,
        "folder '%s' cannot be read: %s", path, strerrordesc_np(error));
}

Status
local_folder_list(Call *call, const char *path, TakeName take, void *context)
{
    assert(path != NULL && take != NULL);

    CLEANUP(folder_close) DIR *folder = opendir(path);
    if (folder == NULL) {
        return fail_folder(call, path);
    }
    for (;;) {
        errno = 0; /* readdir() returns NULL at the end as well as for a fault */
        const struct dirent *entry = readdir(folder);
        if (entry == NULL) {
            return errno == 0 ? STATUS_OK : fail_folder(call, path);
        }
        if (entry->d_name[0] != '.') {
            TRY(take(call, context, entry->d_name));
        }
    }
}
