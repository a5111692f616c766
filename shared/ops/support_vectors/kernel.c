/* Support vector machines, in double. Blocks of rows are shared among the device's threads. Of two classes,
 * each pair has a score, whose sign is a vote; probabilities are coupled from pairs as LIBSVM does (Wu, Lin
 * and Weng, Probability Estimates for Multi-class Classification by Pairwise Coupling, 2004). */
#include <math.h>

#include "shared/ops/support_vectors/rule.h"
#include "worker/reference/cast.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { BLOCKS_MAX = 32 }; /* that the rows are cut into, each with a room of its own */

typedef struct Machine Machine;
struct Machine {
    SvmMachine shape;
    int64_t rows;
    Tensor numbers; /* doubles, which the following point into */
    double *coefficients;
    double *vectors;
    double *rho;
    double *steepness; /* prob_a */
    double *shift;     /* prob_b */
    Tensor inputs;     /* doubles */
    Tensor room;       /* doubles, room_size for each block of rows */
    int64_t room_size;
    int64_t block; /* rows of a block */
    void (*run_row)(const Machine *machine, int64_t row, double *room);
    const AttrValue *per_class; /* vectors_per_class */
    float *scores;
    int64_t *positions;
};

static void
machine_done(Machine *machine)
{
    tensor_unref(&machine->numbers);
    tensor_unref(&machine->inputs);
    tensor_unref(&machine->room);
}

/* Copies the lists of numbers into one array. */
static Status
read_lists(KernelContext *context, Machine *machine)
{
    const struct {
        const char *name;
        double **place;
    } lists[] = {{"coefficients", &machine->coefficients}, {"support_vectors", &machine->vectors},
        {"rho", &machine->rho}, {"prob_a", &machine->steepness}, {"prob_b", &machine->shift}};
    size_t total = 0;
    for (size_t list = 0; list < COUNT_OF(lists); list++) {
        total += node_attr_count(context->node, lists[list].name);
    }
    TRY(scratch_bytes(context, (int64_t)total, sizeof(double), &machine->numbers));
    double *next = machine->numbers.data;
    for (size_t list = 0; list < COUNT_OF(lists); list++) {
        const AttrValue *value = node_attr(context->node, lists[list].name);
        *lists[list].place = next;
        for (size_t n = 0; n < node_attr_count(context->node, lists[list].name); n++) {
            *next++ = (double)value->value.list.items[n].value.f;
        }
    }
    return STATUS_OK;
}

static void
run_block(void *argument, int64_t block)
{
    const Machine *machine = argument;
    int64_t end = (block + 1) * machine->block;
    double *room = (double *)machine->room.data + block * machine->room_size;
    for (int64_t row = block * machine->block; row < end && row < machine->rows; row++) {
        machine->run_row(machine, row, room);
    }
}

/* Runs all rows, with room for so many numbers in each block of them. */
static Status
run_rows(KernelContext *context, int64_t room_size, Machine *machine)
{
    const Shape *shape = &context->inputs[0].shape;
    machine->rows = shape->rank == 1 ? 1 : shape->dims[0];
    machine->room_size = room_size;
    if (machine->rows == 0) {
        return STATUS_OK;
    }
    machine->block = (machine->rows - 1) / BLOCKS_MAX + 1;
    int64_t blocks = (machine->rows - 1) / machine->block + 1;
    TRY(read_lists(context, machine));
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &machine->inputs));
    TRY(scratch_bytes(context, blocks * room_size, sizeof(double), &machine->room));
    context->device->parallel_for(context->device, blocks, run_block, machine);
    return STATUS_OK;
}

static double
dot(const double *left, const double *right, int64_t count)
{
    double sum = 0;
    for (int64_t n = 0; n < count; n++) {
        sum += left[n] * right[n];
    }
    return sum;
}

static double
distance(const double *left, const double *right, int64_t count)
{
    double sum = 0;
    for (int64_t n = 0; n < count; n++) {
        sum += (left[n] - right[n]) * (left[n] - right[n]);
    }
    return sum;
}

static double
compare(const SvmMachine *shape, const double *row, const double *vector)
{
    if (shape->kernel == SVM_RBF) {
        return exp(-shape->gamma * distance(row, vector, shape->features));
    }
    double product = dot(row, vector, shape->features);
    double inner = shape->gamma * product + shape->addend;
    return shape->kernel == SVM_LINEAR ? product
           : shape->kernel == SVM_POLY ? pow(inner, shape->degree)
                                       : tanh(inner);
}

