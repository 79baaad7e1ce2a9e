// SPDX-License-Identifier: BSD-3-Clause
// Layouts as people write them.
#include "patterns/layout_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <numeric>
#include <utility>

namespace unisono::patterns {

namespace {

constexpr std::int64_t max_parsed_ranks = 1 << 20;
constexpr std::string_view cyclic_suffix = "/cyclic", interleaved_suffix = "/interleaved";

// --- Reading ---

// Ranks that no level divides, and the domain that they are in on each level.
struct Leaf {
  std::vector<int> path;
  int ranks = 0;
};
using Node = std::vector<Leaf>;

struct Nodes {
  std::vector<Node> kinds;
  std::vector<std::size_t> kind_of;  // by node
};

// Reads what stands before the suffixes, from left to right; a false answer ends it.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<Nodes> nodes() {
    do {
      if (!item()) return std::nullopt;
    } while (take(','));
    return text_.empty() ? std::optional(std::move(nodes_)) : std::nullopt;
  }

 private:
  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  std::optional<int> number() {
    int value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc{} || value < 1 || value > max_parsed_ranks) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }

  // "4x2x8", "4x(3+5)", or one node: "8", "3+5".
  bool item() {
    std::vector<int> counts;
    const std::string_view begin = text_;
    while (const auto count = number()) {
      if (!take('x')) {
        if (!counts.empty()) return add_product(counts, {Leaf{.path = {}, .ranks = *count}});
        break;
      }
      counts.push_back(*count);
      if (std::ssize(counts) > most_domain_levels + 1) return false;
    }
    Node node;
    if (counts.empty()) {
      text_ = begin;
      return sum({}, &node) && add(1, std::move(node));
    }
    return take('(') && sum({}, &node) && take(')') && add_product(counts, std::move(node));
  }

  // So many nodes, each of so many domains, and so on; `inner` is what each of the last is.
  bool add_product(const std::vector<int>& counts, Node inner) {
    for (std::size_t i = counts.size(); i-- > 1;) {
      Node outer;
      if (std::ssize(inner) * counts[i] > max_parsed_ranks) return false;
      for (int domain = 0; domain < counts[i]; ++domain) {
        for (Leaf leaf : inner) {
          leaf.path.insert(leaf.path.begin(), domain);
          outer.push_back(std::move(leaf));
        }
      }
      inner = std::move(outer);
    }
    return add(counts.front(), std::move(inner));
  }

  bool add(int count, Node node) {
    std::int64_t ranks = 0;
    for (const Leaf& leaf : node) ranks += leaf.ranks;
    ranks_ += ranks * count;
    if (ranks_ > max_parsed_ranks) return false;
    nodes_.kind_of.insert(nodes_.kind_of.end(), static_cast<std::size_t>(count), nodes_.kinds.size());
    nodes_.kinds.push_back(std::move(node));
    return true;
  }

  // "3+5", "(2+2)+(4+4)". One number alone is what nothing divides.
  bool sum(const std::vector<int>& above, Node* node) {
    if (std::ssize(above) == most_domain_levels) return false;
    std::vector<int> path = above;
    path.push_back(0);
    do {
      if (take('(')) {
        if (!sum(path, node) || !take(')')) return false;
      } else {
        const auto ranks = number();
        if (!ranks) return false;
        node->push_back({.path = path, .ranks = *ranks});
      }
      ++path.back();
    } while (take('+'));
    return true;
  }

  std::string_view text_;
  Nodes nodes_;
  std::int64_t ranks_ = 0;
};

std::vector<int> labels_by_block(const std::vector<int>& counts) {
  std::vector<int> labels;
  for (int node = 0; node < static_cast<int>(counts.size()); ++node) {
    labels.insert(labels.end(), static_cast<std::size_t>(counts[node]), node);
  }
  return labels;
}

// One rank to each node in turn; full nodes are passed over.
std::vector<int> labels_by_turn(std::vector<int> counts) {
  std::vector<int> labels;
  const int size = std::accumulate(counts.begin(), counts.end(), 0);
  for (int node = 0; static_cast<int>(labels.size()) < size; node = (node + 1) % std::ssize(counts)) {
    if (counts[node] == 0) continue;
    --counts[node];
    labels.push_back(node);
  }
  return labels;
}

