/* Steps whose tensors leave and enter in other forms than JSON: one graph, one way to send it, one way to
 * look at .npy. */
#pragma once

#include "tests/support/cluster.h"

/* Makes a session with the graph: sum = x + y, product = x * sum; words passes strings s; quotient fails
 * when j is 0, some nodes after first = i + j; extent is i, after as many random numbers as i says, behind
 * first. */
void forms_begin(Cluster *cluster);

typedef struct FormSend {
    const char *body;
    const char *accept; /* NULL: all */
    const char *content_type;
    Slice bytes; /* sent instead of `body` */
} FormSend;

void forms_send(Cluster *cluster, const FormSend *send, RestResponse *ret_response);

/* x and y as they are fed, and the expected results. */
#define FORMS_FEEDS "\"feeds\":{\"x\":[1.5,-2,3],\"y\":[10,20,0.25]}"
extern const float forms_x[3];
extern const float forms_y[3];
extern const float forms_sum[3];
extern const float forms_product[3];

/* Write and check the .npy file of a float32 vector. */
void npy_of(const float *values, size_t count, Buffer *ret_file);
void assert_npy(Slice bytes, const float *expected, size_t count);
