#include "shared/ops/linear_algebra/matrices.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

bool
matrices_cholesky(double *a, int64_t size)
{
    for (int64_t column = 0; column < size; column++) {
        for (int64_t row = column; row < size; row++) {
            double sum = a[row * size + column];
            for (int64_t k = 0; k < column; k++) {
                sum -= a[row * size + k] * a[column * size + k];
            }
            if (row == column && sum <= 0) { /* NaN goes on */
                return false;
            }
            a[row * size + column] = row == column ? sqrt(sum) : sum / a[column * size + column];
        }
        for (int64_t row = 0; row < column; row++) {
            a[row * size + column] = 0;
        }
    }
    return true;
}

static void
swap_rows(double *a, int64_t *rows, int64_t size, int64_t first, int64_t second)
{
    int64_t row = rows[first];
    rows[first] = rows[second];
    rows[second] = row;
    for (int64_t k = 0; k < size; k++) {
        double element = a[first * size + k];
        a[first * size + k] = a[second * size + k];
        a[second * size + k] = element;
    }
}

static int64_t
find_pivot(const double *a, int64_t size, int64_t column)
{
    int64_t pivot = column;
    for (int64_t row = column + 1; row < size; row++) {
        if (fabs(a[row * size + column]) > fabs(a[pivot * size + column])) {
            pivot = row;
        }
    }
    return pivot;
}

int
matrices_factor(double *a, int64_t *rows, int64_t size)
{
    int sign = 1;
    for (int64_t row = 0; row < size; row++) {
        rows[row] = row;
    }
    for (int64_t column = 0; column < size; column++) {
        int64_t pivot = find_pivot(a, size, column);
        if (a[pivot * size + column] == 0) {
            sign = 0;
            continue;
        }
        if (pivot != column) {
            swap_rows(a, rows, size, pivot, column);
            sign = -sign;
        }
        for (int64_t row = column + 1; row < size; row++) {
            double factor = a[row * size + column] / a[column * size + column];
            a[row * size + column] = factor;
            for (int64_t k = column + 1; k < size; k++) {
                a[row * size + k] -= factor * a[column * size + k];
            }
        }
    }
    return sign;
}

/* Subtracts from one row of x its parts along the rows already solved. */
static void
substitute_row(const double *a, bool is_lower, int64_t size, int64_t row, double *x, int64_t columns)
{
    int64_t last = is_lower ? row : size;
    for (int64_t k = is_lower ? 0 : row + 1; k < last; k++) {
        for (int64_t column = 0; column < columns; column++) {
            x[row * columns + column] -= a[row * size + k] * x[k * columns + column];
        }
    }
}

static void
divide_row(double divisor, double *row, int64_t columns)
{
    for (int64_t column = 0; column < columns; column++) {
        row[column] /= divisor;
    }
}

void
matrices_solve(
    const double *factors, const int64_t *rows, int64_t size, const double *b, double *x, int64_t columns)
{
    for (int64_t row = 0; row < size; row++) {
        for (int64_t column = 0; column < columns; column++) {
            x[row * columns + column] = b[rows[row] * columns + column];
        }
        substitute_row(factors, true, size, row, x, columns);
    }
    matrices_solve_triangular(factors, false, size, x, columns);
}

void
matrices_solve_triangular(const double *a, bool is_lower, int64_t size, double *b, int64_t columns)
{
    for (int64_t n = 0; n < size; n++) {
        int64_t row = is_lower ? n : size - 1 - n;
        substitute_row(a, is_lower, size, row, b, columns);
        divide_row(a[row * size + row], &b[row * columns], columns);
    }
}

enum { SWEEPS_MAX = 60 };

/* Turns columns p and q of a[rows × columns] by an angle. */
static void
rotate_columns(double *a, int64_t rows, int64_t columns, const int64_t pair[2], double cosine, double sine)
{
    for (int64_t row = 0; row < rows; row++) {
        double *p = &a[row * columns + pair[0]];
        double *q = &a[row * columns + pair[1]];
        double left = *p;
        *p = cosine * left - sine * *q;
        *q = sine * left + cosine * *q;
    }
}

/* Returns the tangent of the smaller of the two angles whose rotation makes gamma, the product of two
 * columns, 0; alpha and beta are their products with themselves. */
