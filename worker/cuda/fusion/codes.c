/* Happy path of a code: 1. a group asks for it, and it waits in a queue; 2. a thread writes its source, and
 * finds the code in the folder, or compiles it and keeps it there; 3. each of its functions is compared,
 * once; 4. it is ready: runs launch it from now on; 5. when nothing is left in the queue, what was captured
 * without it is captured anew.
 *
 * Failures: a code that fails stays so for as long as it is known; its group is computed node by node. */
#include "worker/cuda/fusion/codes.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/telemetry/log.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/fusion/cache.h"
#include "worker/cuda/fusion/check.h"
#include "worker/cuda/fusion/compile.h"

enum {
    THREADS = 2,
    CODES_MAX = 1024,
    ARCHITECTURE_SIZE = 16,
    NAME_SIZE = SHA256_HEX_SIZE + 16,
};

typedef enum CodeState { CODE_WAITS, CODE_IS_READY, CODE_HAS_FAILED } CodeState;

struct CudaCode {
    CudaCode *next;         /* of all */
    CudaCode *next_waiting; /* in the queue */
    FusionGroup group;
    int users; /* atomic; grows under the lock */
    int state; /* atomic: a CodeState; written by the thread that makes the code */
    cudaLibrary_t library;
    cudaKernel_t kernel;
};

typedef enum FunctionState { FUNCTION_IS_NEW, FUNCTION_IS_EQUAL, FUNCTION_DIFFERS } FunctionState;

struct CudaCodes {
    CudaCodesOptions options;
    char architecture[ARCHITECTURE_SIZE];
    FusionCache cache;
    Mutex lock;
    Condition changed;
    CudaCode *first;
    size_t count;
    CudaCode *waiting;
    CudaCode **waiting_end;
    pthread_t threads[THREADS];
    int thread_count;
    int busy_count;
    bool is_ending;
    bool is_off; /* atomic: a function differs */

    Mutex check_lock; /* of what follows */
    FusionCheck check;
    char functions[CUDA_MAP_COUNT][CUDA_TYPE_COUNT]; /* FunctionState */
};

/* What the folder keeps of a comparison. */
#define EQUAL "equal\n"
#define DIFFERENT "different\n"

static CudaCodes *used;

void
cuda_codes_use(CudaCodes *codes)
{
    used = codes;
}

CudaCodes *
cuda_codes(void)
{
    return used;
}

/* Reads the code of a source from the folder, or compiles it and writes it there. */
static Status
find_binary(Call *call, const CudaCodes *codes, Buffer *source, Buffer *ret_binary)
{
    char key[SHA256_HEX_SIZE];
    char name[NAME_SIZE];
    const char *text = buffer_string(source);
    if (text == NULL) {
        return call_fail_memory(call, "the source of a kernel");
    }
    fusion_key(codes->options.nvrtc, text, codes->architecture, key);
    (void)snprintf(name, sizeof name, "%s.cubin", key);
    if (fusion_cache_read(&codes->cache, name, ret_binary)) {
        atomic_add_relaxed(&codes->options.counts->code[DEVICE_CODE_FOUND], 1);
        return STATUS_OK;
    }
    TRY(fusion_compile(call, codes->options.nvrtc, text, codes->architecture, ret_binary));
    atomic_add_relaxed(&codes->options.counts->code[DEVICE_CODE_COMPILED], 1);
    fusion_cache_write(&codes->cache, name, buffer_slice(ret_binary));
    return STATUS_OK;
}

static Status
load(Call *call, const CudaCodes *codes, Buffer *source, cudaLibrary_t *ret_library)
{
    AUTO_BUFFER binary = {0};
    TRY(find_binary(call, codes, source, &binary));
    int error = (int)cudaLibraryLoadData(ret_library, binary.data, NULL, NULL, 0, NULL, NULL, 0);
    return cuda_check(call, error, "loading a fused kernel");
}

/* Writes the name under which the folder keeps what a comparison said: of a function, a type, and all that
 * the key of a source is made of. */
static void
name_verdict(const CudaCodes *codes, const FusionStep *step, char ret_name[NAME_SIZE])
{
    char what[NAME_SIZE];
    char key[SHA256_HEX_SIZE];
    (void)snprintf(what, sizeof what, "%s %d", fusion_function_name(step->function), (int)step->type);
    fusion_key(codes->options.nvrtc, what, codes->architecture, key);
    (void)snprintf(ret_name, NAME_SIZE, "%s.checked", key);
}

static void
note_verdict(CudaCodes *codes, const FusionStep *step, bool is_equal)
{
    codes->functions[step->function][step->type] = is_equal ? FUNCTION_IS_EQUAL : FUNCTION_DIFFERS;
    if (!is_equal) {
        atomic_store_release(&codes->is_off, true);
        log_event(LOG_ERROR,
            "a function that NVRTC compiled has other bits than the plugin's own: nothing is fused on the "
            "card",
            log_text("function", fusion_function_name(step->function)), log_integer("type", step->type));
    }
}

