#include "worker/reference/softmax.h"

#include <assert.h>
#include <math.h>

static double
largest_of(const double *scores, int64_t count, int64_t step)
{
    double largest = -(double)INFINITY;
    for (int64_t n = 0; n < count; n++) {
        largest = scores[n * step] > largest ? scores[n * step] : largest;
    }
    return largest;
}

void
softmax_line(double *scores, int64_t count, int64_t step)
{
    assert(count >= 0 && step > 0);
    double largest = largest_of(scores, count, step);
    double sum = 0;
    for (int64_t n = 0; n < count; n++) {
        scores[n * step] = exp(scores[n * step] - largest);
        sum += scores[n * step];
    }
    for (int64_t n = 0; n < count; n++) {
        scores[n * step] /= sum;
    }
}
