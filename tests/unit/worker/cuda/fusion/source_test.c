/* The source of fused kernels. With CUDA_LIBRARIES, folders of the vendor's libraries with ':' between, NVRTC
 * itself compiles it: that needs no card. */
#include "worker/cuda/fusion/source.h"

#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"
#include "worker/cuda/fusion/compile.h"

static void
add_step(FusionGroup *group, CudaMapFunction function, CudaType type, uint32_t a, uint32_t b, uint32_t c)
{
    group->steps[group->step_count++] =
        (FusionStep){.function = function, .type = type, .operands = {a, b, c}};
}

/* relu(x * y) > y, as a bool. */
static FusionGroup
small_group(CudaType type)
{
    FusionGroup group = {.inputs = {type, type}, .input_count = 2};
    add_step(&group, CUDA_MAP_MULTIPLY, type, 0, 1, 0);
    add_step(&group, CUDA_MAP_RELU, type, 2, 0, 0);
    add_step(&group, CUDA_MAP_GREATER, type, 3, 1, 0);
    return group;
}

static void
a_group_becomes_one_kernel_that_calls_the_functions_of_its_nodes(void **state)
{
    (void)state;
    AUTO_BUFFER source = {0};
    FusionGroup group = small_group(CUDA_FLOAT16);
    fusion_write(&group, &source);
    assert_string_equal(buffer_string(&source),
        "#include \"worker/cuda/fusion/fused.cuh\"\n"
        "\n"
        "extern \"C\" __global__ void\n"
        "sluice_fused(CudaFused fused)\n"
        "{\n"
        "    for (int64_t i = index_first(); i < fused.count; i += index_step()) {\n"
        "        int64_t at[2];\n"
        "        fused_seek<2>(fused, i, at);\n"
        "        __half v0 = fused_input<__half>(fused, 0, at);\n"
        "        __half v1 = fused_input<__half>(fused, 1, at);\n"
        "        __half v2 = fused_step<MULTIPLY_floating, __half, Accumulator<__half>, __half>(fused, 0, "
        "v0, v1, v0);\n"
        "        __half v3 = fused_step<RELU_floating, __half, Accumulator<__half>, __half>(fused, 1, v2, "
        "v2, v2);\n"
        "        uint8_t v4 = fused_step<GREATER_map, __half, Accumulator<__half>, uint8_t>(fused, 2, v3, "
        "v1, v3);\n"
        "        ((uint8_t *)fused.output)[i] = v4;\n"
        "    }\n"
        "}\n");
}

static void
choices_and_conversions_are_written_as_such(void **state)
{
    (void)state;
    AUTO_BUFFER source = {0};
    FusionGroup group = {.inputs = {CUDA_BOOL, CUDA_FLOAT16, CUDA_INT32}, .input_count = 3};
    add_step(&group, CUDA_STEP_CONVERT, CUDA_INT32, 2, 0, 0);
    group.steps[0].becomes = CUDA_FLOAT16;
    add_step(&group, CUDA_STEP_CHOOSE, CUDA_FLOAT16, 0, 1, 3);
    add_step(&group, CUDA_STEP_CONVERT, CUDA_FLOAT16, 4, 0, 0);
    group.steps[2].becomes = CUDA_BOOL;
    fusion_write(&group, &source);
    assert_non_null(strstr(buffer_string(&source),
        "        __half v3 = fused_convert<int32_t, int64_t, __half>(v2, false);\n"
        "        __half v4 = v0 != 0 ? v1 : v3;\n"
        "        uint8_t v5 = fused_convert<__half, double, uint8_t>(v4, true);\n"
        "        ((uint8_t *)fused.output)[i] = v5;\n"));
}

static void
functions_have_forms_for_the_types_of_their_kernels_alone(void **state)
{
    (void)state;
    for (int function = 0; function < CUDA_MAP_COUNT; function++) {
        for (int type = CUDA_BOOL; type < CUDA_TYPE_COUNT; type++) {
            bool has_kernel =
                cuda_map((CudaMapFunction)function, (CudaType)type, NULL, NULL) == (int)cudaSuccess;
            bool is_fused = fusion_inputs((CudaMapFunction)function, (CudaType)type) > 0;
            bool is_special = function >= CUDA_MAP_LOGARITHM_OF_GAMMA;
            if (is_fused != (has_kernel && !is_special)) {
                fail_msg(
                    "function %d of type %d: a kernel: %d, fused: %d", function, type, has_kernel, is_fused);
            }
        }
    }
}

