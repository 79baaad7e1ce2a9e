// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <set>

#include "pictures/print_rows.h"
#include "pictures/print_timeline.h"

namespace unisono::pictures {
namespace {

constexpr int margin = 8;  // "  12    ": the round's number
constexpr int widest_cell = 10;
constexpr const char* border = "│";

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::string padded(const std::string& text, int width) {
  return text + repeated(" ", width - columns_of(text));
}

// The words of a cell, what is repeated counted: "put", "get 0", "⊕×3".
using Words = std::vector<std::string>;
Words counted_words(const Words& all) {
  Words words;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t next = i;
    while (next < all.size() && all[next] == all[i]) ++next;
    words.push_back(all[i] + (next - i > 1 ? std::string("×") + std::to_string(next - i) : ""));
    i = next;
  }
  return words;
}

// Of each rank what it does in this row.
std::vector<Words> cells_of(const Picture& picture, const DrawnRow& row) {
  std::vector<Words> cells(picture.programs.size());
  for (const DrawnStep& drawn : row.steps) cells[drawn.rank].push_back(short_words(picture, drawn));
  for (Words& words : cells) words = counted_words(words);
  return cells;
}

// A cell as lines; words such as "get 0" stay whole.
std::vector<std::string> cell_lines(const Words& words, int width) {
  if (words.empty()) return {"·"};
  std::vector<std::string> lines;
  for (const std::string& word : words) {
    if (!lines.empty() && columns_of(lines.back()) + 1 + columns_of(word) <= width) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

// Ranks side by side, a node beside the next.
class Grid {
 public:
  Grid(const Picture& picture, const std::vector<DrawnRow>& rows, int width) : picture_(picture) {
    const patterns::Layout& layout = *picture.layout;
    const int room = (width - margin - layout.nodes() - 1) / layout.size() - 1;
    int longest = 2;
    int longest_cell = 2;
    for (const DrawnRow& row : rows) {
      for (const Words& words : cells_of(picture, row)) {
        int length = 0;
        for (const std::string& word : words) {
          longest = std::max(longest, columns_of(word));
          length += columns_of(word) + 1;
        }
        longest_cell = std::max(longest_cell, length - 1);
      }
    }
    fits_ = longest <= room;
    cell_ = std::min({room, std::max(longest, widest_cell), std::max(longest_cell, 3)});
  }

  bool fits() const { return fits_; }

  std::string header() const {
    const patterns::Layout& layout = *picture_.layout;
    std::string nodes = repeated(" ", margin) + border;
    std::string ranks = padded("round", margin) + border;
    for (int node = 0; node < layout.nodes(); ++node) {
      const int width = static_cast<int>(layout.ranks_of[node].size()) * (cell_ + 1);
      const std::string number = std::to_string(node);
      nodes += ' ';
      nodes += padded(columns_of(number) + 6 <= width ? std::string("node ") + number : number, width - 1);
      nodes += border;
      for (const int rank : layout.ranks_of[node]) {
        ranks += ' ';
        ranks += padded(std::to_string(rank), cell_);
      }
      ranks += border;
    }
    nodes.append("\n").append(ranks).append("\n");
    return nodes;
  }

  std::string rule(const std::string& label) const {
    std::string line = label.empty() ? label : label + " ";
    return line + repeated("─", std::max(0, full_width() - columns_of(line))) + "\n";
  }

  std::string draw(const DrawnRow& row) const {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 0;
    for (const Words& words : cells_of(picture_, row)) {
      cells.push_back(cell_lines(words, cell_));
      height = std::max(height, cells.back().size());
    }
    std::string text;
    for (std::size_t line = 0; line < height; ++line) {
      text += padded(line == 0 ? std::string("  ") + std::to_string(row.round) : "", margin) + border;
      for (const std::vector<int>& node : picture_.layout->ranks_of) {
        for (const int rank : node) {
          text += padded(line < cells[rank].size() ? " " + cells[rank][line] : "", cell_ + 1);
        }
        text += border;
      }
      text += "\n";
    }
    return text;
  }

 private:
  int full_width() const {
    return margin + 1 + picture_.layout->size() * (cell_ + 1) + picture_.layout->nodes();
  }

  const Picture& picture_;
  bool fits_ = false;
  int cell_ = 0;
};

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// A line for each rank that does something in this round.
std::string list_row(const Picture& picture, const DrawnRow& row, int width) {
  std::string text = std::string("  round ") + std::to_string(row.round) + "\n";
  const std::vector<Words> cells = cells_of(picture, row);
  const int label_width = static_cast<int>(std::to_string(cells.size() - 1).size()) + 11;
  const int node_width = static_cast<int>(std::to_string(picture.layout->nodes() - 1).size()) + 7;
  for (std::size_t rank = 0; rank < cells.size(); ++rank) {
    if (cells[rank].empty()) continue;
    const std::string node = std::string("node ") + std::to_string(picture.layout->node_of[rank]);
    const std::string label =
        padded(std::string("    rank ") + std::to_string(rank), label_width) + padded(node, node_width);
    const std::vector<std::string> lines = wrapped(joined(cells[rank]), width - label_width - node_width);
    for (std::size_t line = 0; line < lines.size(); ++line) {
      text += line == 0 ? label : repeated(" ", label_width + node_width);
      text += lines[line] + "\n";
    }
  }
  return text;
}

// What the signs mean, of those that occur.
std::string legend_of(const std::vector<DrawnRow>& rows, int width) {
  std::set<Look> looks;
  std::set<schedule::StepKind> kinds;
  for (const DrawnRow& row : rows) {
    for (const DrawnStep& drawn : row.steps) {
      looks.insert(look_of(drawn.step));
      kinds.insert(drawn.step.kind);
    }
  }
  std::string text;
  const auto add = [&text](bool occurs, const char* words) {
    if (occurs) text += (text.empty() ? "" : "; ") + std::string(words);
  };
  add(looks.count(Look::send) > 0, "→3 sends to rank 3");
  add(looks.count(Look::recv) > 0, "←0 receives from rank 0");
  add(looks.count(Look::reduce) > 0, "⊕ reduces");
  add(looks.count(Look::copy) > 0, "copy: within the rank's own memory");
  add(looks.count(Look::put) > 0, "put: copies into shared memory");
  add(looks.count(Look::get) > 0, "get 0: copies out of shared memory, or out of rank 0's buffer");
  add(kinds.count(schedule::StepKind::signal) > 0, "signal: raises its flag");
  add(kinds.count(schedule::StepKind::await) > 0, "await 0: for rank 0's flag");
  add(kinds.count(schedule::StepKind::await_all) > 0, "await all: for all flags of the node");
  add(kinds.count(schedule::StepKind::await_space) > 0, "space: awaits a free slot");
  add(kinds.count(schedule::StepKind::expose) > 0, "expose: lets the node see its buffers");
  add(looks.count(Look::fused) > 0, "the name of an operation: a fused step of the whole node");
  add(true, "· nothing; ×2 twice");
  std::string lines;
  for (const std::string& line : wrapped(text, width)) lines += line + "\n";
  return lines;
}

}  // namespace

std::string to_text(const Picture& picture, int width) {
  const std::vector<DrawnRow> rows = rows_of(picture);
  const Grid grid(picture, rows, width);
  std::string text;
  const auto add_wrapped = [&](const std::string& words) {
    for (const std::string& line : wrapped(words, width)) text += line + "\n";
  };
  add_wrapped(title_of(picture));
  add_wrapped(picture.sentence);
  if (!picture.source.empty()) add_wrapped("Source: " + picture.source);
  add_wrapped(parameters_of(picture));
  text += "\n";
  if (grid.fits()) text += grid.header();
  int stage = -1;
  for (const DrawnRow& row : rows) {
    if (row.stage != stage) {
      stage = row.stage;
      const std::string words = stage_words(picture, stage);
      const std::string label =
          std::string("stage ") + std::to_string(stage) + (words.empty() ? "" : ": " + words);
      text += grid.fits() ? grid.rule(label) : label + "\n";
    }
    text += grid.fits() ? grid.draw(row) : list_row(picture, row, width);
  }
  if (rows.empty()) text += "Nothing is to be done.\n";
  if (grid.fits()) text += grid.rule("");
  text += std::string("\n") + legend_of(rows, width);
  const std::string timeline = timeline_of(picture, width);
  if (!timeline.empty()) text += "\n" + timeline;
  return text;
}

}  // namespace unisono::pictures
