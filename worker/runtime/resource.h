/* A resource is what a handle stands for: a thing that kernels share and change, or hand on without a copy (a
 * tensor array, a stack, a variable, a list of tensors). A handle is a scalar tensor of dtype resource or
 * variant that holds a reference, so that a resource lives as long as any handle, and no longer: what a step
 * made goes with the step's last tensor, however it ends.
 *
 * A handle stays on its slot: the planner keeps its readers together, and it is neither fed nor fetched.
 *
 * Ownership: refcounted.
 * Threads:   counts are atomic; what is inside is each type's business. */
#pragma once

#include "worker/runtime/kernel.h"

typedef struct Resource Resource;

typedef struct ResourceType {
    const char *name; /* "a tensor array" */
    void (*free)(Resource *resource);
} ResourceType;

/* The first member of every type's struct. */
struct Resource {
    int32_t reference_count; /* atomic */
    const ResourceType *type;
};

void resource_init(Resource *resource, const ResourceType *type); /* one reference, the caller's */
Resource *resource_ref(Resource *resource);
void resource_unref(Resource *resource); /* NULL is allowed */

/* Returns whether nobody else holds the resource, so that it may be changed in place. */
bool resource_is_unique(const Resource *resource);

/* The resource behind a handle, without a reference; NULL when the tensor is no handle of this type. */
Resource *resource_of(const Tensor *handle, const ResourceType *type);

/* Makes a handle, to which the reference moves. False without memory: the reference is the caller's still. */
MUST_USE bool resource_handle(Resource *resource, Dtype dtype, Tensor *ret_handle);

/* Returns the resource behind an input of a running kernel, as long as the input lives. INVALID_ARGUMENT
 * when it is no handle of this type. */
MUST_USE Status kernel_resource(
    KernelContext *context, uint32_t input, const ResourceType *type, Resource **ret_resource);

/* Makes output `index` a handle, to which the reference moves; it is given back when that fails. */
MUST_USE Status kernel_handle(KernelContext *context, uint32_t index, Resource *resource);

/* The resources that a session keeps on a worker, by name: they live until the session ends or the worker.
 * Refcounted. Threads: any; locks inside. */
enum { CONTAINER_RESOURCE_COUNT_MAX = 65536 };

MUST_USE ResourceContainer *container_new(void);
ResourceContainer *container_ref(ResourceContainer *container);
void container_unref(ResourceContainer *container); /* NULL is allowed */
size_t container_count(ResourceContainer *container);

/* Notes that all kept before was lost: every name counts as one that has stood for something. */
void container_mark_lost(ResourceContainer *container);

/* A resource wanted by its name: the one that the container has, or a new one made by `make`.
 * INVALID_ARGUMENT when the name stands for another type. */
typedef struct ContainerEntry {
    Slice name;
    const ResourceType *type;
    Status (*make)(Call *call, const void *context, Resource **ret_resource);
    /* Makes it when the name has stood for something that was removed; NULL: so does `make`. */
    Status (*make_again)(Call *call, const void *context, Resource **ret_resource);
    const void *context;
} ContainerEntry;

MUST_USE Status container_obtain(
    Call *call, ResourceContainer *container, const ContainerEntry *entry, Resource **ret_resource);

/* TensorFlow's containers: the one that a resource of this name is in stands before its first ';', and a name
 * without one is in the default container, DEFAULT_CONTAINER. */
extern const char DEFAULT_CONTAINER[];

/* Removes all that is in these containers; how many that were. Handles keep what they hold. */
size_t container_reset(ResourceContainer *container, const Slice *names, size_t count);

/* Forgets the name, unless it stands for something else than `resource` or for nothing (false). Handles
 * keep what they hold. */
bool container_remove(ResourceContainer *container, Slice name, const Resource *resource);
