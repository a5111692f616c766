/* The HTTP side of a loop: the server with the gateway's limits, its keys and its log of requests.
 *
 * Errors: those of http_server_new(). */
#pragma once

#include "gateway/app/gateway.h"

/* Fills loop->server. */
MUST_USE Status loop_server_open(
    Call *call, GatewayLoop *loop, const GatewayOptions *options, const char *address);
