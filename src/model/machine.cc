// SPDX-License-Identifier: BSD-3-Clause
#include "model/machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace unisono::model {

Curve::Curve(std::vector<Point> points) : points_(std::move(points)) {}

double Curve::at(std::int64_t bytes) const {
  if (points_.empty()) return 0;
  if (bytes <= points_.front().bytes) return points_.front().us;
  const auto above = std::upper_bound(points_.begin(), points_.end(), bytes,
                                      [](std::int64_t b, const Point& point) { return b < point.bytes; });
  if (above == points_.end()) {
    return points_.back().us + last_slope() * static_cast<double>(bytes - points_.back().bytes);
  }
  const Point& high = *above;
  const Point& low = *(above - 1);
  const double share = static_cast<double>(bytes - low.bytes) / static_cast<double>(high.bytes - low.bytes);
  return low.us + share * (high.us - low.us);
}

double Curve::last_slope() const {
  if (points_.size() < 2) return 0;
  const Point& a = points_[points_.size() - 2];
  const Point& b = points_.back();
  return std::max(0.0, (b.us - a.us) / static_cast<double>(b.bytes - a.bytes));
}

namespace {

constexpr std::array<std::string_view, 4> model_names = {"hockney", "logp", "loggp", "plogp"};

}  // namespace

Machine with_combine(Machine machine, std::string_view type, std::string_view op) {
  const auto chosen = [&](const std::vector<Combine>& all, Curve* usual) {
    for (const Combine& one : all) {
      if (one.type == type && one.op == op) *usual = one.us;
    }
  };
  chosen(machine.combine, &machine.shared.combine_us);
  if (machine.agent) chosen(machine.agent->combine, &machine.agent->combine_us);
  return machine;
}

std::string_view name(MessageModel model) {
  return model_names[static_cast<std::size_t>(model)];
}

std::optional<MessageModel> message_model_from_name(std::string_view name) {
  const auto found = std::ranges::find(model_names, name);
  if (found == model_names.end()) return std::nullopt;
  return static_cast<MessageModel>(found - model_names.begin());
}

MessageCost Link::message(MessageModel model, std::int64_t bytes) const {
  const auto m = static_cast<double>(bytes);
  switch (model) {
    case MessageModel::hockney: {
      // Figure 4.1; who sends is held up as long as the message takes.
      const double whole = hockney.alpha_us + hockney.beta_us_per_byte * m;
      return {.send_us = 0, .occupancy_us = whole, .transit_us = whole, .receive_us = 0};
    }
    case MessageModel::logp: {
      // Figure 4.2: o + (k - 1) max(o, g) + L + o for k words.
      const double interval = std::max<double>(loggp.overhead_us, loggp.gap_us);
      const double words = std::max(1.0, std::ceil(m / loggp.word_bytes));
      return {.send_us = words * loggp.overhead_us,
              .occupancy_us = words * interval,
              .transit_us = loggp.overhead_us + (words - 1) * interval + loggp.latency_us,
              .receive_us = loggp.overhead_us};
    }
    case MessageModel::loggp: {
      // Figure 4.3: o + (k - 1) G + L + o for k bytes.
      const double further = std::max(0.0, m - 1) * loggp.gap_us_per_byte;
      return {.send_us = loggp.overhead_us,
              .occupancy_us = std::max<double>(loggp.overhead_us, loggp.gap_us) + further,
              .transit_us = loggp.overhead_us + further + loggp.latency_us,
              .receive_us = loggp.overhead_us};
    }
    case MessageModel::plogp:
      break;
  }
  // Figure 4.4: L + g(m) for m bytes, overheads included. L is a constant there, which it is not where the
  // MPI changes its protocol on the way up: what was measured of a message by itself is nearer.
  double gap = plogp.gap_us.at(bytes);
  const double whole = plogp.whole_us.empty() ? plogp.latency_us + gap : plogp.whole_us.at(bytes);
  gap = std::min(gap, whole);
  const double receive = std::min(plogp.receive_us.at(bytes), gap);
  return {.send_us = std::min(plogp.send_us.at(bytes), whole - receive),
          .occupancy_us = gap,
          .transit_us = whole - receive,
          .receive_us = receive};
}

}  // namespace unisono::model
