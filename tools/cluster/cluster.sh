#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# An emulated cluster on one Linux machine: a head, from which jobs are started, and nodes node0, node1, ...
#
#   cluster.sh up DIR --nodes N [--rate RATE] [--latency MICROSECONDS] [--owner PID]
#   cluster.sh head DIR COMMAND...       run a command on the head (mpirun, mpiexec), with agent.sh as launch agent
#   cluster.sh exec DIR NODE COMMAND...  run a command on node number NODE
#   cluster.sh rate DIR RATE             from now on the links have another rate (of a cluster with one, on a bridge)
#   cluster.sh kill DIR NODE             a node fails: everything on it is killed at once
#   cluster.sh down DIR                  end the cluster, with everything that runs on it
#
# DIR is the cluster's state directory; it must not exist before, and each cluster has its own. RATE is that of each
# node's link in both directions, as in 1gbit. Without --latency the nodes hang on a kernel bridge (rate by tbf);
# with it, on the user-space switch of switch.c. With --owner the cluster ends when that process does.
#
# What makes a node: network, hostname, IPC, mount (private /dev/shm) and PID namespaces. The head is made alike and is
# the parent of the nodes' PID namespaces, so the death of the head's first process ends all of them, whatever state a
# failed test has left. Network and names live inside these namespaces alone: clusters side by side do not see each
# other, nor the machine's network. Needs root, iproute2 and util-linux; changes nothing outside of DIR.
set -euo pipefail
self=$(readlink -f "${BASH_SOURCE[0]}")
here=$(dirname "$self")
subnet=10.77.0
head_address=$subnet.254

die() { echo "cluster: $*" >&2; exit 1; }
usage() { sed -n '3,14s/^# \{0,1\}//p' "$self" >&2; exit 2; }

# "PID START": the start time makes a recorded process recognisable after its number was used again.
identity() { echo "$1 $(sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f20)"; }

kill_recorded() { # kill_recorded FILE [-]: the process, or with "-" the process group that it leads
  local pid start
  [ -s "$1" ] || return 0
  read -r pid start <"$1"
  if [ -e "/proc/$pid" ] && [ "$(identity "$pid" 2>/dev/null)" = "$pid $start" ]; then kill -9 -- "${2:-}$pid" || true; fi
}

wait_for() { # wait_for FILE PID: until the file exists; fails when the process ended or after 20 s
  local i
  for ((i = 0; i < 1000; i++)); do
    [ ! -e "$1" ] || return 0
    kill -0 "$2" 2>/dev/null || return 1
    sleep 0.02
  done
  return 1
}

# Runs as first process of a namespace: collects orphans, does nothing else.
stay() { exec >/dev/null 2>&1; while sleep 3600; do :; done; }

# Own hostname, /etc/hosts and /dev/shm; temporary files too, because session directories are named by process numbers,
# which repeat between the nodes.
furnish() { # furnish DIR NAME
  hostname "$2"
  mount --bind "$1/hosts" /etc/hosts
  mount -t tmpfs -o size=4g tmpfs /dev/shm
  mkdir -m 1777 /dev/shm/tmp
  ip link set lo up
}

# For the background only: becomes unshare, whose child is the first process of the namespaces.
namespaced() { exec unshare --net --uts --ipc --mount --pid --fork --kill-child --mount-proc "$@"; }
only_child() { cut -d' ' -f1 "/proc/$1/task/$1/children"; }

run_node() { # run_node DIR NAME (first process of the node)
  furnish "$1" "$2"
  touch "$1/$2.ready"
  stay
}

# A veth pair between a namespace and the bridge; rate by token bucket on both ends.
plug() { # plug FABRIC PID NAME ADDRESS RATE
  local fabric=$1 pid=$2 port=to-$3 address=$4 rate=$5
  nsenter -t "$fabric" -n ip link add "$port" type veth peer name eth0 netns "$pid"
  nsenter -t "$fabric" -n ip link set "$port" master bridge up
  nsenter -t "$pid" -n ip address add "$address/24" dev eth0
  nsenter -t "$pid" -n ip link set eth0 up
  [ -n "$rate" ] || return 0
  nsenter -t "$pid" -n tc qdisc add dev eth0 root tbf rate "$rate" burst 256kb latency 50ms
  nsenter -t "$fabric" -n tc qdisc add dev "$port" root tbf rate "$rate" burst 256kb latency 50ms
}

