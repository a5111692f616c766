#include "worker/cuda/fusion/source.h"

#include <assert.h>
#include <stdio.h>

#include "worker/cuda/fusion/texts.h"

/* The lists of functions.h. */
typedef enum FunctionClass {
    CLASS_NONE,
    CLASS_FLOAT,
    CLASS_NUMBER,
    CLASS_REAL,
    CLASS_SHIFT,
    CLASS_FLOAT_TEST,
    CLASS_COMPARISON,
    CLASS_INTEGER,
    CLASS_BOOL,
    CLASS_COUNT
} FunctionClass;

typedef struct FunctionRow {
    const char *name;
    FunctionClass class;
    int inputs;
} FunctionRow;

#define ROW(name, inputs, class) [CUDA_MAP_##name] = {#name, class, inputs},
#define FLOAT_ROW(name, inputs, ...) ROW(name, inputs, CLASS_FLOAT)
#define NUMBER_ROW(name, inputs, ...) ROW(name, inputs, CLASS_NUMBER)
#define REAL_ROW(name, inputs, ...) ROW(name, inputs, CLASS_REAL)
#define SHIFT_ROW(name, inputs, ...) ROW(name, inputs, CLASS_SHIFT)
#define FLOAT_TEST_ROW(name, inputs, ...) ROW(name, inputs, CLASS_FLOAT_TEST)
#define COMPARISON_ROW(name, inputs, ...) ROW(name, inputs, CLASS_COMPARISON)
#define INTEGER_ROW(name, inputs, ...) ROW(name, inputs, CLASS_INTEGER)
#define BOOL_ROW(name, inputs, ...) ROW(name, inputs, CLASS_BOOL)

/* Functions by series are in no class: a loop of hundreds of operations gains nothing. */
static const FunctionRow functions[CUDA_MAP_COUNT] = {CUDA_FLOAT_MAPS(FLOAT_ROW) CUDA_NUMBER_MAPS(NUMBER_ROW)
        CUDA_REAL_MAPS(REAL_ROW) CUDA_SHIFT_MAPS(SHIFT_ROW) CUDA_FLOAT_TESTS(FLOAT_TEST_ROW)
            CUDA_COMPARISONS(COMPARISON_ROW) CUDA_INTEGER_MAPS(INTEGER_ROW) CUDA_BOOL_MAPS(BOOL_ROW)};

typedef enum TypeClass {
    TYPE_NONE,
    TYPE_FLOATING,
    TYPE_SIGNED,
    TYPE_UNSIGNED,
    TYPE_BOOL,
    TYPE_CLASSES
} TypeClass;

typedef struct TypeRow {
    const char *stored;
    TypeClass class;
} TypeRow;

static const TypeRow types[CUDA_TYPE_COUNT] = {
    [CUDA_BOOL] = {"uint8_t", TYPE_BOOL},
    [CUDA_INT8] = {"int8_t", TYPE_SIGNED},
    [CUDA_INT16] = {"int16_t", TYPE_SIGNED},
    [CUDA_INT32] = {"int32_t", TYPE_SIGNED},
    [CUDA_INT64] = {"int64_t", TYPE_SIGNED},
    [CUDA_UINT8] = {"uint8_t", TYPE_UNSIGNED},
    [CUDA_UINT16] = {"uint16_t", TYPE_UNSIGNED},
    [CUDA_UINT32] = {"uint32_t", TYPE_UNSIGNED},
    [CUDA_UINT64] = {"uint64_t", TYPE_UNSIGNED},
    [CUDA_FLOAT16] = {"__half", TYPE_FLOATING},
    [CUDA_BFLOAT16] = {"__nv_bfloat16", TYPE_FLOATING},
    [CUDA_FLOAT32] = {"float", TYPE_FLOATING},
    [CUDA_FLOAT64] = {"double", TYPE_FLOATING},
};

/* How a function of a class is made for types of a class, as elementwise_*.cu make it. */
typedef struct Variant {
    const char *suffix;   /* of the type that is the function; NULL: there is none */
    const char *computed; /* the type of the numbers; NULL: Accumulator<T> */
} Variant;

