/* Decompositions of small dense matrices of doubles, row by row in memory.
 *
 * Where the mathematics leaves signs of vectors open, they are whatever the rotations give.
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Lower triangle L with L × Lᵀ = a, in place; zeros above. False when `a` is not positive definite. */
bool matrices_cholesky(double *a, int64_t size);

/* P × a = L × U in place, with partial pivoting; rows[size] tells where each row came from. Gives the sign of
 * the permutation, 0 when `a` is singular. */
int matrices_factor(double *a, int64_t *rows, int64_t size);

/* a × x = b for the columns of b, of the factors that matrices_factor() gave; `x` is another array. */
void matrices_solve(
    const double *factors, const int64_t *rows, int64_t size, const double *b, double *x, int64_t columns);

/* a × x = b in place of b, where `a` is triangular. */
void matrices_solve_triangular(const double *a, bool is_lower, int64_t size, double *b, int64_t columns);

/* Eigenvalues in ascending order of a symmetric matrix, of which the lower triangle is read and all is
 * overwritten; the eigenvectors are columns. By Jacobi's rotations. */
void matrices_eigen(double *a, int64_t size, double *values, double *vectors);

/* a[rows × columns] = u × diag(values) × vᵀ, rows ≥ columns: `a` becomes the first `columns` of u, v is
 * [columns × columns]; values descend. By one-sided Jacobi rotations. */
void matrices_svd(double *a, int64_t rows, int64_t columns, double *values, double *v);

/* Completes orthonormal columns: the first `count` columns of q[size × size] are given. */
void matrices_complete(double *q, int64_t size, int64_t count);
