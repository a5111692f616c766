#include "gateway/domain/tenant.h"

static bool
is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool
tenant_name_is_ok(Slice name)
{
    if (name.size == 0 || name.size > TENANT_NAME_MAX) {
        return false;
    }
    for (size_t index = 0; index < name.size; index++) {
        bool is_end = index == 0 || index == name.size - 1;
        if (!is_letter_or_digit(name.data[index]) && (is_end || name.data[index] != '-')) {
            return false;
        }
    }
    return true;
}
