#include "worker/reference/naming.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "worker/runtime/resource.h"

Status
naming_new(Call *call, const Node *node, void **ret_naming)
{
    assert(node != NULL && ret_naming != NULL);
    Slice named = node_attr_string(node, "container");
    Slice container = slice_equals_string(named, DEFAULT_CONTAINER) ? SLICE("") : named;
    Slice shared = node_attr_string(node, "shared_name");
    Slice name = shared.size > 0 ? shared : node->name;
    size_t prefix = container.size > 0 ? container.size + 1 : 0;
    size_t size = prefix + name.size;
    if (size > NAMING_SIZE_MAX) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "the name has %zu bytes, more than %d", size, NAMING_SIZE_MAX);
    }
    Naming *naming = memory_new(1, sizeof *naming + size + 1);
    if (naming == NULL) {
        return call_fail_memory(call, "a name");
    }
    if (prefix > 0) {
        memcpy(naming->bytes, container.data, container.size);
        naming->bytes[container.size] = ';';
    }
    memcpy(naming->bytes + prefix, name.data, name.size);
    naming->name = slice_of(naming->bytes, size);
    *ret_naming = naming;
    return STATUS_OK;
}
