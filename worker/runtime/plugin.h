/* Opens accelerators from plugins: shared objects that bring a type of device and its kernels. No program
 * needs a plugin, or the libraries of its vendor, to start.
 *
 * A plugin is built with the worker, from one tree: its interface is that of the worker's own headers, and
 * it is refused when it was built from others.
 *
 * Ownership: a PluginDevice is the caller's, until plugin_close().
 * Threads:   the one that starts and ends the program.
 * Errors:    FAILED_PRECONDITION: the file is no plugin of this build, or serves no card like this;
 *            UNAVAILABLE: there is no such device here. The message says why in a user's words. */
#pragma once

#include "worker/runtime/kernel.h"

/* Identifies the headers that a plugin and a worker are built from: they must be equal. */
typedef struct PluginBuild {
    uint32_t version; /* PLUGIN_VERSION */
    uint32_t tensor_size;
    uint32_t kernel_size;
    uint32_t kernel_context_size;
    uint32_t device_size;
} PluginBuild;

enum { PLUGIN_VERSION = 5 };

#define PLUGIN_BUILD                                                                                         \
    {                                                                                                        \
        PLUGIN_VERSION, sizeof(Tensor), sizeof(Kernel), sizeof(KernelContext), sizeof(Device)                \
    }

typedef struct PluginOptions {
    Device *host;           /* its threads run what follows a copy or a fence */
    const char *device;     /* which card: an index, or a UUID; "": the first */
    uint64_t memory;        /* bytes of the card that may be used; 0: memory_percent says it */
    int memory_percent;     /* of the card's free memory; 0: 90 */
    uint64_t tenant_memory; /* bytes of the card that one tenant may hold; 0: tenant_percent says it */
    int tenant_percent;     /* of the card's memory that may be used; 0: 100 */
    uint64_t pinned_memory; /* bytes of the host's memory through which copies pass */
    const char
        *libraries;   /* folders in which the vendor's libraries are looked for first, with ':' between */
    bool allows_tf32; /* float32 is multiplied in TF32 for partitions that allow it */
    bool fuses;       /* kernels are made for groups of element-wise nodes */
    const char *code_folder; /* in which these are kept; NULL: nowhere */
} PluginOptions;

/* A library of the vendor's, as a user sees it. */
typedef struct PluginLibrary {
    const char *name;    /* "cuDNN" */
    const char *version; /* "9.19.0"; NULL: it was not found */
    const char *reason;  /* why it is not used; NULL: it is */
} PluginLibrary;

typedef struct PluginDevice {
    Device *device;
    const char *card;   /* the card's name, as its vendor writes it */
    const char *driver; /* version */
    const PluginLibrary *libraries;
    size_t library_count;
} PluginDevice;

typedef struct Plugin {
    PluginBuild build;
    const char *type; /* of its devices: "GPU" */
    const KernelFamily *const *families;
    size_t family_count;
    Status (*open)(Call *call, const PluginOptions *options, PluginDevice *ret_device);
    void (*close)(PluginDevice *device);
} Plugin;

/* The one symbol that a plugin exports. */
const Plugin *sluice_plugin(void);

/* Loads the plugin of this path, registers its kernels and opens its device. UNAVAILABLE. */
MUST_USE Status plugin_open(
    Call *call, const char *path, const PluginOptions *options, PluginDevice *ret_device);

/* Closes the device, on which no work and no buffer may be left. Its kernels are forgotten. */
void plugin_close(PluginDevice *device);
