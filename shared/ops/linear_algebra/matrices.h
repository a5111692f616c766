/* Decompositions of small dense matrices of doubles in row-major order.
 *
 * Signs of vectors that the mathematics leaves open are those that the rotations give.
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Computes the lower triangle L with L × Lᵀ = a, in place; zeros above. False when `a` is not positive
 * definite. */
bool matrices_cholesky(double *a, int64_t size);

/* Computes P × a = L × U in place, with partial pivoting; rows[size] tells where each row came from.
 * Returns the sign of the permutation, 0 when `a` is singular. */
int matrices_factor(double *a, int64_t *rows, int64_t size);

/* Solves a × x = b for the columns of b, with the factors from matrices_factor(); `x` is another array. */
void matrices_solve(
    const double *factors, const int64_t *rows, int64_t size, const double *b, double *x, int64_t columns);

/* Solves a × x = b in place of b, where `a` is triangular. */
void matrices_solve_triangular(const double *a, bool is_lower, int64_t size, double *b, int64_t columns);

/* Computes the eigenvalues of a symmetric matrix in ascending order; its lower triangle is read and all of
 * it overwritten. The eigenvectors are columns. Jacobi's rotations. */
void matrices_eigen(double *a, int64_t size, double *values, double *vectors);

/* Computes a[rows × columns] = u × diag(values) × vᵀ for rows ≥ columns: `a` becomes the first `columns`
 * of u, v is [columns × columns]; values descend. One-sided Jacobi rotations. */
void matrices_svd(double *a, int64_t rows, int64_t columns, double *values, double *v);

/* Completes orthonormal columns: the first `count` columns of q[size × size] are given. */
void matrices_complete(double *q, int64_t size, int64_t count);