join_bridge() { # join_bridge DIR RATE PID... (the nodes in order; the head is this shell)
  local directory=$1 rate=$2 fabric i=0 pid
  shift 2
  unshare --net sleep infinity &
  fabric=$!
  until [ "$(readlink /proc/$fabric/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
  [ -z "$rate" ] || echo "$fabric" >"$directory/fabric.pid"
  nsenter -t "$fabric" -n ip link add bridge type bridge
  nsenter -t "$fabric" -n ip link set bridge up
  plug "$fabric" $$ head "$head_address" ""
  for pid in "$@"; do
    plug "$fabric" "$pid" "node$i" "$subnet.$((i + 1))" "$rate"
    i=$((i + 1))
  done
}

join_switch() { # join_switch DIR LATENCY RATE PID...
  local directory=$1 latency=$2 rate=$3 ports=() i=0 pid switch realtime=()
  shift 3
  for pid in "$@"; do
    ports+=("$pid" "$subnet.$((i + 1))")
    i=$((i + 1))
  done
  # The switch stands for hardware: where that is allowed, it runs before any rank.
  if chrt -f 50 true 2>/dev/null; then realtime=(chrt -f 50); fi
  "${realtime[@]}" "$directory/switch" "$latency" "$rate" $$ "$head_address" "${ports[@]}" >"$directory/switch.log" 2>&1 &
  switch=$!
  until grep -qs ready "$directory/switch.log"; do
    kill -0 "$switch" 2>/dev/null || { cat "$directory/switch.log" >&2; exit 1; }
    sleep 0.02
  done
}

run_head() { # run_head DIR NODES RATE LATENCY (first process of the head)
  local directory=$1 nodes=$2 rate=$3 latency=$4 i starters=() pids=()
  furnish "$directory" head
  for ((i = 0; i < nodes; i++)); do
    namespaced "$self" run-node "$directory" "node$i" </dev/null &
    starters+=($!)
  done
  for ((i = 0; i < nodes; i++)); do
    wait_for "$directory/node$i.ready" "${starters[i]}" || die "node$i did not come up"
    pids+=("$(only_child "${starters[i]}")")
    echo "${pids[i]}" >"$directory/node$i.pid"
  done
  if [ -n "$latency" ]; then
    join_switch "$directory" "$latency" "${rate:-0}" "${pids[@]}"
  else
    join_bridge "$directory" "$rate" "${pids[@]}"
  fi
  touch "$directory/ready"
  stay
}

set_rate() { # set_rate DIR RATE (on the head)
  local directory=$1 rate=$2 fabric i=0
  fabric=$(cat "$directory/fabric.pid" 2>/dev/null) || die "the links of $directory have no rate that could be changed (up --rate, without --latency)"
  for ((i = 0; ; i++)); do
    [ -e "$directory/node$i.pid" ] || break
    nsenter -t "$(cat "$directory/node$i.pid")" -n tc qdisc change dev eth0 root tbf rate "$rate" burst 256kb latency 50ms
    nsenter -t "$fabric" -n tc qdisc change dev "to-node$i" root tbf rate "$rate" burst 256kb latency 50ms
  done
}

# The rate in Mbit/s that the switch takes, from tc's notation.
megabits() {
  case $1 in
    "") echo 0 ;;
    *gbit) awk -v r="${1%gbit}" 'BEGIN { print r * 1000 }' ;;
    *mbit) echo "${1%mbit}" ;;
    *) die "rate $1: write it as 1gbit or 100mbit" ;;
  esac
}

