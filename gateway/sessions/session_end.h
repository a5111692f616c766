/* A session that has been deleted is forgotten, and what runs in it ends: steps and partial runs of all loops
 * of this gateway.
 *
 * Threads: any. */
#pragma once

#include "gateway/app/gateway.h"

/* Without memory they end with their results, or at their deadlines. */
void session_end(const Gateway *gateway, TenantId tenant, SessionId session);
