#include "worker/cpu/onednn/primitive.h"

#include <assert.h>
#include <pthread.h>

#include "shared/base/memory.h"
#include "shared/base/mutex.h"

/* The objects that one execution uses alone. */
typedef struct Lane {
    struct Lane *next;
    dnnl_stream_t stream;
    dnnl_memory_t memories[PRIMITIVE_ARGUMENTS_MAX];
    dnnl_memory_t scratch;
} Lane;

struct Primitive {
    dnnl_primitive_desc_t description;
    int arguments[PRIMITIVE_ARGUMENTS_MAX];
    int argument_count;
    size_t scratch_size;
    Mutex lock;
    dnnl_primitive_t primitive; /* made under the lock before the first lane; NULL: it has not run yet */
    Lane *idle;                 /* guarded by `lock` */
};

struct Packed {
    dnnl_memory_t memory; /* shared by all lanes: setting a handle anew would write the padding anew */
    TensorBuffer *buffer;
    dnnl_memory_desc_t layout;
};

/* Declared here for the OpenMP runtime that oneDNN is linked with: clang has no <omp.h> of its own. */
void omp_set_num_threads(int count);

void
onednn_single_thread(void)
{
    static _Thread_local bool is_single;
    if (!is_single) {
        omp_set_num_threads(1);
        is_single = true;
    }
}

static dnnl_engine_t the_engine;
static pthread_once_t engine_once = PTHREAD_ONCE_INIT;

static void
engine_make(void)
{
    /* Bounds what oneDNN remembers of shapes that come no more, some 70 KiB each; it would keep 1,024. What
     * runs again and again is kept by its plan. */
    enum { REMEMBERED_PRIMITIVES = 64 };
    (void)dnnl_set_primitive_cache_capacity(REMEMBERED_PRIMITIVES);
    onednn_single_thread();
    if (dnnl_engine_create(&the_engine, dnnl_cpu, 0) != dnnl_success) {
        the_engine = NULL;
    }
}

dnnl_engine_t
onednn_engine(void)
{
    pthread_once(&engine_once, engine_make);
    onednn_single_thread();
    return the_engine;
}

Status
onednn_status(Call *call, dnnl_status_t status, const char *what)
{
    static const struct {
        dnnl_status_t from;
        Status to;
        const char *text;
    } codes[] = {
        {dnnl_out_of_memory, STATUS_RESOURCE_EXHAUSTED, "out of memory"},
        {dnnl_invalid_arguments, STATUS_INTERNAL, "arguments are invalid"},
        {dnnl_unimplemented, STATUS_UNIMPLEMENTED, "not implemented"},
        {dnnl_runtime_error, STATUS_INTERNAL, "failed while running"},
    };
    if (status == dnnl_success) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        if (codes[i].from == status) {
            return call_fail(call, codes[i].to, "oneDNN, %s: %s", what, codes[i].text);
        }
    }
    return call_fail(call, STATUS_INTERNAL, "oneDNN, %s: code %d", what, (int)status);
}

static void
lane_free(Lane *lane)
{
    for (int i = 0; i < PRIMITIVE_ARGUMENTS_MAX; i++) {
        dnnl_memory_destroy(lane->memories[i]);
    }
    dnnl_memory_destroy(lane->scratch);
    dnnl_stream_destroy(lane->stream);
    memory_free(lane);
}

static dnnl_status_t
lane_make(const Primitive *primitive, Lane *lane)
{
    dnnl_engine_t engine = onednn_engine();
    dnnl_status_t status = dnnl_stream_create(&lane->stream, engine, dnnl_stream_default_flags);
    for (int i = 0; i < primitive->argument_count && status == dnnl_success; i++) {
        status = dnnl_memory_create(&lane->memories[i], primitive_layout(primitive, primitive->arguments[i]),
            engine, DNNL_MEMORY_NONE);
    }
    if (status == dnnl_success && primitive->scratch_size > 0) {
        status = dnnl_memory_create(
            &lane->scratch, primitive_layout(primitive, DNNL_ARG_SCRATCHPAD), engine, DNNL_MEMORY_NONE);
    }
    return status;
}

static dnnl_status_t
lane_new(const Primitive *primitive, Lane **ret_lane)
{
    Lane *lane = memory_new(1, sizeof *lane);
    if (lane == NULL) {
        return dnnl_out_of_memory;
    }
    dnnl_status_t status = lane_make(primitive, lane);
    if (status != dnnl_success) {
        lane_free(lane);
        return status;
    }
    *ret_lane = lane;
    return dnnl_success;
}