static void
read_verdict(CudaCodes *codes, const FusionStep *step)
{
    AUTO_BUFFER kept = {0};
    char name[NAME_SIZE];
    name_verdict(codes, step, name);
    if (fusion_cache_read(&codes->cache, name, &kept)) {
        note_verdict(codes, step, slice_equal(buffer_slice(&kept), SLICE(EQUAL)));
    }
}

static Status
compare_function(Call *call, CudaCodes *codes, const FusionStep *step, cudaLibrary_t library, uint32_t index)
{
    char name[NAME_SIZE];
    cudaKernel_t kernel = NULL;
    bool is_equal = false;
    fusion_name_alone(index, name);
    TRY(cuda_check(call, (int)cudaLibraryGetKernel(&kernel, library, name), "finding a fused function"));
    TRY(fusion_check(call, &codes->check, step->function, step->type, kernel, &is_equal));
    note_verdict(codes, step, is_equal);
    name_verdict(codes, step, name);
    fusion_cache_write(&codes->cache, name, is_equal ? SLICE(EQUAL) : SLICE(DIFFERENT));
    return STATUS_OK;
}

/* Compares functions whose kernels are compiled together. */
static Status
compare_functions(Call *call, CudaCodes *codes, const FusionStep *steps, uint32_t count)
{
    AUTO_BUFFER source = {0};
    cudaLibrary_t library = NULL;
    fusion_write_alone(steps, count, &source);
    TRY(load(call, codes, &source, &library));
    Status status = STATUS_OK;
    for (uint32_t index = 0; index < count && status == STATUS_OK; index++) {
        status = compare_function(call, codes, &steps[index], library, index);
    }
    (void)cudaLibraryUnload(library);
    return status;
}

static bool
is_among(const FusionStep *steps, uint32_t count, const FusionStep *step)
{
    for (uint32_t index = 0; index < count; index++) {
        if (steps[index].function == step->function && steps[index].type == step->type) {
            return true;
        }
    }
    return false;
}

/* Has the functions of a group compared that have not been yet. Under the lock of comparisons. */
static Status
check_functions(Call *call, CudaCodes *codes, const FusionGroup *group)
{
    FusionStep unknown[CUDA_FUSED_STEPS_MAX];
    uint32_t count = 0;
    for (uint32_t index = 0; index < group->step_count; index++) {
        const FusionStep *step = &group->steps[index];
        if (!fusion_is_compared(step->function)) {
            continue;
        }
        const char *state = &codes->functions[step->function][step->type];
        if (*state == FUNCTION_IS_NEW) {
            read_verdict(codes, step);
        }
        if (*state == FUNCTION_IS_NEW && !is_among(unknown, count, step)) {
            unknown[count++] = *step;
        }
    }
    return count == 0 ? STATUS_OK : compare_functions(call, codes, unknown, count);
}

static Status
make(Call *call, CudaCodes *codes, CudaCode *code)
{
    AUTO_BUFFER source = {0};
    TRY(cuda_check(call, (int)cudaSetDevice(codes->options.lane->card), "choosing the card"));
    mutex_lock(&codes->check_lock);
    Status status = check_functions(call, codes, &code->group);
    mutex_unlock(&codes->check_lock);
    TRY(status);
    fusion_write(&code->group, &source);
    TRY(load(call, codes, &source, &code->library));
    int error = (int)cudaLibraryGetKernel(&code->kernel, code->library, FUSION_KERNEL);
    return cuda_check(call, error, "finding a fused kernel");
}

static void
make_or_fail(CudaCodes *codes, CudaCode *code)
{
    Call call = {0};
    Status status = make(&call, codes, code);
    if (status != STATUS_OK) {
        atomic_add_relaxed(&codes->options.counts->code[DEVICE_CODE_FAILED], 1);
        log_failure(LOG_WARNING, "a fused kernel cannot be made: its nodes are computed one by one", &call);
    }
    atomic_store_release(&code->state, status == STATUS_OK ? CODE_IS_READY : CODE_HAS_FAILED);
}

/* Under the lock. */
static CudaCode *
take_waiting(CudaCodes *codes)
{
    CudaCode *code = codes->waiting;
    codes->waiting = code->next_waiting;
    if (codes->waiting == NULL) {
        codes->waiting_end = &codes->waiting;
    }
    codes->busy_count++;
    return code;
}

/* Under the lock, which is let go of meanwhile. The code counts as held, so that it is not unloaded. */
static void
make_next(CudaCodes *codes)
{
    CudaCode *code = take_waiting(codes);
    mutex_unlock(&codes->lock);
    make_or_fail(codes, code);
    mutex_lock(&codes->lock);
    bool is_last = codes->waiting == NULL && codes->busy_count == 1;
    if (is_last && !codes->is_ending) {
        mutex_unlock(&codes->lock);
        cuda_lane_renew_code(codes->options.lane);
        mutex_lock(&codes->lock);
    }
    codes->busy_count--;
    (void)atomic_sub_acq_rel(&code->users, 1);
    condition_broadcast(&codes->changed);
}

