#include "worker/serve/settings.h"

#include "worker/serve/worker.h"

static const SettingDefinition definitions[] = {
    {.name = "listen",
        .type = SETTING_STRING,
        .default_value = "127.0.0.1:8471",
        .meaning = "address that gateways and other workers connect to; port 0 lets the kernel choose"},
    {.name = "name",
        .type = SETTING_STRING,
        .meaning = "name of this worker, unique in its pool and kept over restarts; default: its address"},
    {.name = "gateway",
        .type = SETTING_LIST,
        .default_value = "",
        .meaning = "URLs of gateways, http://host:port, whose pool this worker joins by itself, separated by "
                   "commas; any of them will do; default: it is on their lists, or nowhere"},
    {.name = "advertise",
        .type = SETTING_STRING,
        .meaning =
            "address under which it joins, numbers and a port, for gateways and workers to connect to; "
            "default: `listen`"},
    {.name = "labels",
        .type = SETTING_STRING,
        .meaning =
            "what sessions may ask of their workers (`worker_labels`): key=value, separated by commas, such "
            "as zone=a,gpu=h100; one with an empty value says nothing"},
    {.name = "protocols",
        .type = SETTING_STRING,
        .default_value = "1-2",
        .meaning = "versions of the worker protocol that are spoken: those of this release, 1-2, or one of "
                   "them, to go back to the release before"},
    {.name = "token",
        .type = SETTING_SECRET,
        .meaning = "shared secret that gateways and workers show each other"},
    {.name = "loops",
        .type = SETTING_INTEGER,
        .default_value = "1",
        .unit = "threads",
        .minimum = 1,
        .maximum = WORKER_LOOP_COUNT_MAX,
        .meaning = "event loops that serve connections"},
    {.name = "threads",
        .type = SETTING_INTEGER,
        .default_value = "0",
        .unit = "threads",
        .maximum = 1024,
        .meaning = "threads that run kernels; 0: one a core that affinity and CPU quota allow"},
    {.name = "slots",
        .type = SETTING_INTEGER,
        .default_value = "0",
        .unit = "steps",
        .maximum = 4096,
        .meaning =
            "steps that gateways let it compute at a time, small ones counting in parts; 0: one a thread"},
    {.name = "memory",
        .type = SETTING_BYTES,
        .default_value = "0",
        .meaning = "memory for tensors; 0: three quarters of the machine's, or of the container's limit"},
    {.name = "step-memory",
        .type = SETTING_BYTES,
        .default_value = "0",
        .meaning =
            "tensors that one step may hold at once; a step that is planned to take more is refused; 0: no "
            "limit"},
    {.name = "tensor-size-max",
        .type = SETTING_BYTES,
        .default_value = "2GiB",
        .minimum = 1024,
        .maximum = (int64_t)1 << 40,
        .meaning = "largest tensor that is taken from a connection"},
    {.name = "partition-cache",
        .type = SETTING_BYTES,
        .default_value = "0",
        .meaning =
            "memory for registered partitions without their large constants, half of it at most for "
            "what one makes of constants; the least used are forgotten first; 0: a quarter of `memory`"},
    {.name = "blob-cache",
        .type = SETTING_BYTES,
        .default_value = "0",
        .meaning = "memory for large constants; those that no partition uses are forgotten first; 0: three "
                   "quarters of `memory`"},
    {.name = "blob-folder",
        .type = SETTING_STRING,
        .meaning =
            "folder for large constants, which the workers of a host may share and which outlives them; "
            "default: they are in memory only"},
    {.name = "blob-folder-size",
        .type = SETTING_BYTES,
        .default_value = "0",
        .meaning = "size of the blob folder; the least used files are removed first; 0: half of its disk"},
    {.name = "cuda",
        .type = SETTING_CHOICE,
        .choices = "auto|off|required",
        .default_value = "auto",
        .meaning = "whether a GPU of NVIDIA's computes, too: if there is one, never, or the worker does not "
                   "start without one"},
    {.name = "cuda-device",
        .type = SETTING_STRING,
        .meaning = "which GPU: its index as nvidia-smi shows it, or the UUID of a GPU (GPU-…) or of a MIG "
                   "device (MIG-…); default: the first"},
    {.name = "cuda-memory",
        .type = SETTING_STRING,
        .default_value = "90%",
        .meaning = "memory of the GPU for tensors: bytes (20GiB), or a share of what is free at start"},
    {.name = "cuda-tenant-memory",
        .type = SETTING_STRING,
        .default_value = "100%",
        .meaning =
            "memory of the GPU that one tenant may hold, its weights and variables included: bytes, or "
            "a share of `cuda-memory`"},
    {.name = "cuda-pinned",
        .type = SETTING_BYTES,
        .default_value = "256MiB",
        .minimum = 1 << 20,
        .maximum = (int64_t)1 << 40,
        .meaning = "memory of the host through which copies to and from the GPU pass"},
    {.name = "cuda-graphs",
        .type = SETTING_INTEGER,
        .default_value = "32",
        .minimum = 0,
        .maximum = 1024,
        .meaning =
            "parts of graphs that are kept as CUDA graphs, each launched at once when it runs again with "
            "tensors of the same shapes; 0: none"},
    {.name = "cuda-libraries",
        .type = SETTING_LIST,
        .meaning = "folders in which cuBLAS, cuDNN and NVRTC are looked for first"},
    {.name = "cuda-tf32",
        .type = SETTING_BOOLEAN,
        .default_value = "true",
        .meaning =
            "products and convolutions of float32 are computed in TF32 on the GPU for sessions that ask "
            "for it (`allow_tf32`), and for no others; false: for none"},
    {.name = "cuda-fusion",
        .type = SETTING_BOOLEAN,
        .default_value = "true",
        .meaning = "chains of element-wise nodes on the GPU are computed by kernels that NVRTC compiles for "
                   "them; the bits "
                   "are the same"},
    {.name = "cuda-cache",
        .type = SETTING_STRING,
        .meaning = "folder in which these kernels are kept for the next start; default: in memory only"},
    {.name = "cuda-plugin",
        .type = SETTING_STRING,
        .meaning = "path of the plugin for GPUs; default: sluice-cuda.so beside the program, or in "
                   "../lib/sluice from there"},
    {.name = "grace",
        .type = SETTING_DURATION,
        .default_value = "10s",
        .meaning = "how long running steps may go on after SIGTERM"},
};

const ConfigTable worker_settings = {.definitions = definitions, .count = COUNT_OF(definitions)};