up() {
  local directory nodes="" rate="" latency="" owner="" starter i tool
  [ $# -ge 1 ] || usage
  directory=$(readlink -m "$1")
  shift
  while [ $# -ge 2 ]; do
    case $1 in
      --nodes) nodes=$2 ;;
      --rate) rate=$2 ;;
      --latency) latency=$2 ;;
      --owner) owner=$2 ;;
      *) usage ;;
    esac
    shift 2
  done
  if [ $# != 0 ] || ! [[ $nodes =~ ^[1-9][0-9]*$ ]] || [ "$nodes" -gt 250 ]; then usage; fi
  [ "$(id -u)" = 0 ] || die "an emulated cluster needs root (namespaces, virtual network devices)"
  for tool in unshare nsenter ip tc; do
    command -v "$tool" >/dev/null || die "$tool is missing (packages iproute2, util-linux)"
  done
  mkdir "$directory" 2>/dev/null || die "$directory exists (a cluster that is up?) or cannot be made"
  {
    echo "127.0.0.1 localhost"
    echo "$head_address head"
    for ((i = 0; i < nodes; i++)); do echo "$subnet.$((i + 1)) node$i"; done
  } >"$directory/hosts"
  megabits "$rate" >/dev/null
  if [ -n "$latency" ]; then
    ${CC:-cc} -O2 -Wall -Wextra -o "$directory/switch" "$here/switch.c"
    rate=$(megabits "$rate")
  fi
  namespaced "$self" run-head "$directory" "$nodes" "$rate" "$latency" </dev/null >"$directory/log" 2>&1 &
  starter=$!
  identity "$starter" >"$directory/starter"
  trap 'down "$directory"' ERR
  if ! wait_for "$directory/ready" "$starter"; then
    cat "$directory/log" >&2
    down "$directory"
    die "the cluster did not come up"
  fi
  only_child "$starter" >"$directory/head.pid"
  disown "$starter"
  [ -z "$owner" ] || start_guard "$directory" "$owner"
}

start_guard() { # start_guard DIR OWNER: in the background, take the cluster down when its owner has ended
  setsid "$self" guard "$1" "$2" </dev/null >/dev/null 2>&1 &
  identity $! >"$1/guard"
  disown
}

down() { # down DIR
  [ -d "$1" ] || return 0
  [ -e "$1/hosts" ] || die "$1 is not a cluster's directory"
  kill_recorded "$1/starter"
  # Not the guard, when it is the guard that calls.
  [ "$(cut -d' ' -f1 "$1/guard" 2>/dev/null)" = $$ ] || kill_recorded "$1/guard" -
  rm -rf "$1"
}

enter_head() { # enter_head DIR COMMAND...
  local directory=$1 pid
  shift
  pid=$(cat "$directory/head.pid" 2>/dev/null) || die "no cluster in $directory"
  EMULATED_CLUSTER=$directory TMPDIR=/dev/shm/tmp exec nsenter -t "$pid" -n -u -i -m -p --wd="$PWD" -- "$@"
}

enter_node() { # enter_node DIR NODE COMMAND... (on the head)
  local directory=$1 node=$2 pid
  shift 2
  pid=$(cat "$directory/node$node.pid" 2>/dev/null) || die "no node $node in $directory"
  exec nsenter -t "$pid" -n -u -i -m -p --wd="$PWD" -- "$@"
}

[ $# -ge 2 ] || usage
command=$1
directory=$2
shift 2
case $command in
  up) up "$directory" "$@" ;;
  head) [ $# -ge 1 ] || usage; enter_head "$(readlink -m "$directory")" "$@" ;;
  exec) [ $# -ge 2 ] || usage; enter_head "$(readlink -m "$directory")" "$self" run-on "$(readlink -m "$directory")" "$@" ;;
  rate)
    [ $# = 1 ] || usage
    megabits "$1" >/dev/null
    enter_head "$(readlink -m "$directory")" "$self" set-rate "$(readlink -m "$directory")" "$1"
    ;;
  kill) [ $# = 1 ] || usage; enter_head "$(readlink -m "$directory")" kill -9 "$(cat "$directory/node$1.pid")" ;;
  down) down "$(readlink -m "$directory")" ;;
  guard) tail --pid="$1" -f /dev/null; down "$directory" ;; # this and the following are the script's own
  run-head) run_head "$directory" "$@" ;;
  run-node) run_node "$directory" "$@" ;;
  set-rate) set_rate "$directory" "$@" ;;
  run-on) enter_node "$directory" "$@" ;;
  *) usage ;;
esac
