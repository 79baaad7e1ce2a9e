// SPDX-License-Identifier: BSD-3-Clause
// Files of the format Matrix Market: a line that says what follows, comments, sizes, one element a line.
#include <algorithm>
#include <cctype>
#include <climits>
#include <cmath>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "matrix.h"

namespace spmm {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(path) {
    if (!file_) throw std::runtime_error(path + ": the file cannot be opened");
  }

  SparseMatrix read() {
    read_head();
    const std::int64_t count = read_sizes();
    std::vector<Element> elements;
    elements.reserve(static_cast<std::size_t>(std::min<std::int64_t>(count, 1 << 20)));
    for (std::int64_t number = 0; number < count; ++number) {
      if (!next_line()) {
        fail("the file ends after " + std::to_string(number) + " of " + std::to_string(count) + " elements");
      }
      take(elements);
    }
    if (next_line()) fail("there are more elements than the " + std::to_string(count) + " that were told");
    return by_rows(rows_, columns_, std::move(elements));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(path_ + ":" + std::to_string(line_number_) + ": " + what);
  }

  void read_head() {
    std::string text, banner, object, form, field, symmetry;
    line_number_ = 1;
    std::getline(file_, text);
    std::istringstream words(text);
    words >> banner >> object >> form >> field >> symmetry;
    for (std::string* word : {&object, &form, &field, &symmetry}) {
      std::transform(word->begin(), word->end(), word->begin(),
                     [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    }
    if (banner != "%%MatrixMarket" || object != "matrix") {
      fail("this is no file of the format Matrix Market, which begins with '%%MatrixMarket matrix'");
    }
    if (form != "coordinate") fail("'" + form + "': only sparse matrices are read, which are 'coordinate'");
    if (field != "real" && field != "integer" && field != "pattern") {
      fail("'" + field + "': only real, integer and pattern are read");
    }
    if (symmetry != "general" && symmetry != "symmetric" && symmetry != "skew-symmetric") {
      fail("'" + symmetry + "': only general, symmetric and skew-symmetric are read");
    }
    is_pattern_ = field == "pattern";
    is_mirrored_ = symmetry != "general";
    mirrored_sign_ = symmetry == "skew-symmetric" ? -1.0 : 1.0;
  }

  // The next line with something in it, which is no comment.
  bool next_line() {
    while (std::getline(file_, line_)) {
      ++line_number_;
      const std::size_t first = line_.find_first_not_of(" \t\r");
      if (first != std::string::npos && line_[first] != '%') return true;
    }
    return false;
  }

  std::int64_t read_sizes() {
    std::int64_t rows = 0, columns = 0, count = 0;
    if (!next_line()) fail("the sizes of the matrix are missing");
    std::istringstream words(line_);
    if (!(words >> rows >> columns >> count) || rows < 1 || columns < 1 || count < 0 || rows > INT_MAX ||
        columns > INT_MAX) {
      fail("'" + line_ + "': rows, columns and the number of elements were expected");
    }
    if (is_mirrored_ && rows != columns) fail("a symmetric matrix must be square");
    rows_ = static_cast<int>(rows);
    columns_ = static_cast<int>(columns);
    return count;
  }

  void take(std::vector<Element>& elements) const {
    std::int64_t row = 0, column = 0;
    double value = 1.0;
    std::istringstream words(line_);
    words >> row >> column;
    if (!is_pattern_) words >> value;
    if (!words) {
      fail("'" + line_ + "': row and column" + (is_pattern_ ? "" : " and value") + " were expected");
    }
    if (row < 1 || row > rows_ || column < 1 || column > columns_) {
      fail("element " + std::to_string(row) + ", " + std::to_string(column) + " lies outside of the matrix");
    }
    const int at = static_cast<int>(row) - 1, across = static_cast<int>(column) - 1;
    elements.push_back({at, across, value});
    if (is_mirrored_ && at != across) elements.push_back({across, at, mirrored_sign_ * value});
  }

  std::string path_;
  std::ifstream file_;
  std::string line_;
  std::int64_t line_number_ = 0;
  int rows_ = 0;
  int columns_ = 0;
  bool is_pattern_ = false;
  bool is_mirrored_ = false;
  double mirrored_sign_ = 1.0;
};

}  // namespace

SparseMatrix read_matrix_market(const std::string& path) {
  return Reader(path).read();
}

void write_matrix_market(const std::string& path, int rows, int columns,
                         const std::vector<double>& elements) {
  std::ofstream file(path);
  file.precision(17);
  file << "%%MatrixMarket matrix array real general\n" << rows << " " << columns << "\n";
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) file << elements[static_cast<std::size_t>(i) * columns + j] << "\n";
  }
  if (!file.flush()) throw std::runtime_error(path + ": the file cannot be written");
}

}  // namespace spmm
