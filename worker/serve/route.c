#include "worker/serve/route.h"

/* Matches `path` against a pattern in which {name} stands for one or more bytes other than '/' and ':'. */
static bool
pattern_match(Slice pattern, Slice path, Slice *parameters)
{
    size_t count = 0;
    size_t at = 0;
    for (size_t index = 0; index < pattern.size; index++) {
        if (pattern.data[index] != '{') {
            if (at == path.size || path.data[at] != pattern.data[index]) {
                return false;
            }
            at++;
            continue;
        }
        size_t start = at;
        while (at < path.size && path.data[at] != '/' && path.data[at] != ':') {
            at++;
        }
        if (at == start || count == WORKER_PARAMETERS_MAX) {
            return false;
        }
        parameters[count++] = slice_part(path, start, at - start);
        index += slice_find(slice_part(pattern, index, pattern.size), '}');
    }
    return at == path.size;
}

const WorkerMethod *
route_find(Slice verb, Slice path, Slice ret_parameters[WORKER_PARAMETERS_MAX])
{
    for (size_t index = 0; index < worker_method_table_count; index++) {
        const WorkerMethod *method = worker_method_table[index];
        if (slice_equals_string(verb, method->verb) &&
            pattern_match(slice_from_string(method->path), path, ret_parameters)) {
            return method;
        }
    }
    return NULL;
}
