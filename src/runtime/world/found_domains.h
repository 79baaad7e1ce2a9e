// SPDX-License-Identifier: BSD-3-Clause
// What the job's nodes consist of: as option 'domains' says, or as pretended nodes do, or as found.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/layout.h"
#include "shm/pool/node_domains.h"

namespace unisono::runtime {

class World;

shm::AsksHardware asks_hardware(std::string_view option);
// `pretended`: the layout of option 'nodes', if it holds. Labels by rank, outermost level first; empty:
// nothing is known.
std::vector<patterns::DomainLabels> find_domains(const World& world,
                                                 const std::optional<patterns::Layout>& pretended);
// From the parts of its machine that each rank is in. A node is divided as far down as each of its ranks is
// in one part.
std::vector<patterns::DomainLabels> domains_of_parts(const std::vector<shm::PartNumbers>& parts,
                                                     const std::vector<int>& node_labels);

}  // namespace unisono::runtime