static const Variant variants[CLASS_COUNT][TYPE_CLASSES] = {
    [CLASS_FLOAT] = {[TYPE_FLOATING] = {"map", NULL}},
    [CLASS_NUMBER] = {[TYPE_FLOATING] = {"floating", NULL},
        [TYPE_SIGNED] = {"integer", "uint64_t"},
        [TYPE_UNSIGNED] = {"integer", "uint64_t"}},
    [CLASS_REAL] = {[TYPE_FLOATING] = {"floating", NULL},
        [TYPE_SIGNED] = {"signed", "int64_t"},
        [TYPE_UNSIGNED] = {"unsigned", "uint64_t"}},
    [CLASS_SHIFT] = {[TYPE_SIGNED] = {"signed", "int64_t"}, [TYPE_UNSIGNED] = {"unsigned", "uint64_t"}},
    [CLASS_FLOAT_TEST] = {[TYPE_FLOATING] = {"map", NULL}},
    [CLASS_COMPARISON] = {[TYPE_FLOATING] = {"map", NULL},
        [TYPE_SIGNED] = {"map", "int64_t"},
        [TYPE_UNSIGNED] = {"map", "uint64_t"},
        [TYPE_BOOL] = {"map", "bool"}},
    [CLASS_INTEGER] = {[TYPE_SIGNED] = {"integer", "uint64_t"}, [TYPE_UNSIGNED] = {"integer", "uint64_t"}},
    [CLASS_BOOL] = {[TYPE_BOOL] = {"map", "bool"}},
};

static const Variant *
variant_of(CudaMapFunction function, CudaType type)
{
    assert(function < CUDA_MAP_COUNT && type < CUDA_TYPE_COUNT);
    return &variants[functions[function].class][types[type].class];
}

bool
fusion_is_compared(CudaMapFunction function)
{
    return function < CUDA_MAP_COUNT;
}

int
fusion_inputs(CudaMapFunction function, CudaType type)
{
    if (!fusion_is_compared(function)) {
        int inputs = function == CUDA_STEP_CHOOSE ? CUDA_MAP_INPUTS_MAX : 1;
        return types[type].stored == NULL ? 0 : inputs;
    }
    return variant_of(function, type)->suffix == NULL ? 0 : functions[function].inputs;
}

CudaType
fusion_result(const FusionStep *step)
{
    if (!fusion_is_compared(step->function)) {
        return step->function == CUDA_STEP_CONVERT ? step->becomes : step->type;
    }
    FunctionClass class = functions[step->function].class;
    bool is_test = class == CLASS_FLOAT_TEST || class == CLASS_COMPARISON || class == CLASS_BOOL;
    return is_test ? CUDA_BOOL : step->type;
}

const char *
fusion_function_name(CudaMapFunction function)
{
    return functions[function].name;
}

static void
write_inputs(const FusionGroup *group, Buffer *source)
{
    for (uint32_t index = 0; index < group->input_count; index++) {
        const char *stored = types[group->inputs[index]].stored;
        buffer_append_format(
            source, "        %s v%u = fused_input<%s>(fused, %u, at);\n", stored, index, stored, index);
    }
}

/* Bits of stored values are chosen. */
static void
write_choice(const FusionStep *step, Buffer *source)
{
    buffer_append_format(
        source, "v%u != 0 ? v%u : v%u;\n", step->operands[0], step->operands[1], step->operands[2]);
}

/* A number goes by the widest type of its class, which holds it exactly. */
static void
write_conversion(const FusionStep *step, Buffer *source)
{
    static const char *const widest[TYPE_CLASSES] = {[TYPE_FLOATING] = "double",
        [TYPE_SIGNED] = "int64_t",
        [TYPE_UNSIGNED] = "uint64_t",
        [TYPE_BOOL] = "uint64_t"};
    if (step->type == step->becomes) {
        buffer_append_format(source, "v%u;\n", step->operands[0]);
        return;
    }
    buffer_append_format(source, "fused_convert<%s, %s, %s>(v%u, %s);\n", types[step->type].stored,
        widest[types[step->type].class], types[step->becomes].stored, step->operands[0],
        step->becomes == CUDA_BOOL ? "true" : "false");
}

