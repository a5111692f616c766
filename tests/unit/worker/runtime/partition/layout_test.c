/* Regions whose images have the channels last, for an accelerator that wants 16-bit convolutions so: what is
 * turned around and what is not, and that no bit differs where a kernel adds in the same order. */
#include "tests/support/cmocka_all.h"
#include "tests/support/turned_graphs.h"

static void
compare(const TurnedGraph *graphs, size_t count)
{
    RunFixture fixture;
    fixture_begin_capturing(&fixture, 2, NULL);
    for (size_t index = 0; index < count; index++) {
        turned_graph_compare(&fixture, &graphs[index], true);
    }
    fixture_end(&fixture);
}

static void
a_residual_block_is_one_region(void **state)
{
    (void)state;
    compare(residual_graphs, COUNT_OF(residual_graphs));
}

static void
one_convolution_stays_as_it_was_written(void **state)
{
    (void)state;
    compare(lone_graphs, COUNT_OF(lone_graphs));
}

static void
what_gains_nothing_stays_as_it_was_written(void **state)
{
    (void)state;
    compare(gainless_graphs, COUNT_OF(gainless_graphs));
}

static void
a_region_begins_and_ends_where_little_is_transposed(void **state)
{
    (void)state;
    compare(classifier_graphs, COUNT_OF(classifier_graphs));
}

static void
convolutions_of_all_forms_are_turned(void **state)
{
    (void)state;
    compare(convolution_graphs, COUNT_OF(convolution_graphs));
}

static void
images_of_all_sizes_have_the_same_bits(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(residual_feeds); index++) {
        TurnedGraph graph = residual_graphs[0];
        graph.feeds[0] = residual_feeds[index];
        compare(&graph, 1);
    }
}

static void
ops_with_a_data_format_are_turned(void **state)
{
    (void)state;
    compare(formatted_graphs, COUNT_OF(formatted_graphs));
}

static void
filters_of_images_whose_channels_are_last_are_transposed_once(void **state)
{
    (void)state;
    compare(filter_graphs, COUNT_OF(filter_graphs));
}

static void
transposes_of_the_graph_cancel(void **state)
{
    (void)state;
    compare(transposed_graphs, COUNT_OF(transposed_graphs));
}

static void
operands_broadcast_as_before(void **state)
{
    (void)state;
    compare(operand_graphs, COUNT_OF(operand_graphs));
}

static void
branches_are_joined_along_their_axis(void **state)
{
    (void)state;
    compare(joined_graphs, COUNT_OF(joined_graphs));
}

static void
what_cannot_be_turned_reads_a_transpose(void **state)
{
    (void)state;
    compare(split_graphs, COUNT_OF(split_graphs));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_residual_block_is_one_region),
        cmocka_unit_test(one_convolution_stays_as_it_was_written),
        cmocka_unit_test(what_gains_nothing_stays_as_it_was_written),
        cmocka_unit_test(a_region_begins_and_ends_where_little_is_transposed),
        cmocka_unit_test(convolutions_of_all_forms_are_turned),
        cmocka_unit_test(images_of_all_sizes_have_the_same_bits),
        cmocka_unit_test(ops_with_a_data_format_are_turned),
        cmocka_unit_test(filters_of_images_whose_channels_are_last_are_transposed_once),
        cmocka_unit_test(transposes_of_the_graph_cancel),
        cmocka_unit_test(operands_broadcast_as_before),
        cmocka_unit_test(branches_are_joined_along_their_axis),
        cmocka_unit_test(what_cannot_be_turned_reads_a_transpose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