// Which leaf each of the node's ranks is in, of those from `first` to `last`, which differ from `level` on.
// Ranks are dealt out to the outermost domains in turn, which do so with their own.
std::vector<int> leaves_by_turn(const Node& node, std::size_t first, std::size_t last, std::size_t level) {
  if (level == node[first].path.size()) return std::vector<int>(node[first].ranks, static_cast<int>(first));
  std::vector<std::vector<int>> of_domains;
  std::vector<int> sizes;
  for (std::size_t begin = first; begin < last;) {
    std::size_t end = begin + 1;
    while (end < last && node[end].path[level] == node[begin].path[level]) ++end;
    of_domains.push_back(leaves_by_turn(node, begin, end, level + 1));
    sizes.push_back(static_cast<int>(of_domains.back().size()));
    begin = end;
  }
  std::vector<std::size_t> used(of_domains.size());
  std::vector<int> leaves;
  for (const int domain : labels_by_turn(sizes)) leaves.push_back(of_domains[domain][used[domain]++]);
  return leaves;
}

std::vector<int> leaves_by_block(const Node& node) {
  std::vector<int> leaves;
  for (std::size_t i = 0; i < node.size(); ++i)
    leaves.insert(leaves.end(), static_cast<std::size_t>(node[i].ranks), static_cast<int>(i));
  return leaves;
}

int depth_of(const std::vector<Node>& nodes) {
  std::size_t depth = 0;
  for (const Node& node : nodes) {
    for (const Leaf& leaf : node) depth = std::max(depth, leaf.path.size());
  }
  return static_cast<int>(depth);
}

// The levels that are left have their kinds by their number: equal shapes are equal, however they are
// written.
std::shared_ptr<const Domains> with_usual_kinds(Domains domains) {
  const std::vector<DomainKind> kinds = usual_kinds(domains.depth());
  for (std::size_t i = 0; i < kinds.size(); ++i) domains.levels[i].kind = kinds[i];
  return std::make_shared<const Domains>(std::move(domains));
}

// --- Writing ---

std::string counted(int count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::vector<std::vector<int>> divided(const DomainLevel& level, const std::vector<int>& ranks) {
  std::vector<std::vector<int>> parts;
  std::vector<int> numbers;
  for (const int rank : ranks) {
    const int domain = level.domain_of[rank];
    const auto known = std::ranges::find(numbers, domain);
    const auto part = static_cast<std::size_t>(known - numbers.begin());
    if (known == numbers.end()) {
      numbers.push_back(domain);
      parts.emplace_back();
    }
    parts[part].push_back(rank);
  }
  return parts;
}

// "3+5": the parts of a node or a domain on the given level; a number where no level divides it.
std::string sum_text(const Domains& domains, std::size_t level, const std::vector<int>& ranks) {
  if (level == domains.levels.size()) return std::to_string(ranks.size());
  const auto parts = divided(domains.levels[level], ranks);
  std::string text;
  for (const auto& part : parts) {
    std::string inner = sum_text(domains, level + 1, part);
    const bool is_number = inner.find_first_not_of("0123456789") == std::string::npos;
    if (!text.empty()) text += '+';
    text.append(is_number ? "" : "(").append(inner).append(is_number ? "" : ")");
  }
  return text;
}

std::string joined(const std::vector<std::string>& texts, const char* separator) {
  std::string all;
  for (const std::string& text : texts) all.append(all.empty() ? "" : separator).append(text);
  return all;
}

std::vector<std::string> node_texts(const Layout& layout) {
  std::vector<std::string> texts;
  for (const auto& ranks : layout.ranks_of) {
    texts.push_back(layout.domains == nullptr ? std::to_string(ranks.size())
                                              : sum_text(*layout.domains, 0, ranks));
  }
  return texts;
}

bool are_equal(const std::vector<std::string>& texts) {
  return std::ranges::adjacent_find(texts, std::not_equal_to()) == texts.end();
}

// "4 domains of 8 domains of 8", "domains 3+5".
std::string domains_text(const Layout& layout) {
  const std::vector<int> factors = layout.factors();
  std::string text;
  for (std::size_t i = 1; i + 1 < factors.size(); ++i) text += counted(factors[i], "domain") + " of ";
  if (!factors.empty()) {
    text += std::to_string(factors.back());
  } else {
    const std::vector<std::string> texts = node_texts(layout);
    text.append("domains ").append(are_equal(texts) ? texts.front() : joined(texts, ", "));
  }
  return text + (layout.has_domains_in_order() ? "" : ", interleaved");
}

// "16 ranks each", "3+5+8", ", not consecutive".
std::string nodes_text(const Layout& layout) {
  std::string text = layout.is_uniform() ? counted(layout.local_size(0), "rank") + " each" : "";
  for (int node = 0; !layout.is_uniform() && node < layout.nodes(); ++node)
    text.append(node > 0 ? "+" : "").append(std::to_string(layout.ranks_of[node].size()));
  return text + (layout.is_consecutive() ? "" : ", not consecutive");
}

}  // namespace

