/* Which session a command works in. --session names it by id or by name; a name means the newest session of
 * that name. */
#pragma once

#include "gateway/cli/command.h"
#include "shared/base/uuid.h"

/* NOT_FOUND when no session has the name; but the session that nobody asked for by name, the default one, is
 * made when `may_make`. */
MUST_USE Status session_resolve(Cli *cli, bool may_make, char ret_id[ID_TEXT_SIZE]);

/* The session of this id or name; NOT_FOUND when there is none. */
MUST_USE Status session_find(Cli *cli, const char *session, char ret_id[ID_TEXT_SIZE]);

extern const char sessions_path[]; /* of the list */

/* POST /api/v1/sessions. `options` is JSON. The reply is the caller's to free. */
MUST_USE Status session_make(Cli *cli, const char *name, const char *options, HttpClientResponse *ret_reply);
