/* Finds the session that a command works in. --session gives its id or its name; a name means the newest
 * session of that name. */
#pragma once

#include "gateway/cli/command.h"
#include "shared/base/uuid.h"

/* Finds the session of --session. NOT_FOUND when there is none; but with `may_make` the default session is
 * made, unless the user asked for it by name. */
MUST_USE Status session_resolve(Cli *cli, bool may_make, char ret_id[ID_TEXT_SIZE]);

/* Finds the session of this id or name; NOT_FOUND when there is none. */
MUST_USE Status session_find(Cli *cli, const char *session, char ret_id[ID_TEXT_SIZE]);

extern const char sessions_path[]; /* the path of the list */

/* Creates a session. `options` is JSON; the caller frees the reply. */
MUST_USE Status session_make(Cli *cli, const char *name, const char *options, HttpClientResponse *ret_reply);
