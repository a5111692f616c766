#include "shared/formats/dot.h"

#include "tests/support/cmocka_all.h"
#include "tests/support/graph_literals.h"

static void
nodes_are_boxes_and_edges_arrows(void **state)
{
    (void)state;
    AUTO_GRAPH_DEF def = graph_literal("x = Placeholder()\n"
                                       "y = Split(x, x:1, ^x)\n"
                                       "z = onnx::Clip(y, , x)\n");
    AUTO_BUFFER buffer = {0};
    assert_non_null(def);
    dot_write(&buffer, def);
    assert_string_equal(buffer_string(&buffer), "digraph graph_def {\n"
                                                "  node [shape=box];\n"
                                                "  \"x\" [label=\"x\\nPlaceholder\"];\n"
                                                "  \"y\" [label=\"y\\nSplit\"];\n"
                                                "  \"z\" [label=\"z\\nonnx::Clip\"];\n"
                                                "  \"x\" -> \"y\";\n"
                                                "  \"x\" -> \"y\" [taillabel=\"1\"];\n"
                                                "  \"x\" -> \"y\" [style=dashed];\n"
                                                "  \"y\" -> \"z\";\n"
                                                "  \"x\" -> \"z\";\n"
                                                "}\n");
}

static void
texts_cannot_leave_their_quotes(void **state)
{
    (void)state;
    const NodeDef node = {.name = SLICE("a\"b\\c\nd"), .op = SLICE("Op"), .device = SLICE("/cpu:0")};
    AUTO_GRAPH_DEF def = graph_def_new(4096);
    AUTO_BUFFER buffer = {0};
    assert_non_null(def);
    def->nodes = &node;
    def->node_count = 1;
    dot_write(&buffer, def);
    assert_string_equal(buffer_string(&buffer),
        "digraph graph_def {\n"
        "  node [shape=box];\n"
        "  \"a\\\"b\\\\c d\" [label=\"a\\\"b\\\\c d\\nOp\\n/cpu:0\"];\n"
        "}\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_boxes_and_edges_arrows),
        cmocka_unit_test(texts_cannot_leave_their_quotes),
    };
    return cmocka_run_group_tests_name("shared/formats/dot", tests, NULL, NULL);
}