/* A function is given three values; those that it does not have are its first again. */
static void
write_function(const FusionGroup *group, uint32_t index, Buffer *source)
{
    const FusionStep *step = &group->steps[index];
    const Variant *variant = variant_of(step->function, step->type);
    const char *stored = types[step->type].stored;
    const char *result = types[fusion_result(step)].stored;
    assert(variant->suffix != NULL);
    buffer_append_format(
        source, "fused_step<%s_%s, %s, ", functions[step->function].name, variant->suffix, stored);
    if (variant->computed == NULL) {
        buffer_append_format(source, "Accumulator<%s>", stored);
    } else {
        buffer_append_string(source, variant->computed);
    }
    buffer_append_format(source, ", %s>(fused, %u", result, index);
    for (int operand = 0; operand < CUDA_MAP_INPUTS_MAX; operand++) {
        bool is_read = operand < functions[step->function].inputs;
        assert(step->operands[is_read ? operand : 0] < group->input_count + index);
        buffer_append_format(source, ", v%u", step->operands[is_read ? operand : 0]);
    }
    buffer_append_string(source, ");\n");
}

static void
write_step(const FusionGroup *group, uint32_t index, Buffer *source)
{
    const FusionStep *step = &group->steps[index];
    buffer_append_format(
        source, "        %s v%u = ", types[fusion_result(step)].stored, group->input_count + index);
    if (step->function == CUDA_STEP_CHOOSE) {
        write_choice(step, source);
    } else if (step->function == CUDA_STEP_CONVERT) {
        write_conversion(step, source);
    } else {
        write_function(group, index, source);
    }
}

static void
write_kernel(const FusionGroup *group, const char *name, Buffer *source)
{
    assert(group->input_count > 0 && group->input_count <= CUDA_FUSED_INPUTS_MAX);
    assert(group->step_count > 0 && group->step_count <= CUDA_FUSED_STEPS_MAX);
    const FusionStep *last = &group->steps[group->step_count - 1];
    buffer_append_format(source,
        "\nextern \"C\" __global__ void\n%s(CudaFused fused)\n{\n"
        "    for (int64_t i = index_first(); i < fused.count; i += index_step()) {\n"
        "        int64_t at[%u];\n"
        "        fused_seek<%u>(fused, i, at);\n",
        name, group->input_count, group->input_count);
    write_inputs(group, source);
    for (uint32_t index = 0; index < group->step_count; index++) {
        write_step(group, index, source);
    }
    buffer_append_format(source, "        ((%s *)fused.output)[i] = v%u;\n    }\n}\n",
        types[fusion_result(last)].stored, group->input_count + group->step_count - 1);
}

static const char include[] = "#include \"worker/cuda/fusion/fused.cuh\"\n";

void
fusion_write(const FusionGroup *group, Buffer *ret_source)
{
    buffer_append_string(ret_source, include);
    write_kernel(group, FUSION_KERNEL, ret_source);
}

void
fusion_name_alone(uint32_t index, char ret_name[FUSION_NAME_SIZE])
{
    (void)snprintf(ret_name, FUSION_NAME_SIZE, FUSION_KERNEL "_%u", index);
}

void
fusion_write_alone(const FusionStep *steps, uint32_t count, Buffer *ret_source)
{
    buffer_append_string(ret_source, include);
    for (uint32_t index = 0; index < count; index++) {
        const FusionStep *step = &steps[index];
        char name[FUSION_NAME_SIZE];
        FusionGroup alone = {.step_count = 1};
        alone.input_count = (uint32_t)fusion_inputs(step->function, step->type);
        alone.steps[0] = (FusionStep){.function = step->function, .type = step->type, .operands = {0, 1, 2}};
        for (uint32_t input = 0; input < alone.input_count; input++) {
            alone.inputs[input] = step->type;
        }
        fusion_name_alone(index, name);
        write_kernel(&alone, name, ret_source);
    }
}

const char *const fusion_headers[] = {
    convert_cuh, fused_cuh, fused_h, functions_cuh, functions_h, language_cuh, offsets_cuh, values_cuh};
const char *const fusion_header_names[] = {
    "worker/cuda/kernels/convert.cuh",
    "worker/cuda/fusion/fused.cuh",
    "worker/cuda/fusion/fused.h",
    "worker/cuda/kernels/functions.cuh",
    "worker/cuda/kernels/functions.h",
    "worker/cuda/kernels/language.cuh",
    "worker/cuda/kernels/offsets.cuh",
    "worker/cuda/kernels/values.cuh",
};
const int fusion_header_count = (int)COUNT_OF(fusion_headers);
_Static_assert(COUNT_OF(fusion_headers) == COUNT_OF(fusion_header_names), "each text has a name");
