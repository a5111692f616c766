#include "gateway/domain/limits.h"

#include <assert.h>

#include "shared/base/compiler.h"

#define X(limit, value, largest, unit_text, text)                                                            \
    {.name = #limit,                                                                                         \
        .default_value = (value),                                                                            \
        .maximum = (largest),                                                                                \
        .unit = (unit_text),                                                                                 \
        .meaning = (text),                                                                                   \
        .offset = offsetof(Limits, limit)},
const LimitField limit_table[] = {LIMITS(X)};
#undef X
const size_t limit_table_count = COUNT_OF(limit_table);

Limits
limits_default(void)
{
#define X(limit, value, largest, unit_text, text) .limit = (value),
    return (Limits){LIMITS(X)};
#undef X
}

uint64_t
limit_value(const Limits *limits, const LimitField *field)
{
    assert(field->offset + sizeof(uint64_t) <= sizeof *limits);

    uint64_t value = 0;
    memcpy(&value, (const char *)limits + field->offset, sizeof value);
    return value;
}

const LimitField *
limit_find(Slice name)
{
    for (size_t index = 0; index < limit_table_count; index++) {
        if (slice_equals_string(name, limit_table[index].name)) {
            return &limit_table[index];
        }
    }
    return NULL;
}

void
limit_set(Limits *limits, const LimitField *field, uint64_t value)
{
    assert(field->offset + sizeof(uint64_t) <= sizeof *limits && value <= field->maximum);

    memcpy((char *)limits + field->offset, &value, sizeof value);
}

Status
limits_read(Call *call, Slice setting, Limits *limits)
{
    size_t equals = slice_find(setting, '=');
    Slice name = slice_trim(slice_part(setting, 0, equals));
    Slice text = slice_trim(slice_part(setting, equals + 1, setting.size));
    const LimitField *field = limit_find(name);
    uint64_t value = 0;
    if (field == NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "there is no limit '%.*s'", SLICE_PRINT(name));
    }
    if (!slice_to_uint64(text, &value) || value == 0 || value > field->maximum) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "the limit %s is set to '%.*s', it can be 1 to %llu %s", field->name, SLICE_PRINT(text),
            (unsigned long long)field->maximum, field->unit);
    }
    limit_set(limits, field, value);
    return STATUS_OK;
}
