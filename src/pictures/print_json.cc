// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include "pictures/print_rows.h"
#include "schedule/describe.h"
#include "schedule/ranges.h"

namespace unisono::pictures {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const schedule::Ref& ref) {
  ordered_json json{
      {"place", name(ref.place)}, {"first", ref.first}, {"last", ref.last}, {"parts", ref.parts}};
  if (has_sub_range(ref)) json["of_each_piece"] = {ref.sub_first, ref.sub_last, ref.sub_parts};
  if (ref.place >= schedule::Place::shared) json["owner"] = ref.owner;
  if (ref.place == schedule::Place::shared) json["lane"] = ref.lane;
  if (ref.lane_first >= 0) json["lane_first"] = ref.lane_first;
  return json;
}

ordered_json json_of(const DrawnStep& drawn, const schedule::BlockTable* table) {
  const schedule::Step& step = drawn.step;
  ordered_json json{{"rank", drawn.rank}, {"kind", name(step.kind)}};
  if (step.peer >= 0) json["peer"] = step.peer;
  switch (step.kind) {
    case schedule::StepKind::send:
      json["from"] = json_of(step.left);
      break;
    case schedule::StepKind::recv:
      json["into"] = json_of(step.into);
      break;
    case schedule::StepKind::reduce:
      json["into"] = json_of(step.into);
      json["from"] = json_of(step.left);
      json["with"] = json_of(step.right);
      break;
    case schedule::StepKind::copy:
    case schedule::StepKind::node_bcast:
    case schedule::StepKind::node_reduce:
    case schedule::StepKind::node_allreduce:
    case schedule::StepKind::node_scan:
    case schedule::StepKind::node_exscan:
    case schedule::StepKind::node_reduce_scatter:
    case schedule::StepKind::node_allgather:
    case schedule::StepKind::node_gather:
    case schedule::StepKind::node_scatter:
    case schedule::StepKind::node_alltoall:
      json["into"] = json_of(step.into);
      json["from"] = json_of(step.left);
      break;
    case schedule::StepKind::signal:
    case schedule::StepKind::await:
    case schedule::StepKind::await_all:
      json["tick"] = step.tick;
      break;
    case schedule::StepKind::await_space:
    case schedule::StepKind::expose:
    case schedule::StepKind::node_barrier:
      break;
  }
  json["start"] = drawn.start;
  json["end"] = drawn.end;
  json["text"] = describe(step, table);
  return json;
}

}  // namespace

std::string to_json(const Picture& picture) {
  ordered_json parameters = ordered_json::object();
  for (const auto& [key, value] : picture.parameters) parameters[key] = value;
  ordered_json stages = ordered_json::array();
  int last_stage = -1;
  for (const DrawnRow& row : rows_of(picture)) {
    if (row.stage != last_stage) {
      stages.push_back({{"stage", row.stage},
                        {"sentence", stage_words(picture, row.stage)},
                        {"rounds", ordered_json::array()}});
      last_stage = row.stage;
    }
    ordered_json steps = ordered_json::array();
    for (const DrawnStep& drawn : row.steps) {
      const schedule::Program& program = picture.programs[static_cast<std::size_t>(drawn.rank)];
      steps.push_back(json_of(drawn, program.blocks.get()));
    }
    stages.back()["rounds"].push_back({{"round", row.round}, {"steps", std::move(steps)}});
  }
  ordered_json answer{{"operation", name(picture.operation)},
                      {"algorithm", picture.algorithm},
                      {"sentence", picture.sentence},
                      {"source", picture.source},
                      {"parameters", parameters},
                      {"ranks", picture.layout->size()},
                      {"nodes", picture.layout->ranks_of},
                      {"root", picture.root},
                      {"stages", stages}};
  if (!picture.graph.empty()) answer["graph"] = picture.graph;
  return answer.dump(1) + "\n";
}

}  // namespace unisono::pictures
