/* An op is whole: defined, computed, tested and documented, and all of that in its family's room. Each test
 * says in words what is missing and which file it belongs in. */
#include <stdlib.h>

#include "shared/base/buffer.h"
#include "shared/ops/family.h"
#include "shared/ops/registry.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/files.h"
#include "worker/runtime/kernel.h"

#define DOCUMENT "docs/ops.md"

/* Ops that no conformance test runs by name. A new op is not added here: it gets a case. The list only
 * shrinks. */
static const struct {
    const char *op;
    const char *reason;
} without_case[] = {
    {"PlaceholderV2", "a placeholder is fed, never computed"},
    {"TensorArrayGradWithShape", "TensorArrayGradV3 whose elements have more dimensions in front"},
    {"GetSessionHandle", "needs a session: tests/integration"},
    {"GetSessionTensor", "needs a session: tests/integration"},
    {"DeleteSessionTensor", "needs a session: tests/integration"},
};

/* The folder of a source file: the family. */
static Slice
family_of(const char *file)
{
    const char *name = strrchr(file, '/');
    Slice folder = {.data = file, .size = (size_t)(name - file)};
    return folder;
}

static Slice
definition_name(const OpDefinition *definition)
{
    Slice text = slice_from_string(definition->signature);
    return slice_part(text, 0, strcspn(definition->signature, "!("));
}

/* The file that defines the op. */
static const char *
definition_file(Slice op)
{
    for (size_t family = 0; family < op_family_table_count; family++) {
        for (size_t index = 0; index < op_family_table[family]->definition_count; index++) {
            if (slice_equal(definition_name(&op_family_table[family]->definitions[index]), op)) {
                return op_family_table[family]->file;
            }
        }
    }
    fail_msg("'%.*s' has no definition", SLICE_PRINT(op));
    return NULL;
}

static bool
has_kernel(const KernelFamily *const *table, size_t family_count, Slice op)
{
    for (size_t family = 0; family < family_count; family++) {
        for (size_t index = 0; index < table[family]->kernel_count; index++) {
            if (slice_equals_string(op, table[family]->kernels[index].op)) {
                return true;
            }
        }
    }
    return false;
}

/* Edges of a partition and control flow have no kernels: the runtime itself executes them. */
static bool
is_done_by_the_runtime(const Op *op)
{
    return (op->name.data[0] == '_' && !slice_starts_with(op->name, SLICE("_Fused"))) ||
           (op->flags & OP_CONTROL_FLOW) != 0;
}

static void
every_op_has_a_reference_kernel(void **state)
{
    (void)state;
    size_t lacking = 0;
    for (size_t index = 0; index < op_count(); index++) {
        const Op *op = op_at(index);
        if (!is_done_by_the_runtime(op) && !has_kernel(reference_table, reference_table_count, op->name)) {
            const char *file = definition_file(op->name);
            print_error("'%.*s' (%s) has no reference kernel: add a row to %.*s/kernel.c\n",
                SLICE_PRINT(op->name), file, SLICE_PRINT(family_of(file)));
            lacking++;
        }
    }
    assert_int_equal(lacking, 0);
}

static void
every_reference_kernel_stands_beside_the_definition_of_its_op(void **state)
{
    (void)state;
    size_t lacking = 0;
    for (size_t family = 0; family < reference_table_count; family++) {
        const KernelFamily *kernels = reference_table[family];
        for (size_t index = 0; index < kernels->kernel_count; index++) {
            Slice op = slice_from_string(kernels->kernels[index].op);
            Slice folder = family_of(kernels->file);
            if (op_find(op) == NULL) {
                print_error("'%.*s' has a kernel in %s, but is no op: add a row to %.*s/definition.c\n",
                    SLICE_PRINT(op), kernels->file, SLICE_PRINT(folder));
                lacking++;
            } else if (!slice_equal(family_of(definition_file(op)), folder)) {
                print_error("'%.*s' is defined in %s and computed in %s: move one of them\n", SLICE_PRINT(op),
                    definition_file(op), kernels->file);
                lacking++;
            }
        }
    }
    assert_int_equal(lacking, 0);
}

static bool
has_element_function(Slice op)
{
    for (size_t family = 0; family < reference_table_count; family++) {
        for (size_t index = 0; index < reference_table[family]->kernel_count; index++) {
            const Kernel *kernel = &reference_table[family]->kernels[index];
            if (slice_equals_string(op, kernel->op) && kernel->element != NULL) {
                return true;
            }
        }
    }
    return false;
}

/* The gateway tells from the op alone which kernels of workers are element-wise and may be fused. */
static void
every_op_is_element_wise_in_its_definition_and_its_kernel_or_in_neither(void **state)
{
    (void)state;
    size_t lacking = 0;
    for (size_t index = 0; index < op_count(); index++) {
        const Op *op = op_at(index);
        bool is_defined_so = (op->flags & OP_ELEMENTWISE) != 0;
        bool is_computed_so = has_element_function(op->name);
        if (is_computed_so && !is_defined_so) {
            print_error("'%.*s' has a kernel with .element: its row in %s lacks OP_ELEMENTWISE\n",
                SLICE_PRINT(op->name), definition_file(op->name));
            lacking++;
        } else if (is_defined_so && !is_computed_so) {
            const char *file = definition_file(op->name);
            print_error("'%.*s' is OP_ELEMENTWISE in %s: its row in %.*s/kernel.c lacks .element\n",
                SLICE_PRINT(op->name), file, SLICE_PRINT(family_of(file)));
            lacking++;
        }
    }
    assert_int_equal(lacking, 0);
}