static void *
run_thread(void *context)
{
    CudaCodes *codes = context;
    mutex_lock(&codes->lock);
    while (!codes->is_ending) {
        if (codes->waiting == NULL) {
            condition_wait(&codes->changed, &codes->lock);
        } else {
            make_next(codes);
        }
    }
    mutex_unlock(&codes->lock);
    return NULL;
}

CudaCodes *
cuda_codes_new(const CudaCodesOptions *options)
{
    CudaCodes *codes = memory_new(1, sizeof *codes);
    if (codes == NULL) {
        return NULL;
    }
    codes->options = *options;
    codes->cache.folder = options->folder[0] == '\0' ? NULL : options->folder;
    codes->waiting_end = &codes->waiting;
    (void)snprintf(codes->architecture, sizeof codes->architecture, "%s", options->architecture);
    mutex_init(&codes->lock);
    mutex_init(&codes->check_lock);
    condition_init(&codes->changed);
    return codes;
}

static void
free_code(CudaCode *code)
{
    if (code->library != NULL) {
        (void)cudaLibraryUnload(code->library);
    }
    memory_free(code);
}

void
cuda_codes_free(CudaCodes *codes)
{
    if (codes == NULL) {
        return;
    }
    mutex_lock(&codes->lock);
    codes->is_ending = true;
    condition_broadcast(&codes->changed);
    mutex_unlock(&codes->lock);
    for (int index = 0; index < codes->thread_count; index++) {
        (void)pthread_join(codes->threads[index], NULL);
    }
    while (codes->first != NULL) {
        CudaCode *code = codes->first;
        codes->first = code->next;
        free_code(code);
    }
    fusion_check_done(&codes->check);
    condition_done(&codes->changed);
    mutex_done(&codes->check_lock);
    mutex_done(&codes->lock);
    memory_free(codes);
}

static bool
is_equal(const FusionGroup *left, const FusionGroup *right)
{
    return memcmp(left, right, sizeof *left) == 0;
}

static CudaCode *
find_code(const CudaCodes *codes, const FusionGroup *group)
{
    CudaCode *code = codes->first;
    while (code != NULL && !is_equal(&code->group, group)) {
        code = code->next;
    }
    return code;
}

/* Unloads a code that nobody holds, when all work that may run it has ended. False: all are held. */
static bool
make_room(CudaCodes *codes)
{
    CudaCode **at = &codes->first;
    while (*at != NULL && atomic_load_acquire(&(*at)->users) > 0) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        return false;
    }
    CudaCode *code = *at;
    *at = code->next;
    codes->count--;
    cuda_lane_enter(codes->options.lane);
    cuda_lane_forget_code(codes->options.lane);
    free_code(code);
    int left = cuda_lane_leave(codes->options.lane);
    if (left != cudaSuccess) {
        (void)cuda_failure(left, "unloading a fused kernel", (Slice){0});
    }
    return true;
}

/* Under the lock. */
static bool
start_thread(CudaCodes *codes)
{
    if (codes->thread_count < THREADS &&
        pthread_create(&codes->threads[codes->thread_count], NULL, run_thread, codes) == 0) {
        codes->thread_count++;
    }
    return codes->thread_count > 0;
}

static CudaCode *
add_code(CudaCodes *codes, const FusionGroup *group)
{
    bool has_room = codes->count < CODES_MAX || make_room(codes);
    CudaCode *code = has_room && start_thread(codes) ? memory_new(1, sizeof *code) : NULL;
    if (code == NULL) {
        return NULL;
    }
    code->group = *group;
    code->users = 1; /* the thread that makes it */
    code->next = codes->first;
    codes->first = code;
    codes->count++;
    *codes->waiting_end = code;
    codes->waiting_end = &code->next_waiting;
    condition_broadcast(&codes->changed);
    return code;
}

CudaCode *
cuda_codes_get(CudaCodes *codes, const FusionGroup *group)
{
    assert(group->step_count > 0 && group->step_count <= CUDA_FUSED_STEPS_MAX);
    if (atomic_load_acquire(&codes->is_off)) {
        return NULL;
    }
    mutex_lock(&codes->lock);
    CudaCode *code = find_code(codes, group);
    if (code == NULL) {
        code = add_code(codes, group);
    } else {
        atomic_add_relaxed(&codes->options.counts->code[DEVICE_CODE_FOUND], 1);
    }
    if (code != NULL) {
        reference_count_add(&code->users);
    }
    mutex_unlock(&codes->lock);
    return code;
}

void
cuda_code_unref(CudaCode *code)
{
    int left = atomic_sub_acq_rel(&code->users, 1);
    assert(left >= 0);
}

cudaKernel_t
cuda_code_kernel(const CudaCodes *codes, const CudaCode *code)
{
    bool is_ready = atomic_load_acquire(&code->state) == CODE_IS_READY;
    return is_ready && !atomic_load_acquire(&codes->is_off) ? code->kernel : NULL;
}

bool
cuda_codes_are_idle(CudaCodes *codes)
{
    mutex_lock(&codes->lock);
    bool is_idle = codes->waiting == NULL && codes->busy_count == 0;
    mutex_unlock(&codes->lock);
    return is_idle;
}