/* Adds every function of the type to groups as large as can be, each of which reads the one before if it can.
 */
static int
compile_all_functions(const CudaNvrtc *nvrtc, CudaType type, const char *architecture)
{
    int compiled = 0;
    int function = 0;
    while (function < CUDA_MAP_COUNT) {
        FusionGroup group = {.inputs = {type, type, type}, .input_count = 3};
        for (; function < CUDA_MAP_COUNT && group.step_count < CUDA_FUSED_STEPS_MAX; function++) {
            if (fusion_inputs((CudaMapFunction)function, type) > 0) {
                add_step(&group, (CudaMapFunction)function, type, 0, 1, 2);
            }
        }
        if (group.step_count > 0) {
            Call call = {0};
            AUTO_BUFFER source = {0};
            AUTO_BUFFER code = {0};
            fusion_write(&group, &source);
            assert_status(
                &call, STATUS_OK, fusion_compile(&call, nvrtc, buffer_string(&source), architecture, &code));
            assert_true(code.size > 4 && memcmp(code.data,
                                             "\x7f"
                                             "ELF",
                                             4) == 0);
            compiled++;
        }
    }
    return compiled;
}

/* Compiles conversions of the type to all others, and a choice. */
static void
compile_conversions(const CudaNvrtc *nvrtc, CudaType type, const char *architecture)
{
    Call call = {0};
    AUTO_BUFFER source = {0};
    AUTO_BUFFER code = {0};
    FusionGroup group = {.inputs = {CUDA_BOOL, type, type}, .input_count = 3};
    for (int other = CUDA_BOOL; other < CUDA_TYPE_COUNT; other++) {
        add_step(&group, CUDA_STEP_CONVERT, type, 1, 0, 0);
        group.steps[group.step_count - 1].becomes = (CudaType)other;
    }
    add_step(&group, CUDA_STEP_CHOOSE, type, 0, 1, 2);
    fusion_write(&group, &source);
    assert_status(
        &call, STATUS_OK, fusion_compile(&call, nvrtc, buffer_string(&source), architecture, &code));
    assert_true(code.size > 0);
}

static const CudaNvrtc *
open_nvrtc(void)
{
    const char *folders = getenv("CUDA_LIBRARIES");
    cuda_libraries_open(folders == NULL ? "" : folders);
    if (cuda_nvrtc() == NULL) {
        print_message("skipped: no NVRTC\n");
    }
    return cuda_nvrtc();
}

static void
nvrtc_compiles_every_function_in_every_type(void **state)
{
    (void)state;
    static const char *const architectures[] = {"sm_75", "sm_80", "sm_90"};
    const CudaNvrtc *nvrtc = open_nvrtc();
    for (size_t index = 0; nvrtc != NULL && index < COUNT_OF(architectures); index++) {
        for (int type = CUDA_BOOL; type < CUDA_TYPE_COUNT; type++) {
            assert_true(compile_all_functions(nvrtc, (CudaType)type, architectures[index]) > 0);
            compile_conversions(nvrtc, (CudaType)type, architectures[index]);
        }
    }
}

static void
what_nvrtc_refuses_is_told_in_its_words(void **state)
{
    (void)state;
    Call call = {0};
    AUTO_BUFFER code = {0};
    const CudaNvrtc *nvrtc = open_nvrtc();
    if (nvrtc == NULL) {
        return;
    }
    assert_status(
        &call, STATUS_INTERNAL, fusion_compile(&call, nvrtc, "float f() { return g; }\n", "sm_90", &code));
    assert_non_null(strstr(call.error.message, "NVRTC: NVRTC_ERROR_COMPILATION: "));
    assert_non_null(strstr(call.error.message, "identifier \"g\" is undefined"));
    assert_int_equal(code.size, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_becomes_one_kernel_that_calls_the_functions_of_its_nodes),
        cmocka_unit_test(choices_and_conversions_are_written_as_such),
        cmocka_unit_test(functions_have_forms_for_the_types_of_their_kernels_alone),
        cmocka_unit_test(nvrtc_compiles_every_function_in_every_type),
        cmocka_unit_test(what_nvrtc_refuses_is_told_in_its_words),
    };
    return cmocka_run_group_tests_name("worker/cuda/fusion/source", tests, NULL, NULL);
}
