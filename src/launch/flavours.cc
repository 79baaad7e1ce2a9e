// SPDX-License-Identifier: BSD-3-Clause
#include "launch/flavours.h"

#include <algorithm>

namespace unisono::launch {
namespace {

constexpr Names openmpi_common[] = {
    {0,
     "allow-run-as-root bind-to-core bind-to-socket bycore bynode byslot d debug debug-daemons "
     "debug-daemons-file debug-devel display-allocation display-devel-allocation "
     "display-devel-map display-map display-topo do-not-launch do-not-resolve enable-recovery "
     "disable-recovery continuous fwd-mpirun-port get-stack-traces index-argv-by-rank "
     "leave-session-attached merge-stderr-to-stdout nolocal nooversubscribe noprefix novm "
     "oversubscribe output-proctable pernode preload-binary q quiet report-bindings "
     "report-child-jobs-separately report-state-on-timeout s set-cwd-to-session-dir "
     "show-progress tag-output timestamp-output tv use-hwthread-cpus use-regexp v verbose V "
     "version xml"},
    {1,
     "H N am amca app bind-to c cf cartofile cpu-list cpu-set cpus-per-proc cpus-per-rank "
     "debugger default-hostfile host hostfile launch-agent machinefile map-by max-restarts "
     "max-vm-size n np npernode npersocket ompi-server output-filename path personality ppr "
     "prefix preload-files rank-by rankfile report-events report-pid report-uri rf stdin "
     "timeout tune wd wdir x xml-file xterm"},
    {2, "mca gmca"},
    {maybe, "h help"},
};

constexpr Names openmpi4_more[] = {
    {0, "display-diffable-map dvm enable-instant-on-support"},
    {1, "hnp"},
};

constexpr Names openmpi5_more[] = {
    {0,
     "display-comm display-comm-finalize hetero-nodes no-app-prefix no-ready-msg set-sid "
     "stop-in-app stop-in-init stop-on-exec system-server do-not-aggregate-help"},
    {1,
     "add-host add-hostfile app-pmix-prefix display dvm forward-signals gpu-support "
     "initial-errhandler keepalive memory-alloc-kinds output output-directory pmix-prefix pset "
     "runtime-options set-env singleton spawn-timeout stream-buffering tmpdir unset-env "
     "with-ft"},
    {2, "append-env gomca gpmixmca gprtemca omca pmixmca prepend-env prtemca"},
    {maybe, "output-proctable forward-environment"},
};

constexpr Names hydra_common[] = {
    {0,
     "debug disable-auto-cleanup disable-hostname-propagation disable-x enable-auto-cleanup "
     "enable-hostname-propagation enable-x envall envnone genvall genvnone h help info l "
     "pmi-port prepend-rank print-all-exitcodes profile skip-launch-node v verbose version"},
    {1,
     "bind-to binding bootstrap bootstrap-exec configfile demux envlist errfile "
     "errfile-pattern f genvlist gpu-subdevs-per-proc gpus-per-proc host hostfile hostlist "
     "hosts iface launcher launcher-exec localhost machine machinefile machinelist machines "
     "map-by membind memory-alloc-kinds n nameserver np order-nodes outfile outfile-pattern "
     "output-from ppn prepend-pattern rankmap rmk topolib usize wdir"},
    {pair, "env genv"},
    {4, "pmi_args"},
};

constexpr Names mpich_more[] = {
    {0, "dac hybrid-hosts"},
    {1, "g"},
};

constexpr Names intel_more[] = {
    {0,
     "V aps check dac gdb ilp64 mps nolocal print-rank-map prepend-timestamp prot rr "
     "silent-abort trace-imbalance trace_imbalance"},
    {1,
     "branch-count cpu-bind envexcl envuser gdb-args genvexcl gpath grr gtool gtoolfile gumask "
     "gwdir hostos hosts-group path pmi-connect s tmpdir umask perhost"},
    {maybe, "t trace check-mpi check_mpi tune"},
};

constexpr Names srun_options[] = {
    {0,
     "async bcast compress contiguous disable-status exact exclusive external help hold "
     "immediate kill-on-bad-exit label multi-prog nice no-allocate no-kill overcommit overlap "
     "oversubscribe preserve-env propagate pty quiet quit-on-interrupt reboot resv-ports "
     "send-libs spread-job stepmgr test-only unbuffered usage use-min-nodes verbose version "
     "wait-for-children x11 I K k H X Z O s E Q u v V l h"},
    {1,
     "accel-bind account acctg-freq bb bbf bcast-exclude begin chdir cluster-constraint "
     "clusters comment consolidate-segments constraint container container-id core-spec "
     "cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot "
     "dependency distribution epilog error exclude export export-file extra extra-node-info "
     "gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags "
     "het-group hint input job-name jobid launch-cmd licenses mail-type mail-user mcs-label "
     "mem mem-bind mem-per-cpu mem-per-gpu mincpus mpi msg-timeout network nodefile nodelist "
     "nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket "
     "ntasks-per-tres open-mode output pack-group partition power prefer priority profile "
     "prolog qos relative reservation resources segment signal slurmd-debug sockets-per-node "
     "switches task-epilog task-prolog tasks-per-node thread-spec threads threads-per-core "
     "time time-min tmp treewidth tres-bind tres-per-job tres-per-node tres-per-socket "
     "tres-per-task uid wait wckey A b B c C D d e F G i J L m M n N o p q r S t T w W x"},
};

constexpr std::string_view copies_binary =
    "it would copy unisono-exec to the nodes in place of the program; copy the program beforehand, or use a "
    "file system that all nodes share";

constexpr Refused openmpi_refused[] = {{"s", copies_binary}, {"preload-binary", copies_binary}};
constexpr Refused srun_refused[] = {
    {"multi-prog",
     "the programs stand in its file, not on the command line; separate them by ':' instead "
     "(srun -n 1 ./first : -n 3 ./second)"},
    {"bcast",
     "it would copy unisono-exec to the nodes in place of the program; copy the program with sbcast, or use "
     "a "
     "file system that all nodes share"},
};

constexpr Flavour flavours[] = {
    {.name = "openmpi4",
     .title = "Open MPI",
     .options = openmpi_common,
     .more_options = openmpi4_more,
     .section_files = "app",
     .refused = openmpi_refused,
     .rank_counts = "n np c",
     .ranks_by_places = "N npernode npersocket pernode ppr",
     .path_option = "path",
     .directory_options = "wd wdir",
     .looks_in_directory = true},
    {.name = "openmpi5",
     .title = "Open MPI",
     .options = openmpi_common,
     .more_options = openmpi5_more,
     .glued = "ncNHx",
     .section_files = "app",
     .refused = openmpi_refused,
     .rank_counts = "n np c",
     .ranks_by_places = "N npernode npersocket pernode ppr",
     .path_option = "path",
     .directory_options = "wd wdir",
     .looks_in_directory = true},
    {.name = "mpich",
     .title = "MPICH",
     .options = hydra_common,
     .more_options = mpich_more,
     .section_files = "configfile",
     .rank_counts = "n np",
     .directory_options = "wdir"},
    {.name = "intel",
     .title = "Intel MPI",
     .options = hydra_common,
     .more_options = intel_more,
     .section_files = "configfile",
     .rank_counts = "n np",
     .path_option = "path",
     .directory_options = "gwdir wdir"},
    {.name = "srun",
     .title = "Slurm",
     .options = srun_options,
     .is_getopt = true,
     .refused = srun_refused,
     .rank_counts = "n ntasks",
     .directory_options = "chdir D",
     .looks_in_directory = true},
};

constexpr std::span<const Flavour> dashed(flavours, 4);  // those whose options look alike

// What the known ones agree on.
constexpr Flavour unknown{.name = "unknown", .title = "an unknown MPI"};

std::optional<int> last_arity(std::span<const Names> options, std::string_view option) {
  for (auto names = options.rbegin(); names != options.rend(); ++names) {
    if (has_name(names->names, option)) return names->arity;
  }
  return std::nullopt;
}

std::optional<int> agreed_arity(std::string_view option) {
  std::optional<int> agreed;
  for (const Flavour& flavour : dashed) {
    const std::optional<int> arity = flavour.arity(option);
    if (!arity) continue;
    if (agreed && *agreed != *arity) return std::nullopt;
    agreed = arity;
  }
  return agreed;
}

}  // namespace

bool has_name(std::string_view words, std::string_view name) {
  if (name.empty()) return false;
  for (std::size_t at = words.find(name); at != std::string_view::npos; at = words.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

std::optional<int> Flavour::arity(std::string_view option) const {
  if (name == unknown.name) return agreed_arity(option);
  const std::optional<int> own = last_arity(more_options, option);
  return own ? own : last_arity(options, option);
}

std::vector<std::string_view> Flavour::option_names() const {
  std::vector<std::string_view> all;
  for (const std::span<const Names> list : {options, more_options}) {
    for (const Names& names : list) {
      for (std::string_view rest = names.names; !rest.empty();) {
        const std::size_t blank = std::min(rest.find(' '), rest.size());
        all.push_back(rest.substr(0, blank));
        rest.remove_prefix(std::min(blank + 1, rest.size()));
      }
    }
  }
  return all;
}

const Flavour& unknown_flavour() {
  return unknown;
}

const Flavour& flavour_named(std::string_view name) {
  const auto* found = std::ranges::find(flavours, name, &Flavour::name);
  return found == std::end(flavours) ? unknown : *found;
}

}  // namespace unisono::launch
