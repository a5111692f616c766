/* Tells the workers that keep something of a session that it has been deleted.
 *
 * Threads: any; the requests go out on the loop. Without memory nobody is told: what is not used is
 * forgotten. */
#pragma once

#include "gateway/app/gateway.h"

void session_release(GatewayLoop *loop, TenantId tenant, SessionId session, const SessionPlaces *places);
