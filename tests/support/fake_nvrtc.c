#include "tests/support/fake_nvrtc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "tests/support/await.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_on_cpu/code.h"

enum { PATH_SIZE = 512, COMMAND_SIZE = 4096, HEADERS_MAX = 16, FILE_MAX = 1 << 24 };

FakeNvrtc fake_nvrtc;

struct _nvrtcProgram {
    char folder[PATH_SIZE];
    char *code; /* a CodeHead and the shared object */
    size_t size;
};

/* The code around a source: how it finds its place in the grid, and how it is run by its one argument. */
static const char before[] = "#include \"tests/support/cuda_on_cpu/language.cuh\"\n"
                             "#define EXPORTED extern \"C\" __attribute__((visibility(\"default\")))\n"
                             "static GridThread **bound_thread;\n"
                             "static GridBlock *bound_block;\n"
                             "#define grid_thread (*bound_thread)\n"
                             "#define grid_block (*bound_block)\n"
                             "#undef __global__\n"
                             "#define __global__ __attribute__((visibility(\"default\")))\n";
static const char after[] = "\nEXPORTED void " CODE_BIND "(GridThread **thread, GridBlock *block)\n"
                            "{ bound_thread = thread; bound_block = block; }\n"
                            "EXPORTED size_t " CODE_SIZE "() { return sizeof(CudaFused); }\n"
                            "EXPORTED void " CODE_RUN "(void *kernel, void *argument)\n"
                            "{ ((void (*)(CudaFused))kernel)(*(CudaFused *)argument); }\n";

bool
fake_nvrtc_can_compile(void)
{
    return system(FAKE_NVRTC_COMPILER " --version >/dev/null 2>&1") == 0;
}

static void
make_folders(char *path)
{
    for (char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, S_IRWXU);
        *at = '/';
    }
}

/* Writes texts one behind the other, with what the test replaces in them. */
static void
write_texts(const char *folder, const char *name, const char *const *texts)
{
    char path[PATH_SIZE * 2];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    make_folders(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (; *texts != NULL; texts++) {
        const char *text = *texts;
        const char *found = fake_nvrtc.replace == NULL ? NULL : strstr(text, fake_nvrtc.replace);
        if (found != NULL) {
            (void)fprintf(file, "%.*s%s", (int)(found - text), text, fake_nvrtc.by);
            text = found + strlen(fake_nvrtc.replace);
        }
        (void)fputs(text, file);
    }
    assert_int_equal(fclose(file), 0);
}

static nvrtcResult
create(nvrtcProgram *program, const char *source, const char *name, int header_count,
    const char *const *headers, const char *const *header_names)
{
    nvrtcProgram made = memory_new(1, sizeof *made);
    assert_non_null(made);
    (void)snprintf(made->folder, sizeof made->folder, "/tmp/fake_nvrtc.XXXXXX");
    assert_non_null(mkdtemp(made->folder));
    assert_non_null(name);
    const char *const texts[] = {before, source, after, NULL};
    write_texts(made->folder, "source.cc", texts);
    for (int index = 0; index < header_count; index++) {
        const char *const header[] = {headers[index], NULL};
        write_texts(made->folder, header_names[index], header);
    }
    *program = made;
    return NVRTC_SUCCESS;
}

static void
read_object(nvrtcProgram program)
{
    char path[PATH_SIZE * 2];
    struct stat facts = {0};
    (void)snprintf(path, sizeof path, "%s/source.so", program->folder);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0 && fstat(file, &facts) == 0);
    CodeHead head = {.magic = CODE_MAGIC, .size = (uint64_t)facts.st_size};
    program->size = sizeof head + head.size;
    program->code = memory_new(program->size, 1);
    assert_non_null(program->code);
    memcpy(program->code, &head, sizeof head);
    assert_int_equal(read(file, program->code + sizeof head, head.size), (ssize_t)head.size);
    (void)close(file);
}

static nvrtcResult
compile(nvrtcProgram program, int option_count, const char *const *options)
{
    char command[COMMAND_SIZE];
    bool has_architecture = false;
    bool fuses_nothing = false;
    (void)atomic_add_relaxed(&fake_nvrtc.compiled, 1);
    for (int index = 0; index < option_count; index++) {
        has_architecture = has_architecture || strcmp(options[index], "--gpu-architecture=sm_90") == 0;
        fuses_nothing = fuses_nothing || strcmp(options[index], "--fmad=false") == 0;
    }
    AWAIT(atomic_load_acquire(&fake_nvrtc.waits) == 0);
    if (atomic_load_acquire(&fake_nvrtc.fails) != 0 || !has_architecture || !fuses_nothing) {
        return NVRTC_ERROR_COMPILATION;
    }
    (void)snprintf(command, sizeof command,
        FAKE_NVRTC_COMPILER " -I%s -I. -shared -o %s/source.so %s/source.cc -lm 2>%s/log", program->folder,
        program->folder, program->folder, program->folder);
    if (system(command) != 0) {
        print_message("the source does not compile: %s/log\n", program->folder);
        return NVRTC_ERROR_COMPILATION;
    }
    read_object(program);
    return NVRTC_SUCCESS;
}

static nvrtcResult
destroy(nvrtcProgram *program)
{
    char command[COMMAND_SIZE];
    bool is_kept = (*program)->code == NULL && atomic_load_acquire(&fake_nvrtc.fails) == 0;
    (void)snprintf(command, sizeof command, "rm -r %s", (*program)->folder);
    assert_int_equal(is_kept ? 0 : system(command), 0);
    memory_free((*program)->code);
    memory_free(*program);
    *program = NULL;
    return NVRTC_SUCCESS;
}

static nvrtcResult
get_code(nvrtcProgram program, char *code)
{
    memcpy(code, program->code, program->size);
    return NVRTC_SUCCESS;
}

static nvrtcResult
get_code_size(nvrtcProgram program, size_t *size)
{
    *size = program->size;
    return NVRTC_SUCCESS;
}

static const char *
error_string(nvrtcResult result)
{
    return result == NVRTC_ERROR_COMPILATION ? "NVRTC_ERROR_COMPILATION" : "another";
}

static const char log_text[] = "source.cc(1): error: the test wants it so";

static nvrtcResult
get_log(nvrtcProgram program, char *log)
{
    (void)program;
    memcpy(log, log_text, sizeof log_text);
    return NVRTC_SUCCESS;
}

static nvrtcResult
get_log_size(nvrtcProgram program, size_t *size)
{
    (void)program;
    *size = sizeof log_text;
    return NVRTC_SUCCESS;
}

static nvrtcResult
version(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return NVRTC_SUCCESS;
}

const CudaNvrtc fake_nvrtc_table = {
    .nvrtcCompileProgram = compile,
    .nvrtcCreateProgram = create,
    .nvrtcDestroyProgram = destroy,
    .nvrtcGetCUBIN = get_code,
    .nvrtcGetCUBINSize = get_code_size,
    .nvrtcGetErrorString = error_string,
    .nvrtcGetProgramLog = get_log,
    .nvrtcGetProgramLogSize = get_log_size,
    .nvrtcVersion = version,
};
