// SPDX-License-Identifier: BSD-3-Clause
#include "cache.h"

namespace matmul {
namespace {

// Three nested loops. The fewest instructions, and the most cache misses where the matrices are larger than
// the cache.
void simple(View c, View a, View b, int) {
  for (int i = 0; i < c.rows; ++i) {
    for (int j = 0; j < c.columns; ++j) {
      const double* a_row = a.row(i);
      const double* b_column = b.data + j;
      double sum = 0;
      for (int k = 0; k < a.columns; ++k) sum += a_row[k] * b_column[static_cast<long>(k) * b.stride];
      c.row(i)[j] += sum;
    }
  }
}

// One square block of C after the other, of whole strips of A and B.
void blocking_c(View c, View a, View b, int side) {
  for (int i = 0; i < c.rows; i += side) {
    for (int j = 0; j < c.columns; j += side) {
      simple(c.part(i, j, side, side), a.part(i, 0, side, a.columns), b.part(0, j, b.rows, side), side);
    }
  }
}

// A square block of A stays in the cache until it has been multiplied by all blocks of B that it meets.
void blocking_a(View c, View a, View b, int side) {
  for (int i = 0; i < c.rows; i += side) {
    for (int k = 0; k < a.columns; k += side) {
      for (int j = 0; j < c.columns; j += side) {
        simple(c.part(i, j, side, side), a.part(i, k, side, side), b.part(k, j, side, side), side);
      }
    }
  }
}

// C += A B for square matrices of `side` times a power of two.
using SquareAlgorithm = void (*)(View c, View a, View b, int side);

// What the first `rows` x `depth` of A and `depth` x `columns` of B leave out of the product.
struct Covered {
  int rows, columns, depth;
};

void add_edges(View c, View a, View b, const Covered& done, int side) {
  const auto [rows, columns, depth] = done;
  simple(c.part(0, 0, rows, columns), a.part(0, depth, rows, a.columns), b.part(depth, 0, b.rows, columns),
         side);
  simple(c.part(0, columns, rows, c.columns), a.part(0, 0, rows, a.columns),
         b.part(0, columns, b.rows, b.columns), side);
  simple(c.part(rows, 0, c.rows, c.columns), a.part(rows, 0, a.rows, a.columns), b, side);
}

// Squares of one size as far as they reach, by `multiply`; what is left at the edges by the simple loops.
void in_squares(View c, View a, View b, int square, int side, SquareAlgorithm multiply) {
  const int rows = c.rows / square * square;
  const int columns = c.columns / square * square;
  const int depth = a.columns / square * square;
  for (int i = 0; i < rows; i += square) {
    for (int j = 0; j < columns; j += square) {
      for (int k = 0; k < depth; k += square) {
        multiply(c.part(i, j, square, square), a.part(i, k, square, square), b.part(k, j, square, square),
                 side);
      }
    }
  }
  add_edges(c, a, b, {rows, columns, depth}, side);
}

int largest_square(View c, View a, int side) {
  const int most = std::min({c.rows, c.columns, a.columns});
  int square = side;
  while (square * 2 <= most) square *= 2;
  return square;
}

// As blocking_a, but all three matrices are copied first, so that each block lies in one piece.
void copied_blocking_a(View c, View a, View b, int side) {
  Blocks packed_c(c, side), packed_a(a, side), packed_b(b, side);
  packed_c.take(c);
  packed_a.take(a);
  packed_b.take(b);
  for (int i = 0; i < packed_a.down(); ++i) {
    for (int k = 0; k < packed_a.across(); ++k) {
      for (int j = 0; j < packed_b.across(); ++j) {
        simple(packed_c.block(i, j), packed_a.block(i, k), packed_b.block(k, j), side);
      }
    }
  }
  packed_c.give(c);
}

void transform_blocking_a(View c, View a, View b, int side) {
  // Whole blocks are transformed, the edges are not.
  const int rows = c.rows / side * side;
  const int columns = c.columns / side * side;
  const int depth = a.columns / side * side;
  copied_blocking_a(c.part(0, 0, rows, columns), a.part(0, 0, rows, depth), b.part(0, 0, depth, columns),
                    side);
  add_edges(c, a, b, {rows, columns, depth}, side);
}

// Quadrants in the order of a U: upper left, lower left, lower right, upper right.
constexpr int quadrant[2][2] = {{0, 3}, {1, 2}};

// Copies a square to or from the recursive layout, in which each quadrant lies in one piece, and so on inside
// of it.
template <typename Copy>
void for_each_block(View square, double* recursive, int side, Copy copy_block) {
  if (square.rows <= side) {
    copy_block(square, View{recursive, square.rows, square.columns, square.columns});
    return;
  }
  const int half = square.rows / 2;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      for_each_block(square.part(i * half, j * half, half, half),
                     recursive + static_cast<long>(quadrant[i][j]) * half * half, side, copy_block);
    }
  }
}

