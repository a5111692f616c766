#include "tests/simulation/idle_upstream.h"

size_t
upstream_queued(const UpstreamCall *call)
{
    (void)call;
    return 0;
}

void
upstream_pause(UpstreamCall *call)
{
    (void)call;
}

void
upstream_resume(UpstreamCall *call)
{
    (void)call;
}

void
upstream_pass(UpstreamCall *call)
{
    (void)call;
}

void
upstream_widen(UpstreamCall *call)
{
    (void)call;
}
