#include "worker/cuda/kernel_name.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Reads a name with its length in front, as the Itanium C++ ABI (5.1.3) writes it. Returns what follows, or
 * NULL: there is none. */
static const char *
read_source_name(const char *at, const char **ret_name, size_t *ret_length)
{
    size_t length = 0;
    if (!isdigit((unsigned char)*at) || *at == '0') {
        return NULL;
    }
    while (isdigit((unsigned char)*at) && length < 4096) {
        length = length * 10 + (size_t)(*at++ - '0');
    }
    if (strnlen(at, length) < length) {
        return NULL;
    }
    *ret_name = at;
    *ret_length = length;
    return at + length;
}

void
kernel_name_read(const char *symbol, char *ret_name, size_t size)
{
    assert(size > 0);
    static const char anonymous[] = "_GLOBAL__N_";
    const char *name = NULL;
    size_t length = 0;
    size_t used = 0;
    bool is_mangled = strncmp(symbol, "_Z", 2) == 0;
    const char *at = is_mangled ? symbol + 2 + (symbol[2] == 'N') : symbol;
    ret_name[0] = '\0';
    while (is_mangled && used < size && (at = read_source_name(at, &name, &length)) != NULL) {
        if (length < sizeof anonymous - 1 || strncmp(name, anonymous, sizeof anonymous - 1) != 0) {
            int written =
                snprintf(ret_name + used, size - used, "%s%.*s", used > 0 ? "::" : "", (int)length, name);
            used += written > 0 ? (size_t)written : 0;
        }
        if (symbol[2] != 'N') {
            break;
        }
    }
    if (used == 0) {
        (void)snprintf(ret_name, size, "%s", symbol);
    }
}