static double
tangent_of(double alpha, double beta, double gamma)
{
    double zeta = (beta - alpha) / (2 * gamma);
    return (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
}

static double
column_product(const double *a, int64_t rows, int64_t columns, int64_t p, int64_t q)
{
    double sum = 0;
    for (int64_t row = 0; row < rows; row++) {
        sum += a[row * columns + p] * a[row * columns + q];
    }
    return sum;
}

static void
fill_identity(double *a, int64_t size)
{
    for (int64_t n = 0; n < size * size; n++) {
        a[n] = n % (size + 1) == 0 ? 1 : 0;
    }
}

/* Returns false when the two columns are orthogonal already. */
static bool
orthogonalize_columns(double *a, int64_t rows, int64_t columns, const int64_t pair[2], double *v)
{
    double alpha = column_product(a, rows, columns, pair[0], pair[0]);
    double beta = column_product(a, rows, columns, pair[1], pair[1]);
    double gamma = column_product(a, rows, columns, pair[0], pair[1]);
    if (gamma == 0 || fabs(gamma) <= 1e-16 * sqrt(alpha * beta)) {
        return false;
    }
    double tangent = tangent_of(alpha, beta, gamma);
    double cosine = 1 / sqrt(1 + tangent * tangent);
    rotate_columns(a, rows, columns, pair, cosine, cosine * tangent);
    rotate_columns(v, columns, columns, pair, cosine, cosine * tangent);
    return true;
}

static void
swap_columns(double *a, int64_t rows, int64_t columns, int64_t p, int64_t q)
{
    for (int64_t row = 0; row < rows; row++) {
        double element = a[row * columns + p];
        a[row * columns + p] = a[row * columns + q];
        a[row * columns + q] = element;
    }
}

/* Sorts the columns of `left` and `right` by their values, descending unless `ascends`; `right` may be
 * NULL. */
static void
sort_columns(double *values, int64_t columns, bool ascends, double *left, int64_t rows, double *right)
{
    for (int64_t position = 0; position < columns; position++) {
        int64_t best = position;
        for (int64_t n = position + 1; n < columns; n++) {
            best = (ascends ? values[n] < values[best] : values[n] > values[best]) ? n : best;
        }
        double value = values[position];
        values[position] = values[best];
        values[best] = value;
        swap_columns(left, rows, columns, position, best);
        if (right != NULL) {
            swap_columns(right, columns, columns, position, best);
        }
    }
}

void
matrices_svd(double *a, int64_t rows, int64_t columns, double *values, double *v)
{
    assert(rows >= columns);
    fill_identity(v, columns);
    bool is_turning = true;
    for (int sweep = 0; sweep < SWEEPS_MAX && is_turning; sweep++) {
        is_turning = false;
        for (int64_t p = 0; p < columns; p++) {
            for (int64_t q = p + 1; q < columns; q++) {
                const int64_t pair[2] = {p, q};
                is_turning = orthogonalize_columns(a, rows, columns, pair, v) || is_turning;
            }
        }
    }
    for (int64_t column = 0; column < columns; column++) {
        values[column] = sqrt(column_product(a, rows, columns, column, column));
    }
    sort_columns(values, columns, false, a, rows, v);
    for (int64_t column = 0; column < columns; column++) {
        for (int64_t row = 0; row < rows && values[column] > 0; row++) {
            a[row * columns + column] /= values[column];
        }
    }
}

/* Returns the axis of which the first `count` orthonormal columns leave most, that is whose row is the
 * shortest; the first of several. */
static int64_t
find_free_axis(const double *q, int64_t size, int64_t count)
{
    int64_t best = 0;
    double least = (double)INFINITY;
    for (int64_t axis = 0; axis < size; axis++) {
        double covered = 0;
        for (int64_t column = 0; column < count; column++) {
            covered += q[axis * size + column] * q[axis * size + column];
        }
        best = covered < least ? axis : best;
        least = covered < least ? covered : least;
    }
    return best;
}

/* Makes column `column` the unit vector along `axis` less its parts along the columns before; returns the
 * length that is left. */
static double
project_axis(double *q, int64_t size, int64_t column, int64_t axis)
{
    for (int64_t row = 0; row < size; row++) {
        q[row * size + column] = row == axis ? 1 : 0;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t other = 0; other < column; other++) {
            double part = column_product(q, size, size, other, column);
            for (int64_t row = 0; row < size; row++) {
                q[row * size + column] -= part * q[row * size + other];
            }
        }
    }
    return sqrt(column_product(q, size, size, column, column));
}

void
matrices_complete(double *q, int64_t size, int64_t count)
{
    for (int64_t column = count; column < size; column++) {
        double length = project_axis(q, size, column, find_free_axis(q, size, column));
        for (int64_t row = 0; row < size; row++) {
            q[row * size + column] /= length;
        }
    }
}

/* Turns rows as rotate_columns() turns columns. */
static void
rotate_rows(double *a, int64_t size, const int64_t pair[2], double cosine, double sine)
{
    for (int64_t column = 0; column < size; column++) {
        double *p = &a[pair[0] * size + column];
        double *q = &a[pair[1] * size + column];
        double upper = *p;
        *p = cosine * upper - sine * *q;
        *q = sine * upper + cosine * *q;
    }
}

static double
size_off_diagonal(const double *a, int64_t size)
{
    double sum = 0;
    for (int64_t n = 0; n < size * size; n++) {
        sum += n % (size + 1) == 0 ? 0 : fabs(a[n]);
    }
    return sum;
}

void
matrices_eigen(double *a, int64_t size, double *values, double *vectors)
{
    for (int64_t n = 0; n < size * size; n++) {
        a[n] = n / size < n % size ? a[n % size * size + n / size] : a[n];
    }
    fill_identity(vectors, size);
    for (int sweep = 0; sweep < SWEEPS_MAX && size_off_diagonal(a, size) > 0; sweep++) {
        for (int64_t p = 0; p < size; p++) {
            for (int64_t q = p + 1; q < size; q++) {
                const int64_t pair[2] = {p, q};
                if (a[p * size + q] == 0) {
                    continue;
                }
                double tangent = tangent_of(a[p * size + p], a[q * size + q], a[p * size + q]);
                double cosine = 1 / sqrt(1 + tangent * tangent);
                rotate_columns(a, size, size, pair, cosine, cosine * tangent);
                rotate_rows(a, size, pair, cosine, cosine * tangent);
                rotate_columns(vectors, size, size, pair, cosine, cosine * tangent);
                a[p * size + q] = 0;
                a[q * size + p] = 0;
            }
        }
    }
    for (int64_t n = 0; n < size; n++) {
        values[n] = a[n * (size + 1)];
    }
    sort_columns(values, size, true, vectors, size, NULL);
}