static dnnl_status_t
lane_take(Primitive *primitive, Lane **ret_lane)
{
    dnnl_status_t status = dnnl_success;
    mutex_lock(&primitive->lock);
    Lane *lane = primitive->idle;
    if (lane != NULL) {
        primitive->idle = lane->next;
    } else if (primitive->primitive == NULL) {
        status = dnnl_primitive_create(&primitive->primitive, primitive->description);
    }
    mutex_unlock(&primitive->lock);
    *ret_lane = lane;
    return lane != NULL || status != dnnl_success ? status : lane_new(primitive, ret_lane);
}

static void
lane_put(Primitive *primitive, Lane *lane)
{
    mutex_lock(&primitive->lock);
    lane->next = primitive->idle;
    primitive->idle = lane;
    mutex_unlock(&primitive->lock);
}

static Status
primitive_describe(Call *call, const PrimitiveOptions *options, Primitive *primitive)
{
    dnnl_primitive_attr_t attributes = options->attributes;
    dnnl_status_t status = attributes == NULL ? dnnl_primitive_attr_create(&attributes) : dnnl_success;
    if (status == dnnl_success) {
        status = dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
    }
    if (status == dnnl_success) {
        status = dnnl_primitive_desc_create(
            &primitive->description, options->operation, attributes, onednn_engine(), NULL);
    }
    if (options->attributes == NULL) {
        dnnl_primitive_attr_destroy(attributes);
    }
    return onednn_status(call, status, "a primitive");
}

Status
primitive_new(Call *call, const PrimitiveOptions *options, Primitive **ret_primitive)
{
    Primitive *primitive = memory_new(1, sizeof *primitive);
    if (primitive == NULL) {
        return call_fail_memory(call, "a oneDNN primitive");
    }
    mutex_init(&primitive->lock);
    primitive->argument_count = options->argument_count;
    memcpy(primitive->arguments, options->arguments, sizeof primitive->arguments);
    Status status = primitive_describe(call, options, primitive);
    if (status != STATUS_OK) {
        primitive_free(primitive);
        return status;
    }
    primitive->scratch_size = dnnl_memory_desc_get_size(primitive_layout(primitive, DNNL_ARG_SCRATCHPAD));
    *ret_primitive = primitive;
    return STATUS_OK;
}

void
primitive_free(Primitive *primitive)
{
    if (primitive == NULL) {
        return;
    }
    while (primitive->idle != NULL) {
        Lane *lane = primitive->idle;
        primitive->idle = lane->next;
        lane_free(lane);
    }
    dnnl_primitive_destroy(primitive->primitive);
    dnnl_primitive_desc_destroy(primitive->description);
    mutex_done(&primitive->lock);
    memory_free(primitive);
}

bool
primitive_is_slow(const Primitive *primitive)
{
    const char *name = NULL;
    return dnnl_primitive_desc_query(primitive->description, dnnl_query_impl_info_str, 0, (void *)&name) ==
               dnnl_success &&
           slice_starts_with(slice_from_string(name), SLICE("ref"));
}

size_t
primitive_scratch(const Primitive *primitive)
{
    return primitive->scratch_size;
}

const dnnl_memory_desc_t *
primitive_layout(const Primitive *primitive, int argument)
{
    assert(primitive != NULL);
    return dnnl_primitive_desc_query_md(primitive->description, dnnl_query_exec_arg_md, argument);
}

static dnnl_status_t
lane_run(const Primitive *primitive, Lane *lane, const PrimitiveData *data, void *scratch)
{
    dnnl_exec_arg_t arguments[PRIMITIVE_ARGUMENTS_MAX + 1];
    dnnl_status_t status = dnnl_success;
    int count = 0;
    for (; count < primitive->argument_count && status == dnnl_success; count++) {
        bool is_packed = data[count].packed != NULL;
        if (!is_packed) {
            status = dnnl_memory_set_data_handle(lane->memories[count], without_const(data[count].data));
        }
        arguments[count] = (dnnl_exec_arg_t){.arg = primitive->arguments[count],
            .memory = is_packed ? data[count].packed->memory : lane->memories[count]};
    }
    if (status == dnnl_success && scratch != NULL) {
        status = dnnl_memory_set_data_handle(lane->scratch, scratch);
        arguments[count++] = (dnnl_exec_arg_t){.arg = DNNL_ARG_SCRATCHPAD, .memory = lane->scratch};
    }
    if (status == dnnl_success) {
        status = dnnl_primitive_execute(primitive->primitive, lane->stream, count, arguments);
    }
    return status == dnnl_success ? dnnl_stream_wait(lane->stream) : status;
}

