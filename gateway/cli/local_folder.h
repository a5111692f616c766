/* Folders of this machine.
 *
 * Errors: NOT_FOUND when there is none; INVALID_ARGUMENT names the folder and why it cannot be read. */
#pragma once

#include "shared/base/call.h"

/* Takes the name of one file or folder; a failure ends the listing. */
typedef Status (*TakeName)(Call *call, void *context, const char *name);

/* Gives all names in a folder, in no order, but for hidden ones, which begin with a dot. */
MUST_USE Status local_folder_list(Call *call, const char *path, TakeName take, void *context);
