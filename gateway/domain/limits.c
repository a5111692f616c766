#include "gateway/domain/limits.h"

#include "shared/base/compiler.h"

#define X(limit, value, unit_text, text)                                                                     \
    {.name = #limit,                                                                                         \
        .default_value = (value),                                                                            \
        .unit = (unit_text),                                                                                 \
        .meaning = (text),                                                                                   \
        .offset = offsetof(Limits, limit)},
const LimitField limit_table[] = {LIMITS(X)};
#undef X
const size_t limit_table_count = COUNT_OF(limit_table);

Limits
limits_default(void)
{
#define X(limit, value, unit_text, text) .limit = (value),
    return (Limits){LIMITS(X)};
#undef X
}

uint64_t
limit_value(const Limits *limits, const LimitField *field)
{
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
    memcpy((char *)limits + field->offset, &value, sizeof value);
}
