/* What runs in a session that has been deleted: steps and partial runs of all loops of this gateway.
 *
 * Threads: any. */
#pragma once

#include "gateway/services/gateway.h"

/* Cancels them; without memory they end with their results, or at their deadlines. */
void session_end(const Gateway *gateway, TenantId tenant, SessionId session);
