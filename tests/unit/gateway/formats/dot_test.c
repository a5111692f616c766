#include "gateway/formats/dot.h"

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
    NodeDef node = {.name = SLICE("a\"b\\c\nd"), .op = SLICE("Op"), .device = SLICE("/cpu:0")};
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

static void
partitions_are_frames_and_what_goes_between_them_stands_outside(void **state)
{
    (void)state;
    AUTO_GRAPH_DEF first = graph_literal("x = Placeholder()\n"
                                         "s = _Send(x) send_device='/slot:0' recv_device='/slot:1' "
                                         "tensor_name='edge_0_x'\n");
    AUTO_GRAPH_DEF second = graph_literal("r = _Recv() send_device='/slot:0' recv_device='/slot:1' "
                                          "tensor_name='edge_0_x'\n"
                                          "x = Neg(r)\n");
    const DotPartition partitions[] = {{.title = "slot 0", .def = first}, {.title = "slot 1", .def = second}};
    AUTO_BUFFER buffer = {0};
    assert_true(first != NULL && second != NULL);
    dot_write_partitions(&buffer, partitions, COUNT_OF(partitions));
    assert_string_equal(buffer_string(&buffer),
        "digraph plan {\n"
        "  node [shape=box];\n"
        "  subgraph cluster_0 {\n"
        "  label=\"slot 0\";\n"
        "  \"0:x\" [label=\"x\\nPlaceholder\"];\n"
        "  \"0:s\" [label=\"s\\n_Send\"];\n"
        "  \"0:x\" -> \"0:s\";\n"
        "  }\n"
        "  \"/slot:0;/slot:1;edge_0_x\" [shape=ellipse, label=\"edge_0_x\"];\n"
        "  \"0:s\" -> \"/slot:0;/slot:1;edge_0_x\";\n"
        "  subgraph cluster_1 {\n"
        "  label=\"slot 1\";\n"
        "  \"1:r\" [label=\"r\\n_Recv\"];\n"
        "  \"1:x\" [label=\"x\\nNeg\"];\n"
        "  \"1:r\" -> \"1:x\";\n"
        "  }\n"
        "  \"/slot:0;/slot:1;edge_0_x\" -> \"1:r\";\n"
        "}\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_boxes_and_edges_arrows),
        cmocka_unit_test(texts_cannot_leave_their_quotes),
        cmocka_unit_test(partitions_are_frames_and_what_goes_between_them_stands_outside),
    };
    return cmocka_run_group_tests_name("gateway/formats/dot", tests, NULL, NULL);
}
