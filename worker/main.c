/* sluice-worker: reads the settings, makes the CPU device, opens the accelerator if there is one, and serves
 * them.
 *
 *     sluice-worker            serves
 *     sluice-worker probe      asks the worker that listens there how it is; fails unless it serves
 *     sluice-worker config     prints the effective settings and where each comes from */
#include "shared/base/text.h"
#include "shared/net/socket.h"
#include "shared/program/program.h"
#include "shared/wire/labels.h"
#include "worker/accelerator/accelerator.h"
#include "worker/cpu/device.h"
#include "worker/membership/membership.h"
#include "worker/serve/probe.h"
#include "worker/serve/server.h"
#include "worker/serve/settings.h"

/* For how long after it has announced its end a worker takes steps of gateways that have not heard of it. */
enum { ANNOUNCE_MS = 250 };

/* What a signal is to end. */
typedef struct Service {
    Worker *worker;
    Membership *membership; /* NULL: gateways find the worker by themselves */
} Service;

static void
run_worker(void *service)
{
    worker_run(((const Service *)service)->worker);
}

static void
announce_end(void *service)
{
    membership_announce(((const Service *)service)->membership);
}

static void
stop_worker(void *service, uint32_t grace_ms)
{
    worker_stop(((const Service *)service)->worker, grace_ms);
}

static const char *
find_worker_fault(void *service)
{
    return worker_fault(((const Service *)service)->worker);
}

/* Returns an address with brackets around a host of IPv6, which a template that puts a port behind a pod's
 * address leaves out: "fd00::7:8471" is "[fd00::7]:8471". NULL without memory. */
static const char *
bracket_host(Arena *arena, const char *address)
{
    Slice text = slice_from_string(address);
    size_t colon = slice_find_last(text, ':');
    Slice host = slice_part(text, 0, colon);
    bool is_bare = slice_find(host, ':') < host.size && host.data[0] != '[';
    return is_bare ? text_format(arena, "[%.*s]%s", SLICE_PRINT(host), address + colon) : address;
}

/* Nobody can dial an address that stands for all of a machine's. */
static Status
find_address(Call *call, const Config *config, const Worker *worker, const char **ret_address)
{
    const char *advertised = config_string(config, "advertise");
    *ret_address = bracket_host(call->arena, advertised == NULL ? worker->address : advertised);
    if (*ret_address == NULL) {
        return call_fail_memory(call, "the worker's address");
    }
    return !address_is_any(*ret_address)
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "a worker that joins by --gateway tells where it is: '%s' is no address that others can "
                     "connect to, --advertise names one",
                     *ret_address);
}

/* Begins to join, if gateways are named. */
static Status
join_pool(Call *call, const Config *config, Service *service)
{
    const Worker *worker = service->worker;
    MembershipOptions options = {
        .token = config_secret(config, "token"),
        .name = worker->name,
        .incarnation = worker->incarnation,
        .versions = worker->options.versions,
    };
    options.gateway_count = config_list(config, "gateway", &options.gateways);
    if (options.gateway_count == 0) {
        return STATUS_OK;
    }
    TRY(find_address(call, config, worker, &options.address));
    return membership_new(call, &options, &service->membership);
}

/* Serves as a member of the pool; leaves it when all steps have ended. */
static Status
serve_pool(Call *call, const Config *config, Worker *worker)
{
    Service service = {.worker = worker};
    TRY(join_pool(call, config, &service));
    ProgramServer server = {
        .context = &service,
        .address = worker->address,
        .announce_ms = service.membership == NULL ? 0 : ANNOUNCE_MS,
        .announce = announce_end,
        .grace_ms = (uint32_t)config_integer(config, "grace"),
        .run = run_worker,
        .stop = stop_worker,
        .fault = find_worker_fault,
    };
    Status status = program_serve(call, &server);
    membership_free(service.membership);
    return status;
}

static Status
find_labels(Call *call, const Config *config, Slice *ret_labels)
{
    const char *labels = config_string(config, "labels");
    TRY(labels_drop_empty(call, slice_from_string(labels == NULL ? "" : labels), ret_labels));
    return labels_check(call, *ret_labels);
}

static Status
serve_worker(Call *call, const Config *config, Device *host, const Accelerator *accelerator)
{
    Worker *worker = NULL;
    Slice labels;
    WireVersions versions;
    TRY(find_labels(call, config, &labels));
    TRY(wire_versions_choose(call, slice_from_string(config_string(config, "protocols")), &versions));
    WorkerOptions options = {
        .versions = versions,
        .listen = config_string(config, "listen"),
        .name = config_string(config, "name"),
        .token = config_secret(config, "token"),
        .labels = labels,
        .loop_count = (int)config_integer(config, "loops"),
        .tensor_size_max = (size_t)config_integer(config, "tensor-size-max"),
        .step_memory = (uint64_t)config_integer(config, "step-memory"),
        .slot_count = (int)config_integer(config, "slots"),
        .partition_cache_size = (size_t)config_integer(config, "partition-cache"),
        .blob_cache_size = (size_t)config_integer(config, "blob-cache"),
        .blob_folder = config_string(config, "blob-folder"),
        .blob_folder_size = (uint64_t)config_integer(config, "blob-folder-size"),
        .accelerator = accelerator->opened.device == NULL ? NULL : &accelerator->opened,
        .accelerator_absence = accelerator->opened.device == NULL ? accelerator->reason : NULL,
        .captured_max = (uint32_t)config_integer(config, "cuda-graphs"),
        .grace_ms = (uint32_t)config_integer(config, "grace"),
    };
    TRY(worker_open(call, &options, host, &worker));
    Status status = serve_pool(call, config, worker);
    worker_close(worker);
    return status;
}

static Status
serve_devices(Call *call, const Config *config, const AcceleratorOptions *options, Device *host)
{
    Accelerator accelerator;
    TRY(accelerator_open(call, options, host, &accelerator));
    Status status = serve_worker(call, config, host, &accelerator);
    accelerator_close(&accelerator);
    return status;
}

/* Whoever reaches a worker without a token may run anything and drop the variables of all sessions. */
static Status
check_listen(Call *call, const Config *config)
{
    const char *listen = config_string(config, "listen");
    return config_secret(config, "token") != NULL || address_is_loopback(listen)
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "a worker without --token-file is refused on '%s': it is no loopback address", listen);
}

static Status
serve(Call *call, const Config *config)
{
    AcceleratorOptions accelerator;
    Device *host = NULL;
    Slice labels; /* wrong ones are refused before a device is opened */
    TRY(check_listen(call, config));
    TRY(find_labels(call, config, &labels));
    CpuDeviceOptions cpu = {
        .thread_count = (int)config_integer(config, "threads"),
        .memory_limit = (uint64_t)config_integer(config, "memory"),
    };
    TRY(accelerator_read(call, config, &accelerator));
    TRY(cpu_device_new(call, &cpu, &host));
    Status status = serve_devices(call, config, &accelerator, host);
    cpu_device_free(host);
    return status;
}

static Status
probe(Call *call, const Config *config)
{
    return worker_probe(call, config_string(config, "listen"), config_secret(config, "token"));
}

int
main(int argc, char **argv)
{
    static const ProgramCommand commands[] = {{"probe", probe}};
    static const Program program = {
        .name = "sluice-worker",
        .settings = &worker_settings,
        .serve = serve,
        .commands = commands,
        .command_count = COUNT_OF(commands),
    };
    return program_main(&program, argc, argv);
}
