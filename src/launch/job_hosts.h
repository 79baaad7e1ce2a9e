// SPDX-License-Identifier: BSD-3-Clause
// On which hosts a launcher's command line puts a job, and how many ranks it has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/parse.h"
#include "launch/words.h"

namespace unisono::launch {

// The values of Open MPI's --host, with commas; empty where it is not given.
std::string openmpi_hosts(const Flavour& flavour, const std::vector<Section>& sections);

// The names in them, each once.
Words openmpi_host_names(const Flavour& flavour, const std::vector<Section>& sections);

// The names of the hosts that MPICH's and Intel MPI's launcher is told on its command line, in its files and
// by a batch system's file, each once. None: it runs here, or the batch system says where.
Words hydra_hosts(const Flavour& flavour, const std::vector<Section>& sections);

// How many nodes a batch system has given to this job; 1 where there is none.
std::size_t nodes_of_batch_system();

// How many nodes srun takes; 0 outside of a job of Slurm's.
std::size_t slurm_nodes(const Flavour& flavour, const Section& section);

// How many ranks the command line asks for; none where it leaves that to the launcher.
std::optional<std::int64_t> asked_ranks(const Flavour& flavour, const std::vector<Section>& sections);

}  // namespace unisono::launch
