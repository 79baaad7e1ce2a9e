// SPDX-License-Identifier: BSD-3-Clause
// A program with the messages of FDS, a simulator of fires (M1 to M6, the source's chapters 3 to 6):
//     fire MESHES EDGE STEPS
// Heat spreads in MESHES boxes of EDGE cells each way, which are dealt out to the ranks. A step has these
// messages:
// - Each mesh gets the faces of its six neighbours. A rank posts the receives of all its meshes at once.
// - Each mesh sends what its devices show to rank 0, a message each: few of them, and of every thirteenth
// mesh many.
//   Rank 0 posts 60 of 100 receives before that, and the rest later. It asks for the first device of all
//   meshes, then for the second one. Meshes are done in an order by chance, and send all of theirs one after
//   the other.
// So with 1024 meshes rank 0's queues are those of 1024 processes with a mesh each, as in `unisono match
// pattern fds`. Rank 0 prints the seconds of messages, of the whole, the receives of a step, and a checksum
// of all that was shown.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { faces = 6, few = 4, many = 16, every = 13, early_percent = 60, shown = 8 };

static int rank, size, meshes, edge;
static int grid[3];                 // meshes in each direction
static int first, end;              // this rank's meshes
static double *cells, *next;        // of this rank's meshes, each with a layer around it
static double *sent, *received;     // faces, of this rank's meshes
static double *reports, *gathered;  // what devices show: of this rank's meshes; of all, on rank 0
static MPI_Request *requests, *of_reports, *of_sends;
static int* order;  // in which this rank's meshes are done
static uint64_t checksum = 1469598103934665603U;

static int first_of(int r) {
  return (int)(((long)meshes * r + size - 1) / size);
}
static int owner_of(int mesh) {
  return (int)((long)mesh * size / meshes);
}
static size_t in_mesh(void) {
  return (size_t)(edge + 2) * (size_t)(edge + 2) * (size_t)(edge + 2);
}
static size_t in_face(void) {
  return (size_t)edge * (size_t)edge;
}
static int devices_of(int mesh) {
  return mesh % every == 0 ? many : few;
}
static size_t at(int x, int y, int z) {
  return ((size_t)x * (size_t)(edge + 2) + (size_t)y) * (size_t)(edge + 2) + (size_t)z;
}
static int tag_of_face(int mesh, int face) {
  return mesh * faces + face;
}
static int tag_of_device(int mesh, int device) {
  return meshes * faces + mesh * many + device;
}

// Faces: 2 * direction, and one more on the side of larger places. -1: there is none.
static int neighbor_of(int mesh, int face) {
  int place[3] = {mesh / (grid[1] * grid[2]), mesh / grid[2] % grid[1], mesh % grid[2]};
  const int direction = face / 2;
  place[direction] += face % 2 == 0 ? -1 : 1;
  if (place[direction] < 0 || place[direction] >= grid[direction]) return -1;
  return (place[0] * grid[1] + place[1]) * grid[2] + place[2];
}

// Between the layer of a mesh at `depth` (0: the one around it) below a face, and a buffer.
static void copy_layer(double* mesh, int face, int depth, double* buffer, int is_into_mesh) {
  const int place = face % 2 == 0 ? depth : edge + 1 - depth;
  for (int a = 1; a <= edge; ++a) {
    for (int b = 1; b <= edge; ++b) {
      const size_t cell = face / 2 == 0 ? at(place, a, b) : face / 2 == 1 ? at(a, place, b) : at(a, b, place);
      double* other = buffer + (a - 1) * edge + (b - 1);
      if (is_into_mesh)
        mesh[cell] = *other;
      else
        *other = mesh[cell];
    }
  }
}

static double* mesh_at(double* all, int mesh) {
  return all + (size_t)(mesh - first) * in_mesh();
}
static double* face_at(double* all, int mesh, int face) {
  return all + ((size_t)(mesh - first) * faces + (size_t)face) * in_face();
}

static int post_faces(void) {
  int count = 0;
  for (int m = first; m < end; ++m) {
    for (int face = 0; face < faces; ++face) {
      const int other = neighbor_of(m, face);
      if (other < 0 || owner_of(other) == rank) continue;
      MPI_Irecv(face_at(received, m, face), edge * edge, MPI_DOUBLE, owner_of(other), tag_of_face(m, face),
                MPI_COMM_WORLD, &requests[count++]);
    }
  }
  return count;
}

static int send_faces(int count) {
  for (int m = first; m < end; ++m) {
    for (int face = 0; face < faces; ++face) {
      const int other = neighbor_of(m, face), opposite = face ^ 1;
      if (other < 0) continue;
      copy_layer(mesh_at(cells, m), face, 1, face_at(sent, m, face), 0);
      if (owner_of(other) == rank) {
        memcpy(face_at(received, other, opposite), face_at(sent, m, face), in_face() * sizeof(double));
      } else {
        MPI_Isend(face_at(sent, m, face), edge * edge, MPI_DOUBLE, owner_of(other),
                  tag_of_face(other, opposite), MPI_COMM_WORLD, &requests[count++]);
      }
    }
  }
  return count;
}

static void take_in_faces(void) {
  for (int m = first; m < end; ++m) {
    for (int face = 0; face < faces; ++face)
      if (neighbor_of(m, face) >= 0) copy_layer(mesh_at(cells, m), face, 0, face_at(received, m, face), 1);
  }
}

static double* report_of(double* all, int mesh, int device) {
  return all + ((size_t)mesh * many + (size_t)device) * shown;
}

