/* CUDA_LIBRARIES names folders of the vendor's libraries, with ':' between; they need no card to be opened.
 */
#include "worker/cuda/libraries.h"

#include "tests/support/cmocka_all.h"

static void
every_library_has_a_table_or_a_reason(void **state)
{
    (void)state;
    size_t count = 0;
    const PluginLibrary *libraries = cuda_libraries(&count);
    const void *tables[] = {cuda_nvrtc(), cuda_blas(), cuda_dnn()};
    assert_int_equal(count, COUNT_OF(tables));
    for (size_t index = 0; index < count; index++) {
        assert_non_null(libraries[index].name);
        assert_int_equal(libraries[index].reason == NULL, tables[index] != NULL);
        if (tables[index] != NULL) {
            assert_non_null(libraries[index].version);
        } else {
            print_message("skipped: no %s: %s\n", libraries[index].name, libraries[index].reason);
        }
    }
}

/* cuDNN has no handle without a card, and would end the process without cuBLASLt. */
static void
cudnn_is_used_with_cublaslt_only(void **state)
{
    (void)state;
    const CudaDnn *dnn = cuda_dnn();
    cudnnHandle_t handle = NULL;
    if (dnn == NULL) {
        return;
    }
    assert_non_null(cuda_blas());
    cudnnStatus_t status = dnn->cudnnCreate(&handle);
    if (status == CUDNN_STATUS_SUCCESS) {
        assert_int_equal(dnn->cudnnDestroy(handle), CUDNN_STATUS_SUCCESS);
    } else {
        assert_int_equal(status, CUDNN_STATUS_NOT_INITIALIZED);
    }
}

/* NVRTC opens its builtins by name, which are in no path of the loader's. */
static void
nvrtc_compiles_with_the_builtins_beside_it(void **state)
{
    (void)state;
    const CudaNvrtc *nvrtc = cuda_nvrtc();
    static const char source[] = "__global__ void f(float *x) { *x = expf(*x); }";
    static const char *const options[] = {"--gpu-architecture=sm_90"};
    nvrtcProgram program = NULL;
    if (nvrtc == NULL) {
        return;
    }
    assert_int_equal(nvrtc->nvrtcCreateProgram(&program, source, "f", 0, NULL, NULL), NVRTC_SUCCESS);
    assert_int_equal(nvrtc->nvrtcCompileProgram(program, COUNT_OF(options), options), NVRTC_SUCCESS);
    assert_int_equal(nvrtc->nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
}

static int
open_libraries(void **state)
{
    (void)state;
    const char *folders = getenv("CUDA_LIBRARIES");
    assert_null(cuda_blas());
    cuda_libraries_open(folders == NULL ? "" : folders);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_library_has_a_table_or_a_reason),
        cmocka_unit_test(cudnn_is_used_with_cublaslt_only),
        cmocka_unit_test(nvrtc_compiles_with_the_builtins_beside_it),
    };
    return cmocka_run_group_tests_name("worker/cuda/libraries", tests, open_libraries, NULL);
}