void multiply_recursive(double* c, double* a, double* b, int size, int side) {
  if (size <= side) {
    simple({c, size, size, size}, {a, size, size, size}, {b, size, size, size}, side);
    return;
  }
  const long half = size / 2;
  const long part = half * half;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      for (int k = 0; k < 2; ++k) {
        multiply_recursive(c + quadrant[i][j] * part, a + quadrant[i][k] * part, b + quadrant[k][j] * part,
                           static_cast<int>(half), side);
      }
    }
  }
}

void recursive_square(View c, View a, View b, int side) {
  const std::size_t count = static_cast<std::size_t>(c.rows) * c.rows;
  std::vector<double> of_c(count), of_a(count), of_b(count);
  const auto in = [](View square, View block) { copy(square, block); };
  for_each_block(c, of_c.data(), side, in);
  for_each_block(a, of_a.data(), side, in);
  for_each_block(b, of_b.data(), side, in);
  multiply_recursive(of_c.data(), of_a.data(), of_b.data(), c.rows, side);
  for_each_block(c, of_c.data(), side, [](View square, View block) { copy(block, square); });
}

void recursive(View c, View a, View b, int side) {
  in_squares(c, a, b, largest_square(c, a, side), side, recursive_square);
}

void add(View to, View what, double factor) {
  for (int i = 0; i < to.rows; ++i) {
    for (int j = 0; j < to.columns; ++j) to.row(i)[j] += factor * what.row(i)[j];
  }
}

Matrix sum(View one, View other, double factor) {
  Matrix made(one.rows, one.columns);
  copy(one, made.view());
  add(made.view(), other, factor);
  return made;
}

// Seven products of half the size instead of eight.
void strassen_square(View c, View a, View b, int side) {
  if (c.rows <= side) return simple(c, a, b, side);
  const int half = c.rows / 2;
  const auto part = [half](View whole, int i, int j) { return whole.part(i * half, j * half, half, half); };
  const View a11 = part(a, 0, 0), a12 = part(a, 0, 1), a21 = part(a, 1, 0), a22 = part(a, 1, 1);
  const View b11 = part(b, 0, 0), b12 = part(b, 0, 1), b21 = part(b, 1, 0), b22 = part(b, 1, 1);
  const View c11 = part(c, 0, 0), c12 = part(c, 0, 1), c21 = part(c, 1, 0), c22 = part(c, 1, 1);
  const auto product = [&](View left, View right) {
    Matrix made(half, half);
    strassen_square(made.view(), left, right, side);
    return made;
  };
  const auto into = [](Matrix made, View first, double first_factor, View second, double second_factor) {
    add(first, made.view(), first_factor);
    if (second.data != nullptr) add(second, made.view(), second_factor);
  };
  into(product(sum(a11, a22, 1).view(), sum(b11, b22, 1).view()), c11, 1, c22, 1);
  into(product(sum(a21, a22, 1).view(), b11), c21, 1, c22, -1);
  into(product(a11, sum(b12, b22, -1).view()), c12, 1, c22, 1);
  into(product(a22, sum(b21, b11, -1).view()), c11, 1, c21, 1);
  into(product(sum(a11, a12, 1).view(), b22), c11, -1, c12, 1);
  into(product(sum(a21, a11, -1).view(), sum(b11, b12, 1).view()), c22, 1, {}, 0);
  into(product(sum(a12, a22, -1).view(), sum(b21, b22, 1).view()), c11, 1, {}, 0);
}

void strassen(View c, View a, View b, int side) {
  in_squares(c, a, b, largest_square(c, a, side), side, strassen_square);
}

}  // namespace

const std::vector<NamedCacheAlgorithm>& cache_algorithms() {
  static const std::vector<NamedCacheAlgorithm> all = {
      {"simple", simple, "three nested loops"},
      {"blocking-c", blocking_c, "one square block of C after the other"},
      {"blocking-a", blocking_a, "a square block of A stays in the cache"},
      {"transform-blocking-a", transform_blocking_a, "the same on copies in which each block is one piece"},
      {"recursive", recursive, "quadrants of quadrants, on copies in the order of a U"},
      {"strassen", strassen, "Strassen's seven products of half the size, recursively"},
  };
  return all;
}

int block_side(int bytes) {
  int side = 2;
  while (4L * side * side * static_cast<long>(sizeof(double)) <= bytes) side *= 2;
  return side;
}

}  // namespace matmul
