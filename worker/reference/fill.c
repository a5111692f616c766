#include "worker/reference/fill.h"

#include <assert.h>

#include "worker/reference/elements.h"

void
fill_zero(Tensor *tensor)
{
    if (tensor->data != NULL) {
        memset(tensor->data, 0, tensor_byte_size(tensor));
    }
}

#define WRITE_NUMBER(name, unused, upper, lower, storage, compute, read, write)                              \
    static void name##_##lower(void *element, int number)                                                    \
    {                                                                                                        \
        *(storage *)element = write((compute)number);                                                        \
    }

REAL_ELEMENTS(WRITE_NUMBER, write_number, )
BOOL_ELEMENTS(WRITE_NUMBER, write_number, )
COMPLEX_ELEMENTS(WRITE_NUMBER, write_number, )

static void (*const write_number_loops[DTYPE_COUNT])(void *element, int number) = {
    REAL_LOOPS(write_number) BOOL_LOOPS(write_number) COMPLEX_LOOPS(write_number)};

void
fill_number(Tensor *tensor, int number)
{
    assert(write_number_loops[tensor->dtype] != NULL);
    double complex element = 0; /* storage that is large and aligned enough for every dtype */
    write_number_loops[tensor->dtype](&element, number);
    fill_element(tensor, &element);
}

/* Copies what is already filled behind itself, twice as much each time. */
void
fill_element(Tensor *tensor, const void *element)
{
    size_t size = tensor_byte_size(tensor);
    size_t done = dtype_size(tensor->dtype);
    if (size == 0) {
        return;
    }
    char *data = tensor->data;
    memcpy(data, element, done);
    while (done < size) {
        size_t part = done < size - done ? done : size - done;
        memcpy(data + done, data, part);
        done += part;
    }
}
