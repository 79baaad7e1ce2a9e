// SPDX-License-Identifier: BSD-3-Clause
// A network switch in user space, with latency and link rate, for kernels that have no netem.
//     switch LATENCY_US RATE_MBIT PID ADDRESS [PID ADDRESS]...        rate 0: no limit
// Gives the network namespace of each PID a device eth0 with that address (/24) and forwards frames between
// them. Each port has an uplink and a downlink of the given rate. A frame occupies its sender's uplink and
// then its receiver's downlink (cut through: both at once, when both are free). It arrives one latency later.
// Prints "ready" when it runs.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
  max_ports = 256,
  queue_frames = 4096,  // per port; more are dropped, as a real switch does
  mtu = 9000,
  max_frame = mtu + 64,
  frames_per_turn = 32,
  header_bytes = 14,
};

struct frame {
  uint64_t due_ns;
  int bytes;
  unsigned char data[];
};

struct port {
  int tap;
  uint64_t uplink_free_ns;
  uint64_t downlink_free_ns;
  struct frame* queue[queue_frames];  // in order of arrival, hence of due time
  unsigned first, end;
};

static struct port ports[max_ports];
static int port_count;
static uint64_t latency_ns;
static double ns_per_byte;

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void fail(const char* what) {
  perror(what);
  exit(1);
}

// A port's hardware address carries its number, so there is nothing to learn.
static void open_port(int index, const char* pid, const char* address) {
  char text[256];
  snprintf(text, sizeof text, "/proc/%s/ns/net", pid);
  const int name_space = open(text, O_RDONLY);
  if (name_space < 0 || setns(name_space, CLONE_NEWNET) != 0) fail(text);
  close(name_space);
  struct port* port = &ports[index];
  port->tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  if (port->tap < 0) fail("/dev/net/tun");
  struct ifreq request = {0};
  strcpy(request.ifr_name, "eth0");
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (ioctl(port->tap, TUNSETIFF, &request) != 0) fail("TUNSETIFF");
  snprintf(text, sizeof text,
           "ip link set eth0 address 02:00:00:00:00:%02x mtu %d up && ip address add %s/24 dev eth0", index,
           mtu, address);
  if (system(text) != 0) exit(1);
}

static void enqueue(int to, uint64_t leaves_ns, uint64_t duration_ns, const unsigned char* data, int bytes) {
  struct port* port = &ports[to];
  if (port->end - port->first >= queue_frames) return;
  uint64_t start_ns = leaves_ns - duration_ns + latency_ns;
  if (start_ns < port->downlink_free_ns) start_ns = port->downlink_free_ns;
  port->downlink_free_ns = start_ns + duration_ns;
  struct frame* frame = malloc(sizeof *frame + (size_t)bytes);
  if (frame == NULL) return;
  frame->due_ns = port->downlink_free_ns;
  frame->bytes = bytes;
  memcpy(frame->data, data, (size_t)bytes);
  port->queue[port->end++ % queue_frames] = frame;
}

static void forward(int from, const unsigned char* data, int bytes) {
  struct port* port = &ports[from];
  const uint64_t now = now_ns();
  const uint64_t duration_ns = (uint64_t)(bytes * ns_per_byte);
  if (port->uplink_free_ns < now) port->uplink_free_ns = now;
  port->uplink_free_ns += duration_ns;
  const int is_group_address = data[0] & 1;
  for (int to = 0; to < port_count; ++to) {
    if (to == from || (!is_group_address && to != data[5])) continue;
    enqueue(to, port->uplink_free_ns, duration_ns, data, bytes);
  }
}

static void receive(int from) {
  static unsigned char data[max_frame];
  for (int i = 0; i < frames_per_turn; ++i) {
    const ssize_t bytes = read(ports[from].tap, data, sizeof data);
    if (bytes <= header_bytes) return;
    forward(from, data, (int)bytes);
  }
}

// Hands over what is due; returns how long until the next frame is, or -1 when none is waiting.
static int64_t deliver(void) {
  int64_t next_ns = -1;
  for (int i = 0; i < port_count; ++i) {
    struct port* port = &ports[i];
    while (port->first != port->end) {
      struct frame* frame = port->queue[port->first % queue_frames];
      const int64_t remaining_ns = (int64_t)(frame->due_ns - now_ns());
      const int is_blocked =
          remaining_ns <= 0 && write(port->tap, frame->data, (size_t)frame->bytes) < 0 && errno == EAGAIN;
      if (remaining_ns > 0 || is_blocked) {
        const int64_t wait_ns = remaining_ns > 0 ? remaining_ns : 0;
        if (next_ns < 0 || wait_ns < next_ns) next_ns = wait_ns;
        break;
      }
      free(frame);
      ++port->first;
    }
  }
  return next_ns;
}

static void run(int poll) {
  for (;;) {
    const int64_t next_ns = deliver();
    const struct timespec timeout = {.tv_sec = next_ns / 1000000000, .tv_nsec = next_ns % 1000000000};
    struct epoll_event events[max_ports];
    const int count = epoll_pwait2(poll, events, max_ports, next_ns < 0 ? NULL : &timeout, NULL);
    for (int i = 0; i < count; ++i) receive((int)events[i].data.u32);
  }
}

int main(int argument_count, char** arguments) {
  if (argument_count < 5 || argument_count % 2 == 0 || (argument_count - 3) / 2 > max_ports) {
    fputs("usage: switch LATENCY_US RATE_MBIT PID ADDRESS [PID ADDRESS]...\n", stderr);
    return 2;
  }
  latency_ns = (uint64_t)(atof(arguments[1]) * 1000);
  const double rate_mbit = atof(arguments[2]);
  ns_per_byte = rate_mbit > 0 ? 8000 / rate_mbit : 0;
  port_count = (argument_count - 3) / 2;
  const int poll = epoll_create1(0);
  for (int i = 0; i < port_count; ++i) {
    open_port(i, arguments[3 + 2 * i], arguments[4 + 2 * i]);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, ports[i].tap, &event) != 0) fail("epoll_ctl");
  }
  puts("ready");
  fflush(stdout);
  run(poll);
}
