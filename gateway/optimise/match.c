#include "gateway/optimise/match.h"

bool
match_is_any_of(const Match *match, Endpoint endpoint, const char *const *ops, size_t op_count)
{
    return endpoint.node != NODE_NONE && rewrite_is_any_of(match->rewrite, endpoint.node, ops, op_count) &&
           rewrite_node(match->rewrite, endpoint.node)->control_count == 0;
}

bool
match_is_x(const Match *match, Endpoint endpoint)
{
    return endpoint.node == match->x.node && endpoint.port == match->x.port;
}

Endpoint
match_input(const Match *match, Endpoint endpoint, uint32_t index)
{
    return rewrite_input(match->rewrite, endpoint.node, index);
}

bool
match_is_private(const Match *match, Endpoint endpoint, uint32_t reader)
{
    return rewrite_is_private(match->rewrite, match->counts, endpoint.node, reader);
}

bool
match_take_number(const Match *match, Endpoint endpoint, double number, Endpoint *ret_other)
{
    for (uint32_t index = 0; index < 2; index++) {
        if (rewrite_is_number(match->rewrite, match_input(match, endpoint, index), number)) {
            *ret_other = match_input(match, endpoint, 1 - index);
            return ret_other->node != NODE_NONE;
        }
    }
    return false;
}

bool
match_keeps_shape(const Match *match, uint32_t id)
{
    Endpoint output = {.node = id};
    int rank = rewrite_shape(match->rewrite, output)->rank;
    return rewrite_dtype(match->rewrite, output) == DTYPE_FLOAT32 && rank >= 0 &&
           rank == rewrite_shape(match->rewrite, match->x)->rank;
}
