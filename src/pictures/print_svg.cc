// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <set>

#include "pictures/print_rows.h"

namespace unisono::pictures {
namespace {

constexpr int left = 130;       // of the first node's box: room for the names of stages and rounds
constexpr int arrow_unit = 44;  // height of a unit of virtual time in which a message travels
constexpr int local_unit = 26;  // of all others
constexpr int box_height = 18;
constexpr int letter_width = 6;  // of the small print, about
constexpr int node_gap = 16;

struct Style {
  Look look;
  const char* colour;
  const char* meaning;
};
constexpr Style styles[] = {{Look::reduce, "#f2b8a0", "reduce"},
                            {Look::copy, "#dcdcdc", "copy"},
                            {Look::put, "#b7dfb0", "put (into shared memory)"},
                            {Look::get, "#b5d4f0", "get (out of it)"},
                            {Look::flag, "#fbf1c0", "flags"},
                            {Look::fused, "#d9c3ec", "fused, on the node"}};

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

std::string attribute(const char* key, int value) {
  return std::string(" ") + key + "=\"" + std::to_string(value) + "\"";
}

std::string text_at(int x, int y, const char* css, const std::string& words) {
  return std::string("<text class=\"") + css + "\"" + attribute("x", x) + attribute("y", y) + ">" +
         escaped(words) + "</text>\n";
}

std::string line(const char* css, int x1, int y1, int x2, int y2) {
  return std::string("<line class=\"") + css + "\"" + attribute("x1", x1) + attribute("y1", y1) +
         attribute("x2", x2) + attribute("y2", y2) + "/>\n";
}

std::string box(const std::string& css, int x, int y, int width, int height, const std::string& rest) {
  return "<rect class=\"" + css + "\"" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
         attribute("height", height) + rest;
}

class Drawing {
 public:
  explicit Drawing(const Picture& picture) : picture_(picture), rows_(rows_of(picture)) {
    const int ranks = picture.layout->size();
    step_ = ranks <= 8 ? 84 : ranks <= 24 ? 72 : 40;
    place_columns();
  }

  std::string draw() {
    std::string body = heading();
    top_ = y_;
    y_ += 56;
    std::string back, front;
    int stage = -1;
    for (const DrawnRow& row : rows_) {
      if (row.stage != stage) back += stage_border(stage = row.stage);
      draw_row(row, &back, &front);
    }
    const int bottom = y_ + 6;
    body += columns(bottom) + back + front;
    y_ = bottom + 34;
    body += legend();
    return head() + body + "</svg>\n";
  }

 private:
  void place_columns() {
    x_of_.resize(picture_.programs.size());
    int x = left;
    for (const std::vector<int>& node : picture_.layout->ranks_of) {
      for (std::size_t i = 0; i < node.size(); ++i)
        x_of_[node[i]] = x + step_ / 2 + static_cast<int>(i) * step_;
      x += static_cast<int>(node.size()) * step_ + node_gap;
    }
    width_ = std::max(x - node_gap + 24, 760);
  }

