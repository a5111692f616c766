/* A resource is what a handle refers to: an object that kernels share and change, or pass on without a
 * copy (a tensor array, a stack, a variable, a list of tensors). A handle is a scalar tensor of dtype
 * resource or variant that holds a reference, so that a resource lives exactly as long as its last handle:
 * what a step made is freed with the step's last tensor, however the step ends.
 *
 * A handle never leaves its slot: the planner assigns all its readers to one slot, and it is neither fed
 * nor fetched.
 *
 * Ownership: refcounted.
 * Threads:   reference counts are atomic; each type guards its own content. */
#pragma once

#include "worker/runtime/kernel.h"

typedef struct Resource Resource;

typedef struct ResourceType {
    const char *name; /* text for messages: "a tensor array" */
    void (*free)(Resource *resource);
} ResourceType;

/* The first member of every type's struct. */
struct Resource {
    int32_t reference_count; /* atomic */
    const ResourceType *type;
};

void resource_init(Resource *resource, const ResourceType *type); /* one reference, owned by the caller */
Resource *resource_ref(Resource *resource);
void resource_unref(Resource *resource); /* NULL is allowed */

/* Returns whether nobody else holds the resource, so that it may be changed in place. */
bool resource_is_unique(const Resource *resource);

/* Returns the resource of a handle, without a new reference; NULL when the tensor is not a handle of this
 * type. */
Resource *resource_of(const Tensor *handle, const ResourceType *type);

/* Makes a handle, which takes the reference. False without memory: the caller keeps the reference. */
MUST_USE bool resource_handle(Resource *resource, Dtype dtype, Tensor *ret_handle);

/* Returns the resource of a kernel's input without a new reference: valid as long as the input.
 * INVALID_ARGUMENT when the input is not a handle of this type. */
MUST_USE Status kernel_resource(
    KernelContext *context, uint32_t input, const ResourceType *type, Resource **ret_resource);

/* Makes output `index` a handle. Takes the reference, also when it fails. */
MUST_USE Status kernel_handle(KernelContext *context, uint32_t index, Resource *resource);

/* A container: the resources that a session keeps on a worker, by name, until the session or the worker
 * ends. Refcounted. Threads: any; locks inside. */
enum { CONTAINER_RESOURCE_COUNT_MAX = 65536 };

MUST_USE ResourceContainer *container_new(void);
ResourceContainer *container_ref(ResourceContainer *container);
void container_unref(ResourceContainer *container); /* NULL is allowed */
size_t container_count(ResourceContainer *container);

/* Returns whether an earlier container of the session was lost after this time (monotonic). */
bool container_lost_since(ResourceContainer *container, uint64_t since_ns);

/* Notes that an earlier container of this session was lost: every name counts as removed, so that no
 * variable begins again with its first value. */
void container_mark_lost(ResourceContainer *container);

/* A request for the resource of a name: found in the container, or made by `make`. INVALID_ARGUMENT when
 * the name belongs to a resource of another type. */
typedef struct ContainerEntry {
    Slice name;
    const ResourceType *type;
    Status (*make)(Call *call, const void *context, Resource **ret_resource);
    /* Makes a resource for a name that was removed before; NULL: `make` does. */
    Status (*make_again)(Call *call, const void *context, Resource **ret_resource);
    const void *context;
} ContainerEntry;

MUST_USE Status container_obtain(
    Call *call, ResourceContainer *container, const ContainerEntry *entry, Resource **ret_resource);

/* The container of a resource in TensorFlow's sense is the part of its name before the first ';'; a name
 * without one is in DEFAULT_CONTAINER. */
extern const char DEFAULT_CONTAINER[];

/* Removes all resources of these TensorFlow containers and returns how many there were. Handles keep
 * theirs. */
size_t container_reset(ResourceContainer *container, const Slice *names, size_t count);

/* Removes the name if it still refers to `resource`; false when it does not. Handles keep the resource. */
bool container_remove(ResourceContainer *container, Slice name, const Resource *resource);