/* Writes how alike the row is to each support vector. */
static void
compare_all(const Machine *machine, int64_t row, double *ret_products)
{
    const SvmMachine *shape = &machine->shape;
    const double *features = (const double *)machine->inputs.data + row * shape->features;
    for (int64_t n = 0; n < shape->vectors; n++) {
        ret_products[n] = compare(shape, features, machine->vectors + n * shape->features);
    }
}

static void
run_regression(const Machine *machine, int64_t row, double *products)
{
    const SvmMachine *shape = &machine->shape;
    const double *features = (const double *)machine->inputs.data + row * shape->features;
    compare_all(machine, row, products);
    double sum = shape->vectors > 0 ? dot(products, machine->coefficients, shape->vectors)
                                    : dot(features, machine->coefficients, shape->features);
    machine->scores[row] = (float)(sum + machine->rho[0]);
}

static Status
regressor_compute(KernelContext *context)
{
    CLEANUP(machine_done) Machine machine = {.run_row = run_regression};
    KernelInference inference;
    Tensor *output = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(svm_read_regressor(context->call, &inference.context, &machine.shape));
    TRY(output_new(context, &output));
    machine.scores = output->data;
    TRY(run_rows(context, machine.shape.vectors, &machine));
    for (int64_t row = 0; row < machine.rows && node_attr_int(context->node, "one_class") != 0; row++) {
        machine.scores[row] = machine.scores[row] > 0 ? 1 : -1;
    }
    return STATUS_OK;
}

/* Writes a score for each pair of classes, first with second, first with third and so on; returns the class
 * with most votes, the first of equals. */
static int64_t
score_pairs(const Machine *machine, const double *products, double *scores, double *votes)
{
    const SvmMachine *shape = &machine->shape;
    int64_t pair = 0;
    int64_t first = 0;
    memset(votes, 0, (size_t)shape->classes * sizeof *votes);
    for (int64_t i = 0; i < shape->classes; i++) {
        int64_t count = machine->per_class->value.list.items[i].value.i;
        int64_t second = first + count;
        for (int64_t j = i + 1; j < shape->classes; j++, pair++) {
            int64_t others = machine->per_class->value.list.items[j].value.i;
            const double *left = machine->coefficients + (j - 1) * shape->vectors;
            const double *right = machine->coefficients + i * shape->vectors;
            scores[pair] = dot(products + first, left + first, count) +
                           dot(products + second, right + second, others) + machine->rho[pair];
            votes[scores[pair] > 0 ? i : j]++;
            second += others;
        }
        first += count;
    }
    int64_t best = 0;
    for (int64_t i = 1; i < shape->classes; i++) {
        best = votes[i] > votes[best] ? i : best;
    }
    return best;
}

/* Turns the scores of pairs into the chances of the first of each pair, a matrix. */
static void
estimate_pairs(const Machine *machine, const double *scores, double *ret_chances)
{
    static const double least = 1e-7;
    int64_t classes = machine->shape.classes;
    int64_t pair = 0;
    for (int64_t i = 0; i < classes; i++) {
        for (int64_t j = i + 1; j < classes; j++, pair++) {
            double chance = 1 / (1 + exp(scores[pair] * machine->steepness[pair] + machine->shift[pair]));
            chance = chance < least ? least : chance > 1 - least ? 1 - least : chance;
            ret_chances[i * classes + j] = chance;
            ret_chances[j * classes + i] = 1 - chance;
        }
    }
}

/* The quadratic form whose minimum on the simplex is the classes' probabilities. */
static void
fill_form(const double *chances, int64_t classes, double *form)
{
    for (int64_t i = 0; i < classes; i++) {
        form[i * classes + i] = 0;
        for (int64_t j = 0; j < classes; j++) {
            if (j != i) {
                double other = chances[j * classes + i];
                form[i * classes + i] += other * other;
                form[i * classes + j] = -other * chances[i * classes + j];
            }
        }
    }
}

/* One turn of the descent: each class in its turn. `slopes` are form × probabilities, `value` their product
 * with the probabilities. */
