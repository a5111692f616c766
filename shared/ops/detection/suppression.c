#include "shared/ops/detection/suppression.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "shared/tensor/half.h"

enum { LOW_Y, LOW_X, HIGH_Y, HIGH_X, AREA };

static float
smaller(float a, float b)
{
    return b < a ? b : a;
}

static float
larger(float a, float b)
{
    return a < b ? b : a;
}

void
boxes_normalise(const float *boxes, int64_t step, int64_t count, bool is_centre, float *ret_arrays)
{
    for (int64_t n = 0; n < count; n++) {
        const float *box = boxes + n * step;
        float half_width = box[2] / 2;
        float half_height = box[3] / 2;
        float sides[BOX_SIDES] = {
            smaller(box[0], box[2]), smaller(box[1], box[3]), larger(box[0], box[2]), larger(box[1], box[3])};
        if (is_centre) {
            sides[LOW_Y] = box[1] - half_height;
            sides[LOW_X] = box[0] - half_width;
            sides[HIGH_Y] = box[1] + half_height;
            sides[HIGH_X] = box[0] + half_width;
        }
        for (int side = 0; side < BOX_SIDES; side++) {
            ret_arrays[side * count + n] = sides[side];
        }
        ret_arrays[AREA * count + n] = (sides[HIGH_Y] - sides[LOW_Y]) * (sides[HIGH_X] - sides[LOW_X]);
    }
}

/* The bits of a float, changed so that they order as the numbers do, in the upper half; NaN stands below all
 * numbers. -0 counts as 0. */
uint64_t
suppression_key(float score, uint32_t index)
{
    float number = score + 0.0F;
    uint32_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    uint32_t order = isnan(number) ? 0 : (bits >> 31) != 0 ? ~bits : bits | UINT32_C(1) << 31;
    return (uint64_t)order << 32 | (UINT32_MAX - index);
}

static uint32_t
key_index(uint64_t key)
{
    return UINT32_MAX - (uint32_t)key;
}

static float
key_score(uint64_t key)
{
    uint32_t order = (uint32_t)(key >> 32);
    uint32_t bits = order == 0 ? ~order : (order >> 31) != 0 ? order ^ UINT32_C(1) << 31 : ~order;
    float score = 0;
    memcpy(&score, &bits, sizeof score);
    return score;
}

static void
heap_sink(uint64_t *keys, int64_t count, int64_t root)
{
    uint64_t key = keys[root];
    for (int64_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
        child += child + 1 < count && keys[child + 1] > keys[child] ? 1 : 0;
        if (keys[child] <= key) {
            break;
        }
        keys[root] = keys[child];
        root = child;
    }
    keys[root] = key;
}

void
heap_make(uint64_t *keys, int64_t count)
{
    for (int64_t root = count / 2 - 1; root >= 0; root--) {
        heap_sink(keys, count, root);
    }
}

uint64_t
heap_take(uint64_t *keys, int64_t *count)
{
    assert(*count > 0);
    uint64_t key = keys[0];
    keys[0] = keys[--*count];
    if (*count > 0) {
        heap_sink(keys, *count, 0);
    }
    return key;
}

static void
heap_add(uint64_t *keys, int64_t *count, uint64_t key)
{
    int64_t place = (*count)++;
    for (; place > 0 && keys[(place - 1) / 2] < key; place = (place - 1) / 2) {
        keys[place] = keys[(place - 1) / 2];
    }
    keys[place] = key;
}

static int64_t
take_candidates(const SuppressionSearch *search)
{
    const SuppressionRule *rule = search->rule;
    int64_t count = 0;
    for (int64_t n = 0; n < rule->box_count; n++) {
        float score = search->scores[n * rule->score_step];
        if (rule->takes_all || score > rule->score_min) {
            search->keys[count++] = suppression_key(score, (uint32_t)n);
        }
    }
    heap_make(search->keys, count);
    return count;
}

/* Compares a box with those of one block. No box without an area is chosen here for its overlap, so that the
 * rest of a block is filled with such. */
static bool
overlaps_block(const SuppressionRule *rule, const float *box, const float *block)
{
    int64_t step = SELECTED_BLOCK;
    int hits = 0;
    for (int64_t n = 0; n < step; n++) {
        const float *other = block + n;
        float height = smaller(box[HIGH_Y], other[HIGH_Y * step]) - larger(box[LOW_Y], other[LOW_Y * step]);
        float width = smaller(box[HIGH_X], other[HIGH_X * step]) - larger(box[LOW_X], other[LOW_X * step]);
        float both = larger(height, 0) * larger(width, 0);
        float area = other[AREA * step];
        float overlap = both / (box[AREA] + area - both);
        hits |= (area > 0 ? 1 : 0) & (overlap > rule->overlap_max ? 1 : 0);
    }
    return hits != 0;
}

static void
read_box(const SuppressionSearch *search, uint32_t index, float *ret_box)
{
    for (int array = 0; array < BOX_ARRAYS; array++) {
        ret_box[array] = search->boxes[array * search->rule->box_count + index];
    }
}