// Rank 0's receives from number `from` to `to`, in the order of devices.
static int post_reports(int from, int to, int posted) {
  int number = 0;
  for (int device = 0; device < many; ++device) {
    for (int m = end; m < meshes; ++m) {
      if (device >= devices_of(m)) continue;
      if (number >= from && number < to)
        MPI_Irecv(report_of(gathered, m, device), shown, MPI_DOUBLE, owner_of(m), tag_of_device(m, device),
                  MPI_COMM_WORLD, &of_reports[posted++]);
      ++number;
    }
  }
  return posted;
}

static int send_reports(void) {
  static uint32_t state = 1;
  const int own = end - first;
  for (int i = own; i > 1; --i) {
    state = state * 1664525U + 1013904223U;
    const int with = (int)((state >> 8) % (uint32_t)i), last = order[i - 1];
    order[i - 1] = order[with];
    order[with] = last;
  }
  int count = 0;
  for (int i = 0; i < own; ++i) {
    const int m = order[i];
    for (int device = 0; device < devices_of(m); ++device) {
      double* report = report_of(reports, m - first, device);
      for (int j = 0; j < shown; ++j) {
        const int cell = (device * shown + j) * 7;
        report[j] = mesh_at(cells, m)[at(1 + cell % edge, 1 + cell / edge % edge, 1 + j % edge)];
      }
      if (rank == 0)
        memcpy(report_of(gathered, m, device), report, shown * sizeof(double));
      else
        MPI_Isend(report, shown, MPI_DOUBLE, 0, tag_of_device(m, device), MPI_COMM_WORLD, &of_sends[count++]);
    }
  }
  return count;
}

static void spread_heat(void) {
  for (int m = first; m < end; ++m) {
    const double* now = mesh_at(cells, m);
    double* later = mesh_at(next, m);
    for (int x = 1; x <= edge; ++x)
      for (int y = 1; y <= edge; ++y)
        for (int z = 1; z <= edge; ++z) {
          const double around = now[at(x - 1, y, z)] + now[at(x + 1, y, z)] + now[at(x, y - 1, z)] +
                                now[at(x, y + 1, z)] + now[at(x, y, z - 1)] + now[at(x, y, z + 1)];
          later[at(x, y, z)] = now[at(x, y, z)] + 0.1 * (around - 6 * now[at(x, y, z)]);
        }
  }
  double* before = cells;
  cells = next;
  next = before;
}

static void sum_up(void) {
  for (int m = 0; m < meshes; ++m) {
    const unsigned char* bytes = (const unsigned char*)report_of(gathered, m, 0);
    for (size_t i = 0; i < (size_t)devices_of(m) * shown * sizeof(double); ++i)
      checksum = (checksum ^ bytes[i]) * 1099511628211U;
  }
}

static void make(void) {
  const size_t own = (size_t)(end - first), all = rank == 0 ? (size_t)meshes : 1;
  cells = calloc(own * in_mesh(), sizeof(double));
  next = calloc(own * in_mesh(), sizeof(double));
  sent = calloc(own * faces * in_face(), sizeof(double));
  received = calloc(own * faces * in_face(), sizeof(double));
  reports = calloc(own * many * shown, sizeof(double));
  gathered = calloc(all * many * shown, sizeof(double));
  requests = malloc(sizeof(MPI_Request) * 2 * faces * own);
  of_sends = malloc(sizeof(MPI_Request) * many * own);
  of_reports = malloc(sizeof(MPI_Request) * many * all);
  order = malloc(sizeof(int) * own);
  for (int m = first; m < end; ++m) {
    order[m - first] = m;
    for (int x = 1; x <= edge; ++x)
      for (int y = 1; y <= edge; ++y)
        for (int z = 1; z <= edge; ++z) mesh_at(cells, m)[at(x, y, z)] = (m * 31 + x * 7 + y * 3 + z) % 101;
  }
}

// One step's messages.
static void exchange(int receives) {
  const int early = (int)((long)receives * early_percent / 100);
  int posted = rank == 0 ? post_reports(0, early, 0) : 0;
  const int of_faces = post_faces();
  const int reported = send_reports();
  const int all = send_faces(of_faces);
  MPI_Waitall(all, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) posted = post_reports(early, receives, posted);
  MPI_Waitall(posted, of_reports, MPI_STATUSES_IGNORE);
  MPI_Waitall(reported, of_sends, MPI_STATUSES_IGNORE);
  take_in_faces();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int steps = argc == 4 ? atoi(argv[3]) : 0;
  meshes = argc == 4 ? atoi(argv[1]) : 0;
  edge = argc == 4 ? atoi(argv[2]) : 0;
  if (steps < 1 || edge < 1 || meshes < size) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Dims_create(meshes, 3, grid);
  first = first_of(rank);
  end = first_of(rank + 1);
  make();
  int receives = 0;
  for (int m = end; m < meshes && rank == 0; ++m) receives += devices_of(m);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  double in_messages = 0;
  for (int step = 0; step < steps; ++step) {
    const double before = MPI_Wtime();
    exchange(receives);
    in_messages += MPI_Wtime() - before;
    if (rank == 0) sum_up();
    spread_heat();
    // What ranks wait for each other is not the messages' time.
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const double total = MPI_Wtime() - begin;
  if (rank == 0) {
    printf("messages %.6g\nwhole %.6g\nreceives %d\nresult %016llx\n", in_messages, total, receives,
           (unsigned long long)checksum);
  }
  MPI_Finalize();
  return 0;
}