static void
descend(const double *form, int64_t classes, double value, double *probabilities, double *slopes)
{
    for (int64_t i = 0; i < classes; i++) {
        double own = form[i * classes + i];
        double change = (value - slopes[i]) / own;
        double scale = 1 + change;
        probabilities[i] += change;
        value = (value + change * (change * own + 2 * slopes[i])) / scale / scale;
        for (int64_t j = 0; j < classes; j++) {
            slopes[j] = (slopes[j] + change * form[i * classes + j]) / scale;
            probabilities[j] /= scale;
        }
    }
}

static void
couple(const double *form, int64_t classes, double *probabilities, double *slopes)
{
    int64_t turns = classes > 100 ? classes : 100;
    double tolerance = 0.005 / (double)classes;
    for (int64_t i = 0; i < classes; i++) {
        probabilities[i] = 1 / (double)classes;
    }
    for (int64_t turn = 0; turn < turns; turn++) {
        double value = 0;
        double error = 0;
        for (int64_t i = 0; i < classes; i++) {
            slopes[i] = dot(form + i * classes, probabilities, classes);
            value += probabilities[i] * slopes[i];
        }
        for (int64_t i = 0; i < classes; i++) {
            error = fmax(error, fabs(slopes[i] - value));
        }
        if (error < tolerance) {
            return;
        }
        descend(form, classes, value, probabilities, slopes);
    }
}

/* Returns how many numbers a row is computed in: products, scores, votes; with probabilities two matrices and
 * two vectors. */
static int64_t
classifier_room(const SvmMachine *shape)
{
    int64_t matrices = shape->has_probabilities ? 2 * (shape->classes * shape->classes + shape->classes) : 0;
    return shape->vectors + shape->pairs + shape->classes + matrices;
}

static void
write_scores(const SvmMachine *shape, const double *scores, float *ret_scores)
{
    if (shape->classes == 2 && !shape->has_probabilities) {
        ret_scores[0] = (float)-scores[0];
        ret_scores[1] = (float)scores[0];
        return;
    }
    for (int64_t n = 0; n < svm_score_count(shape); n++) {
        ret_scores[n] = (float)scores[n];
    }
}

static void
run_classification(const Machine *machine, int64_t row, double *products)
{
    const SvmMachine *shape = &machine->shape;
    double *scores = products + shape->vectors;
    double *votes = scores + shape->pairs;
    compare_all(machine, row, products);
    machine->positions[row] = score_pairs(machine, products, scores, votes);
    if (shape->has_probabilities) {
        double *chances = votes + shape->classes;
        double *form = chances + shape->classes * shape->classes;
        double *probabilities = form + shape->classes * shape->classes;
        estimate_pairs(machine, scores, chances);
        fill_form(chances, shape->classes, form);
        couple(form, shape->classes, probabilities, probabilities + shape->classes);
        scores = probabilities;
    }
    write_scores(shape, scores, machine->scores + row * svm_score_count(shape));
}

static Status
scores_compute(KernelContext *context)
{
    CLEANUP(machine_done)
    Machine machine = {
        .run_row = run_classification, .per_class = node_attr(context->node, "vectors_per_class")};
    KernelInference inference;
    Shape shapes[2];
    Tensor *positions = NULL;
    Tensor *scores = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(svm_read_classifier(context->call, &inference.context, &machine.shape));
    TRY(output_shapes(context, shapes));
    TRY(kernel_output(context, 0, DTYPE_INT64, &shapes[0], &positions));
    TRY(kernel_output(context, 1, DTYPE_FLOAT32, &shapes[1], &scores));
    machine.positions = positions->data;
    machine.scores = scores->data;
    return run_rows(context, classifier_room(&machine.shape), &machine);
}

static bool
supports_numbers(const Node *node)
{
    return cast_supports(node->input_dtypes[0], DTYPE_FLOAT64) && node->input_dtypes[0] != DTYPE_STRING;
}

static const Kernel support_vectors_kernels[] = {
    {.op = "ai.onnx.ml::SVMRegressor", .supports = supports_numbers, .compute = regressor_compute},
    {.op = "ai.onnx.ml::_SvmScores", .supports = supports_numbers, .compute = scores_compute},
};

KERNEL_FAMILY(reference, support_vectors, support_vectors_kernels);