/* The last ones chosen are likely to have similar scores, and to overlap. */
static bool
overlaps_any(const SuppressionSearch *search, const float *box, int64_t chosen)
{
    if (!(box[AREA] > 0)) {
        return false;
    }
    for (int64_t block = (chosen + SELECTED_BLOCK - 1) / SELECTED_BLOCK - 1; block >= 0; block--) {
        const float *others = search->chosen + block * SELECTED_BLOCK * BOX_ARRAYS;
        if (overlaps_block(search->rule, box, others)) {
            return true;
        }
    }
    return false;
}

static void
keep_box(const SuppressionSearch *search, const float *box, int64_t number)
{
    float *block = search->chosen + number / SELECTED_BLOCK * SELECTED_BLOCK * BOX_ARRAYS;
    int64_t place = number % SELECTED_BLOCK;
    if (place == 0) {
        memset(block, 0, sizeof *block * SELECTED_BLOCK * BOX_ARRAYS);
    }
    for (int64_t array = 0; array < BOX_ARRAYS; array++) {
        block[array * SELECTED_BLOCK + place] = box[array];
    }
}

static int64_t
run_hard(const SuppressionSearch *search)
{
    const SuppressionRule *rule = search->rule;
    int64_t candidates = take_candidates(search);
    int64_t chosen = 0;
    while (candidates > 0 && chosen < rule->size_max) {
        float box[BOX_ARRAYS];
        uint64_t key = heap_take(search->keys, &candidates);
        read_box(search, key_index(key), box);
        if (!overlaps_any(search, box, chosen)) {
            keep_box(search, box, chosen);
            search->keys[rule->box_count - 1 - chosen++] = key;
        }
    }
    return chosen;
}

static float
rounded(const SuppressionRule *rule, float number)
{
    return rule->is_half ? half_to_float(half_from_float(number)) : number;
}

static float
overlap_of(const SuppressionSearch *search, uint32_t left, uint32_t right)
{
    if (search->overlaps != NULL) {
        return search->overlaps[(int64_t)left * search->rule->box_count + right];
    }
    float a[BOX_ARRAYS];
    float b[BOX_ARRAYS];
    read_box(search, left, a);
    read_box(search, right, b);
    if (!(a[AREA] > 0) || !(b[AREA] > 0)) {
        return 0;
    }
    float height = smaller(a[HIGH_Y], b[HIGH_Y]) - larger(a[LOW_Y], b[LOW_Y]);
    float width = smaller(a[HIGH_X], b[HIGH_X]) - larger(a[LOW_X], b[LOW_X]);
    float both = larger(height, 0) * larger(width, 0);
    return rounded(search->rule, both / (a[AREA] + b[AREA] - both));
}

/* Lowers the score by what was chosen since the box was last looked at. Returns false when it is out, as a
 * box is whose overlap or score is no number: that would be looked at for ever. */
static bool
lower_score(const SuppressionSearch *search, uint32_t index, int64_t chosen, float *score)
{
    const SuppressionRule *rule = search->rule;
    bool is_soft = rule->sigma > 0;
    float scale = is_soft ? rounded(rule, -0.5F / rule->sigma) : 0;
    for (int64_t n = chosen - 1; n >= search->begins[index]; n--) {
        float overlap = overlap_of(search, index, suppression_index(search, n));
        if (!is_soft && overlap > rule->overlap_max) {
            return false;
        }
        *score = rounded(rule, *score * rounded(rule, expf(scale * overlap * overlap)));
        if (!(*score > rule->score_min)) {
            return false;
        }
    }
    search->begins[index] = (int32_t)chosen;
    return true;
}

/* A box whose score was lowered goes back among the candidates. */
static int64_t
run_soft(const SuppressionSearch *search)
{
    const SuppressionRule *rule = search->rule;
    int64_t candidates = take_candidates(search);
    int64_t chosen = 0;
    memset(search->begins, 0, (size_t)rule->box_count * sizeof *search->begins);
    while (candidates > 0 && chosen < rule->size_max) {
        uint64_t key = heap_take(search->keys, &candidates);
        float given = key_score(key);
        float score = given;
        if (!lower_score(search, key_index(key), chosen, &score)) {
            continue;
        }
        if (score == given) {
            search->keys[rule->box_count - 1 - chosen++] = key;
        } else {
            heap_add(search->keys, &candidates, suppression_key(score, key_index(key)));
        }
    }
    return chosen;
}

int64_t
suppression_run(const SuppressionSearch *search)
{
    assert(search->rule->size_max <= search->rule->box_count);
    return search->begins == NULL ? run_hard(search) : search->rule->box_count == 0 ? 0 : run_soft(search);
}

uint32_t
suppression_index(const SuppressionSearch *search, int64_t n)
{
    return key_index(search->keys[search->rule->box_count - 1 - n]);
}

float
suppression_score(const SuppressionSearch *search, int64_t n)
{
    return key_score(search->keys[search->rule->box_count - 1 - n]);
}
