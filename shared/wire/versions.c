#include "shared/wire/versions.h"

#include <inttypes.h>
#include <stdio.h>

static bool
read_version(Slice text, int64_t *ret_version)
{
    uint64_t number = 0;
    bool is_ok = slice_to_uint64(text, &number) && number > 0 && number <= INT32_MAX;
    *ret_version = is_ok ? (int64_t)number : 0;
    return is_ok;
}

Status
wire_versions_read(Call *call, Slice text, WireVersions *ret_versions)
{
    WireVersions versions;
    size_t dash = slice_find(text, '-');
    Slice last = dash < text.size ? slice_part(text, dash + 1, text.size) : text;
    bool is_ok = read_version(slice_part(text, 0, dash), &versions.oldest) &&
                 read_version(last, &versions.newest) && versions.oldest <= versions.newest;
    if (!is_ok) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "'%.*s' is no versions of the worker protocol: '1-2' is, and '2'",
            SLICE_PRINT(slice_part(text, 0, 64)));
    }
    *ret_versions = versions;
    return STATUS_OK;
}

Status
wire_versions_choose(Call *call, Slice text, WireVersions *ret_versions)
{
    WireVersions versions;
    TRY(wire_versions_read(call, text, &versions));
    if (versions.oldest < WIRE_VERSION_OLDEST || versions.newest > WIRE_VERSION_NEWEST) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "versions %" PRId64 " to %" PRId64
            " of the worker protocol are not spoken by this program, only %d to %d",
            versions.oldest, versions.newest, WIRE_VERSION_OLDEST, WIRE_VERSION_NEWEST);
    }
    *ret_versions = versions;
    return STATUS_OK;
}

void
wire_versions_text(WireVersions versions, char ret_text[WIRE_VERSIONS_TEXT_SIZE])
{
    (void)snprintf(
        ret_text, WIRE_VERSIONS_TEXT_SIZE, "%" PRId64 "-%" PRId64, versions.oldest, versions.newest);
}

WireVersions
wire_versions_or_all(WireVersions versions)
{
    static const WireVersions all = {.oldest = WIRE_VERSION_OLDEST, .newest = WIRE_VERSION_NEWEST};
    return versions.newest == 0 ? all : versions;
}

WireVersions
wire_versions_common(WireVersions one, WireVersions other)
{
    static const WireVersions none = {0};
    WireVersions common = {.oldest = one.oldest > other.oldest ? one.oldest : other.oldest,
        .newest = one.newest < other.newest ? one.newest : other.newest};
    return common.newest >= common.oldest ? common : none;
}

int64_t
wire_versions_agree(WireVersions one, WireVersions other)
{
    return wire_versions_common(one, other).newest;
}