  std::string head() const {
    const std::string size = attribute("width", width_) + attribute("height", y_);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + size + " viewBox=\"0 0 " + std::to_string(width_) +
           " " + std::to_string(y_) +
           "\" font-family=\"Helvetica, Arial, sans-serif\">\n"
           "<title>" +
           escaped(title_of(picture_)) +
           "</title>\n<style>\n"
           ".name{font-size:18px;font-weight:bold;fill:#222} .say{font-size:12px;fill:#444}\n"
           ".small{font-size:10px;fill:#777} .stage{font-size:12px;font-weight:bold;fill:#333}\n"
           ".mid{font-size:12px;font-weight:bold;fill:#222;text-anchor:middle}\n"
           ".word{font-size:10px;fill:#222;text-anchor:middle}\n"
           ".node{fill:#f3f5f8;stroke:#c9d1da} .life{stroke:#9aa5b1} "
           ".round{stroke:#d5dbe1;stroke-dasharray:2 4}\n"
           ".border{stroke:#8a949e} .message{stroke-width:1.5} .token{stroke-dasharray:5 3}\n"
           ".inner{stroke:#2f6fb0} .outer{stroke:#c0392b} .step{stroke:#6b7580;stroke-width:.7}\n"
           "</style>\n<defs>\n" +
           marker("inner_tip", "#2f6fb0") + marker("outer_tip", "#c0392b") +
           "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  }

  static std::string marker(const char* id, const char* colour) {
    return std::string("<marker id=\"") + id +
           "\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" "
           "orient=\"auto\">"
           "<path d=\"M0 1L10 5L0 9z\" fill=\"" +
           colour + "\"/></marker>\n";
  }

  std::string heading() {
    std::string text;
    y_ = 10;
    const int say_columns = (width_ - 48) / 6;
    for (const std::string& words : wrapped(title_of(picture_), (width_ - 48) / 10)) {
      text += text_at(24, y_ += 22, "name", words);
    }
    const std::string source = picture_.source.empty() ? "" : "Source: " + picture_.source;
    for (const std::string& all : {picture_.sentence, source, parameters_of(picture_)}) {
      for (const std::string& words : wrapped(all, say_columns)) text += text_at(24, y_ += 18, "say", words);
    }
    y_ += 18;
    return text;
  }

  // Nodes as boxes, ranks as lifelines.
  std::string columns(int bottom) const {
    std::string text;
    const patterns::Layout& layout = *picture_.layout;
    for (int node = 0; node < layout.nodes(); ++node) {
      const std::vector<int>& ranks = layout.ranks_of[node];
      const int x = x_of_[ranks.front()] - step_ / 2;
      const int width = static_cast<int>(ranks.size()) * step_;
      text += box("node", x, top_, width, bottom - top_ + 8, " rx=\"6\"/>\n");
      text += text_at(x + width / 2, top_ + 17, "mid", std::string("node ") + std::to_string(node));
      for (const int rank : ranks) {
        text += line("life", x_of_[rank], top_ + 42, x_of_[rank], bottom);
        text += text_at(x_of_[rank], top_ + 37, "mid", std::to_string(rank));
      }
    }
    return text;
  }

  std::string stage_border(int stage) {
    std::string text = line("border", 16, y_, width_ - 16, y_);
    int y = y_ + 16;
    text += text_at(16, y, "stage", std::string("stage ") + std::to_string(stage));
    const std::vector<std::string> lines = wrapped(stage_words(picture_, stage), (left - 20) / 5);
    for (const std::string& words : lines) text += text_at(16, y += 13, "small", words);
    stage_end_ = y + 8;
    y_ += 6;
    return text;
  }

  void draw_row(const DrawnRow& row, std::string* back, std::string* front) {
    const std::vector<int> at = heights(row);
    if (y_ > stage_end_ - 20) *back += line("round", left, y_, width_ - 24, y_);
    *back += text_at(left - 52, y_ + 10, "small", std::string("round ") + std::to_string(row.round));
    std::map<std::pair<int, int>, int> between;  // messages of one pair lie beside each other
    for (const DrawnStep& drawn : row.steps) {
      if (drawn.step.kind == schedule::StepKind::send) {
        const int beside = 5 * between[{drawn.rank, drawn.step.peer}]++;
        *back += arrow(drawn, at[drawn.start] + beside, at[row.steps[drawn.partner].end] + beside);
      } else if (drawn.step.kind != schedule::StepKind::recv) {
        *front += local(drawn, (at[drawn.end - 1] + at[drawn.end]) / 2);
      }
    }
    y_ = std::max(at.back() + 12, y_);
  }

  // Where each unit of virtual time begins, and the last ends.
  std::vector<int> heights(const DrawnRow& row) const {
    const int duration = row.duration();
    std::vector<int> unit(static_cast<std::size_t>(duration), local_unit);
    for (const DrawnStep& drawn : row.steps) {
      if (drawn.step.kind == schedule::StepKind::send) unit[drawn.start] = arrow_unit;
    }
    std::vector<int> at{y_ + 8};
    for (const int height : unit) at.push_back(at.back() + height);
    return at;
  }

  std::string arrow(const DrawnStep& drawn, int from_y, int to_y) const {
    const patterns::Layout& layout = *picture_.layout;
    const bool is_inner = layout.node_of[drawn.rank] == layout.node_of[drawn.step.peer];
    std::string css = std::string("message ") + (is_inner ? "inner" : "outer");
    if (is_token(picture_, drawn)) css += " token";
    std::string text = line(css.c_str(), x_of_[drawn.rank], from_y, x_of_[drawn.step.peer], to_y);
    text.replace(text.size() - 3, 3,
                 std::string(" marker-end=\"url(#") + (is_inner ? "inner" : "outer") + "_tip)\">");
    return text + "<title>" + escaped(long_words(picture_, drawn)) + "</title></line>\n";
  }

  std::string local(const DrawnStep& drawn, int y) const {
    const Look look = look_of(drawn.step);
    const auto* style =
        std::find_if(std::begin(styles), std::end(styles), [&](const Style& s) { return s.look == look; });
    const std::string words = look == Look::reduce ? "reduce" : short_words(picture_, drawn);
    const bool has_room = step_ >= 72;
    const int width = has_room ? columns_of(words) * letter_width + 8 : 16;
    std::string text = box("step", x_of_[drawn.rank] - width / 2, y - box_height / 2, width, box_height,
                           std::string(" rx=\"3\" fill=\"") + style->colour + "\"><title>");
    text += escaped(long_words(picture_, drawn)) + "</title></rect>\n";
    if (has_room) text += text_at(x_of_[drawn.rank], y + 4, "word", words);
    return text;
  }

  // Of what occurs.
  std::string legend() {
    std::string text;
    std::set<Look> looks;
    bool has_inner = false, has_outer = false, has_token = false;
    for (const DrawnRow& row : rows_) {
      for (const DrawnStep& drawn : row.steps) {
        looks.insert(look_of(drawn.step));
        if (drawn.step.kind != schedule::StepKind::send) continue;
        const bool is_inner =
            picture_.layout->node_of[drawn.rank] == picture_.layout->node_of[drawn.step.peer];
        (is_inner ? has_inner : has_outer) = true;
        has_token = has_token || is_token(picture_, drawn);
      }
    }
    int x = 24;
    const auto put = [&](const std::string& sign, const std::string& words) {
      text += sign + text_at(x + 30, y_ + 4, "say", words);
      x += 30 + columns_of(words) * 7 + 16;
      if (x > width_ - 170) {
        x = 24;
        y_ += 22;
      }
    };
    if (has_inner) put(line("border inner", x, y_, x + 24, y_), "message inside a node");
    if (has_outer) put(line("border outer", x, y_, x + 24, y_), "message between nodes");
    if (has_token) put(line("border token", x, y_, x + 24, y_), "dashed: carries nothing");
    for (const Style& style : styles) {
      if (looks.count(style.look) == 0) continue;
      put(box("step", x, y_ - 7, 24, 14, std::string(" rx=\"3\" fill=\"") + style.colour + "\"/>\n"),
          style.meaning);
    }
    y_ += 24;
    return text;
  }

  const Picture& picture_;
  std::vector<DrawnRow> rows_;
  std::vector<int> x_of_;  // by rank
  int step_ = 0;           // from one rank to the next
  int width_ = 0;
  int top_ = 0;
  int stage_end_ = 0;  // where the words about the stage end, in the margin
  int y_ = 0;          // how far it is drawn
};

}  // namespace

std::string to_svg(const Picture& picture) {
  return Drawing(picture).draw();
}

}  // namespace unisono::pictures
