#include "tests/simulation/idle_upstream.h"

void
upstream_write_tensor(UpstreamCall *call, Slice name, const Tensor *tensor)
{
    (void)call;
    (void)name;
    (void)tensor;
}

void
upstream_write_buffer(UpstreamCall *call, Slice data, TensorBuffer *buffer)
{
    (void)call;
    (void)data;
    (void)buffer;
}

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