std::string Layout::describe() const {
  std::vector<std::string> more;
  if (nodes() > 1) more.push_back(nodes_text(*this));
  if (domains != nullptr) more.push_back(domains_text(*this));
  std::string text = counted(size(), "rank") + " on " + counted(nodes(), "node");
  if (!more.empty()) text.append(" (").append(joined(more, "; ")).append(")");
  if (nodes() > 1 && switches && switches->why_unusable.empty()) {
    const auto count = static_cast<int>(switches->names.size());
    text += " below " + std::to_string(count) + (count == 1 ? " switch" : " switches");
  }
  return text;
}

std::string Layout::text() const {
  std::string text;
  const std::vector<int> of_levels = factors();
  if (domains == nullptr && nodes() == 1) {
    text = std::to_string(size());
  } else if (!of_levels.empty()) {
    for (const int factor : of_levels) text.append(text.empty() ? "" : "x").append(std::to_string(factor));
  } else {
    const std::vector<std::string> texts = node_texts(*this);
    const bool is_product = nodes() > 1 && domains != nullptr && are_equal(texts);
    text = is_product ? std::to_string(nodes()) + "x(" + texts.front() + ")" : joined(texts, ",");
  }
  return text + std::string(is_consecutive() ? "" : cyclic_suffix) +
         std::string(has_domains_in_order() ? "" : interleaved_suffix);
}

std::optional<Layout> Layout::parse(std::string_view text) {
  const bool is_interleaved = text.ends_with(interleaved_suffix);
  if (is_interleaved) text.remove_suffix(interleaved_suffix.size());
  const bool is_cyclic = text.ends_with(cyclic_suffix);
  if (is_cyclic) text.remove_suffix(cyclic_suffix.size());
  auto nodes = Reader(text).nodes();
  if (!nodes) return std::nullopt;
  const int depth = depth_of(nodes->kinds);
  if (depth > most_domain_levels) return std::nullopt;
  std::vector<std::vector<int>> leaves;  // of the ranks of each kind of node
  for (Node& node : nodes->kinds) {
    for (Leaf& leaf : node) leaf.path.resize(static_cast<std::size_t>(depth));
    leaves.push_back(is_interleaved ? leaves_by_turn(node, 0, node.size(), 0) : leaves_by_block(node));
  }
  std::vector<int> counts;
  for (const std::size_t kind : nodes->kind_of) counts.push_back(static_cast<int>(leaves[kind].size()));
  Layout layout = from_labels(is_cyclic ? labels_by_turn(counts) : labels_by_block(counts));
  std::vector<DomainLabels> levels;
  levels.resize(static_cast<std::size_t>(depth));
  for (int rank = 0; rank < layout.size(); ++rank) {
    const std::size_t kind = nodes->kind_of[static_cast<std::size_t>(layout.node_of[rank])];
    const Leaf& leaf = nodes->kinds[kind][leaves[kind][layout.local_rank_of[rank]]];
    for (std::size_t i = 0; i < levels.size(); ++i) levels[i].labels.push_back(leaf.path[i]);
  }
  layout.divide(levels);
  if (layout.domains != nullptr) layout.domains = with_usual_kinds(*layout.domains);
  return layout;
}

std::string why_no_layout(std::string_view text) {
  // With ones in the place of its numbers it would be one: the numbers are too large.
  std::string ones;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) ones += c;
    if (is_digit && c != '0' && (ones.empty() || ones.back() != '1')) ones += '1';
  }
  if (Layout::parse(ones))
    return "is too large: a layout has at most " + std::to_string(max_parsed_ranks) + " ranks";
  return "is no layout: write 4x8 (4 nodes with 8 ranks each), 3,5,8 (ranks per node) or 4x2x8 (4 nodes of 2 "
         "domains with 8 ranks each), and /cyclic behind it where neighbours are on different nodes";
}

std::optional<Layout> parse_node(std::string_view text) {
  const bool is_sum = text.find_first_of("(+") < text.find('x');
  const auto layout = Layout::parse(std::string(is_sum ? "" : "1x").append(text));
  return layout && layout->nodes() == 1 ? layout : std::nullopt;
}

std::string why_no_node(std::string_view text) {
  const bool is_too_large = !Layout::parse(text) && why_no_layout(text).starts_with("is too large");
  return is_too_large ? why_no_layout(text)
                      : "is no division of a node: write 2x4 (2 domains with 4 ranks each), 2x4x8 or 3+5";
}

}  // namespace unisono::patterns
