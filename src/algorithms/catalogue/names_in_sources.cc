// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/catalogue/names_in_sources.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "algorithms/catalogue/agent_descriptors.h"

namespace unisono::algorithms {

namespace {

struct Named {
  std::string_view in_source, here;
};

// S1, section 3.1.
constexpr std::array<Named, 13> s1_alltoall{{{"simple", "simple"},
                                             {"2D mesh", "mesh_2d"},
                                             {"3D mesh", "mesh_3d"},
                                             {"rd", "recursive_doubling"},
                                             {"Bruck", "bruck"},
                                             {"ring", "ring"},
                                             {"ring with light barrier", "ring_light_barrier"},
                                             {"ring with MPI barrier", "ring_mpi_barrier"},
                                             {"pair", "pairwise"},
                                             {"pair with light barrier", "pairwise_light_barrier"},
                                             {"pair with MPI barrier", "pairwise_mpi_barrier"},
                                             {"topology specific", "topology_light_barrier"},
                                             {"topology specific", "topology_mpi_barrier"}}};

// Of blocks, whether they are equally long or not.
constexpr std::array<Named, 12> s1_allgather{{{"simple", "simple"},
                                              {"2D mesh", "mesh_2d"},
                                              {"3D mesh", "mesh_3d"},
                                              {"rd", "recursive_doubling"},
                                              {"Bruck", "bruck"},
                                              {"ring", "direct_ring"},
                                              {"ring with light barrier", "direct_ring_light_barrier"},
                                              {"ring with MPI barrier", "direct_ring_mpi_barrier"},
                                              {"pair", "pairwise"},
                                              {"pair with light barrier", "pairwise_light_barrier"},
                                              {"pair with MPI barrier", "pairwise_mpi_barrier"},
                                              {"TSLR", "topology_ring"}}};

// The first five are allgathers followed by reductions, which the source names by the allgather alone.
constexpr std::array<Named, 20> s1_allreduce{
    {{"Bruck", "allgather_reduce_bruck"},
     {"2D mesh", "allgather_reduce_mesh_2d"},
     {"3D mesh", "allgather_reduce_mesh_3d"},
     {"rd", "allgather_reduce_recursive_doubling"},
     {"ring", "allgather_reduce_direct_ring"},
     {"Rab1-simple", "rab1_simple"},
     {"Rab1-2D", "rab1_mesh_2d"},
     {"Rab1-3D", "rab1_mesh_3d"},
     {"Rab1-rd", "rab1_recursive_doubling"},
     {"Rab1-Bruck", "rab1_bruck"},
     {"Rab1-ring", "rab1_direct_ring"},
     {"Rab1-ring with light barrier", "rab1_direct_ring_light_barrier"},
     {"Rab1-ring with MPI barrier", "rab1_direct_ring_mpi_barrier"},
     {"Rab1-TSLR", "rab1_topology_ring"},
     {"Rab2-(ring, TSLR)", "rab2_ring_topology_ring"},
     {"Rab2-(ring with light barrier, TSLR)", "rab2_ring_light_barrier_topology_ring"},
     {"Rab2-(ring with MPI barrier, TSLR)", "rab2_ring_mpi_barrier_topology_ring"},
     {"Rab2-(ring, ring)", "rab2_ring_direct_ring"},
     {"Rab2-(ring with light barrier, ring with light barrier)",
      "rab2_ring_light_barrier_direct_ring_light_barrier"},
     {"Rab2-(ring with MPI barrier, ring with MPI barrier)",
      "rab2_ring_mpi_barrier_direct_ring_mpi_barrier"}}};

// Section 3.2: ways that all operations share.
constexpr std::array<Named, 9> a5{{{"flat tree", "flat"},
                                   {"chain tree", "chain"},
                                   {"binary tree", "binary"},
                                   {"binomial tree", "binomial"},
                                   {"ring", "ring"},
                                   {"pair-wise exchange", "pairwise"},
                                   {"recursive doubling", "recursive_doubling"},
                                   {"scatter-allgather", "scatter_ring_allgather"},
                                   {"scatter-allgather", "scatter_rd_allgather"}}};

// Section 3.2.3; an allreduce goes up the tree and down again.
constexpr std::array<Named, 2> n2{{{"f-nomial tree", "k_nomial"}, {"f-nomial tree", "reduce_bcast"}}};

std::span<const Named> s1_names(Operation operation) {
  if (operation == Operation::alltoall) return s1_alltoall;
  if (operation == Operation::allgather || operation == Operation::allgatherv) return s1_allgather;
  if (operation == Operation::allreduce) return s1_allreduce;
  return {};
}

std::string without_blanks_and_capitals(std::string_view text) {
  std::string plain;
  for (const char letter : text) {
    if (letter != ' ') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return plain;
}

std::vector<const Descriptor*> called_so_in_sources(Operation operation, std::string_view name) {
  const std::string wanted = without_blanks_and_capitals(name);
  std::vector<const Descriptor*> found;
  for (const Descriptor& descriptor : registry()) {
    if (descriptor.operation == operation &&
        std::ranges::any_of(names_in_sources(operation, descriptor.name), [&](const NameInSource& named) {
          return without_blanks_and_capitals(named.name) == wanted;
        }))
      found.push_back(&descriptor);
  }
  return found;
}

}  // namespace

std::vector<NameInSource> names_in_sources(Operation operation, std::string_view name) {
  std::vector<NameInSource> names;
  const auto add = [&](const char* row, std::span<const Named> list) {
    for (const Named& named : list) {
      if (named.here == name) names.push_back({row, std::string(named.in_source)});
    }
  };
  add("S1", s1_names(operation));
  // Where nothing is passed on there is no tree.
  if (!is_uneven_alltoall(operation) || name != "flat") add("A5", a5);
  add("N2", n2);
  return names;
}

const Descriptor* find_named(Operation operation, std::string_view name) {
  if (const Descriptor* found = find_with_agents(operation, name); found != nullptr) return found;
  const std::vector<const Descriptor*> meant = called_so_in_sources(operation, name);
  return meant.size() == 1 ? meant.front() : nullptr;
}

std::string why_unknown(Operation operation, std::string_view name) {
  std::string why =
      "there is no algorithm '" + std::string(name) + "' for " + std::string(unisono::name(operation));
  const char* before = "; a source calls so ";
  for (const Descriptor* meant : called_so_in_sources(operation, name)) {
    why += before + meant->name;
    before = " and ";
  }
  return why;
}

}  // namespace unisono::algorithms