static void
append_file(const char *path, void *context)
{
    TensorBuffer *file = file_read(path);
    assert_non_null(file);
    if (strstr(path, "reference_coverage_test.c") == NULL) {
        buffer_append(context, file->data, file->size);
    }
    tensor_buffer_unref(file);
}

/* Whether a case names the op: as "Relu" in a table of cases, or as `x = Relu(…)` in the text of a graph. */
static bool
is_named(const char *cases, Slice op)
{
    char quoted[128];
    char called[128];
    (void)snprintf(quoted, sizeof quoted, "\"%.*s\"", SLICE_PRINT(op));
    (void)snprintf(called, sizeof called, " = %.*s(", SLICE_PRINT(op));
    return strstr(cases, quoted) != NULL || strstr(cases, called) != NULL;
}

/* The tests of variables name what is done, and run it in each of its forms: Adam stands for ApplyAdam,
 * ResourceApplyAdam, …, ScatterAdd for ResourceScatterAdd too. */
static bool
is_form_of_named(const char *cases, Slice op)
{
    static const char *const prefixes[] = {
        "ResourceSparseApply", "ResourceApply", "SparseApply", "Apply", "Resource"};
    for (size_t index = 0; index < COUNT_OF(prefixes); index++) {
        Slice prefix = slice_from_string(prefixes[index]);
        if (slice_starts_with(op, prefix) && is_named(cases, slice_part(op, prefix.size, SIZE_MAX))) {
            return true;
        }
    }
    return false;
}

static bool
is_without_case(Slice op)
{
    for (size_t index = 0; index < COUNT_OF(without_case); index++) {
        if (slice_equals_string(op, without_case[index].op)) {
            return true;
        }
    }
    return false;
}

static void
every_op_has_a_test_case(void **state)
{
    (void)state;
    AUTO_BUFFER text = {0};
    size_t lacking = 0;
    (void)files_each("tests/conformance", "_test.c", append_file, &text);
    const char *cases = buffer_string(&text);
    assert_non_null(cases);
    for (size_t index = 0; index < op_count(); index++) {
        const Op *op = op_at(index);
        bool is_tested = is_named(cases, op->name) || is_form_of_named(cases, op->name);
        if (is_tested && is_without_case(op->name)) {
            print_error("'%.*s' has a case: take it off the list in %s\n", SLICE_PRINT(op->name), __FILE__);
            lacking++;
        } else if (!is_tested && !is_done_by_the_runtime(op) && !is_without_case(op->name)) {
            Slice folder = family_of(definition_file(op->name));
            Slice family = slice_part(folder, strlen("shared/ops/"), SIZE_MAX);
            print_error("'%.*s' has no test case: add one to tests/conformance/reference_%.*s_test.c\n",
                SLICE_PRINT(op->name), SLICE_PRINT(family));
            lacking++;
        }
    }
    assert_int_equal(lacking, 0);
}

static void
append_op(Buffer *document, Slice family, const OpDefinition *definition)
{
    Slice name = definition_name(definition);
    bool has_reference = has_kernel(reference_table, reference_table_count, name);
    bool is_fast = has_kernel(cpu_kernels_table, cpu_kernels_table_count, name);
    buffer_append_format(document, "| `%.*s` | %.*s | `%s` | %s |\n", SLICE_PRINT(name), SLICE_PRINT(family),
        definition->signature + name.size,
        is_fast         ? "CPU, fast"
        : has_reference ? "CPU"
                        : "the runtime");
}

/* Families are in the order of their names, ops in that of their tables. */
static void
write_document(Buffer *document)
{
    buffer_append_string(document, "# Operations\n\n"
                                   "Every operation that a graph may hold, by family (a folder of "
                                   "`shared/ops`). The signature is TensorFlow's: inputs,\n"
                                   "outputs, attributes with their defaults; `shared/ops/family.h` explains "
                                   "it. \"fast\": a kernel of `worker/cpu/kernels` takes\n"
                                   "the common dtypes and shapes, the reference kernel the others. What "
                                   "\"the runtime\" runs has no kernel. `make docs` writes this page.\n\n"
                                   "| op | family | signature | device |\n|---|---|---|---|\n");
    for (size_t index = 0; index < op_family_table_count; index++) {
        const OpFamily *family = op_family_table[index];
        Slice name = slice_part(family_of(family->file), strlen("shared/ops/"), SIZE_MAX);
        for (size_t row = 0; row < family->definition_count; row++) {
            append_op(document, name, &family->definitions[row]);
        }
    }
}

/* `make docs` runs this with WRITE_DOCS=1, which writes the page instead of comparing it. */
static void
every_op_is_documented(void **state)
{
    (void)state;
    AUTO_BUFFER document = {0};
    write_document(&document);
    if (getenv("WRITE_DOCS") != NULL) {
        FILE *file = fopen(DOCUMENT, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(document.data, 1, document.size, file), document.size);
        assert_int_equal(fclose(file), 0);
        return;
    }
    TensorBuffer *page = file_read(DOCUMENT);
    assert_non_null(page);
    bool is_same = page->size == document.size && memcmp(page->data, document.data, document.size) == 0;
    tensor_buffer_unref(page);
    if (!is_same) {
        fail_msg(DOCUMENT " does not show the ops as they are: 'make docs' writes it anew");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_has_a_reference_kernel),
        cmocka_unit_test(every_reference_kernel_stands_beside_the_definition_of_its_op),
        cmocka_unit_test(every_op_is_element_wise_in_its_definition_and_its_kernel_or_in_neither),
        cmocka_unit_test(every_op_has_a_test_case),
        cmocka_unit_test(every_op_is_documented),
    };
    return cmocka_run_group_tests_name("reference/coverage", tests, NULL, NULL);
}