dnnl_status_t
primitive_run(Primitive *primitive, Device *device, const PrimitiveData *data)
{
    assert(primitive != NULL && device != NULL && data != NULL);
    TensorBuffer *scratch = NULL;
    onednn_single_thread();
    if (primitive->scratch_size > 0) {
        scratch = device->allocate(device, primitive->scratch_size);
        if (scratch == NULL) {
            return dnnl_out_of_memory;
        }
    }
    Lane *lane = NULL;
    dnnl_status_t status = lane_take(primitive, &lane);
    if (status == dnnl_success) {
        status = lane_run(primitive, lane, data, scratch == NULL ? NULL : scratch->data);
        lane_put(primitive, lane);
    }
    tensor_buffer_unref(scratch);
    return status;
}

static dnnl_status_t
reorder_bytes(const dnnl_memory_desc_t *from, dnnl_memory_t source, const dnnl_memory_desc_t *to,
    dnnl_memory_t destination)
{
    dnnl_engine_t engine = onednn_engine();
    dnnl_primitive_desc_t description = NULL;
    dnnl_primitive_t primitive = NULL;
    dnnl_stream_t stream = NULL;
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&description, from, engine, to, engine, NULL);
    if (status == dnnl_success) {
        status = dnnl_primitive_create(&primitive, description);
    }
    if (status == dnnl_success) {
        status = dnnl_stream_create(&stream, engine, dnnl_stream_default_flags);
    }
    if (status == dnnl_success) {
        const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, destination}};
        status = dnnl_primitive_execute(primitive, stream, 2, arguments);
    }
    if (status == dnnl_success) {
        status = dnnl_stream_wait(stream);
    }
    dnnl_stream_destroy(stream);
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(description);
    return status;
}

static dnnl_status_t
packed_fill(Packed *packed, const dnnl_memory_desc_t *from, const void *data)
{
    dnnl_engine_t engine = onednn_engine();
    dnnl_memory_t source = NULL;
    dnnl_status_t status = dnnl_memory_create(&source, from, engine, without_const(data));
    if (status == dnnl_success) {
        status = dnnl_memory_create(&packed->memory, &packed->layout, engine, packed->buffer->data);
    }
    if (status == dnnl_success) {
        status = reorder_bytes(from, source, &packed->layout, packed->memory);
    }
    dnnl_memory_destroy(source);
    return status;
}

Status
packed_new(Call *call, Device *device, const dnnl_memory_desc_t *from, const void *data,
    const dnnl_memory_desc_t *to, Packed **ret_packed)
{
    assert(from != NULL && to != NULL && data != NULL);
    size_t size = dnnl_memory_desc_get_size(to);
    Packed *packed = memory_new(1, sizeof *packed);
    if (packed == NULL) {
        return call_fail_memory(call, "packed weights");
    }
    packed->layout = *to;
    packed->buffer = device->allocate(device, size);
    Status status = packed->buffer == NULL
                        ? call_fail(call, STATUS_RESOURCE_EXHAUSTED, "packed weights need %zu bytes", size)
                        : onednn_status(call, packed_fill(packed, from, data), "a reorder");
    if (status != STATUS_OK) {
        packed_free(packed);
        return status;
    }
    *ret_packed = packed;
    return STATUS_OK;
}

Status
packed_new_shared(Call *call, Device *device, const dnnl_memory_desc_t *from, const void *data,
    const dnnl_memory_desc_t *to, Packed **ret_packed)
{
    MemoryAccount *before = device->charge(device, NULL);
    Status status = packed_new(call, device, from, data, to, ret_packed);
    (void)device->charge(device, before);
    return status;
}

void
packed_free(Packed *packed)
{
    if (packed != NULL) {
        dnnl_memory_destroy(packed->memory);
        tensor_buffer_unref(packed->buffer);
        memory_free(packed);
    }
}

const dnnl_memory_desc_t *
packed_layout(const Packed *packed)
{
    return &packed->layout;
}
