// SPDX-License-Identifier: BSD-3-Clause
// Spawns the program "child" from folder FOLDER of PATH, with info key "path" where a second folder is given,
// and prints which file that was. The child is this program, too.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most = 4096 };

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  char file[most] = "";
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    if (readlink("/proc/self/exe", file, most - 1) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Send(file, most, MPI_CHAR, 0, 0, parent);
    MPI_Comm_disconnect(&parent);
  } else {
    char path[2 * most];
    snprintf(path, sizeof path, "%s:%s", argv[1], getenv("PATH"));
    setenv("PATH", path, 1);
    MPI_Info info;
    MPI_Info_create(&info);
    if (argc > 2) MPI_Info_set(info, "path", argv[2]);
    MPI_Comm_spawn("child", MPI_ARGV_NULL, 1, info, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
    MPI_Recv(file, most, MPI_CHAR, 0, 0, children, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&children);
    MPI_Info_free(&info);
    puts(file);
  }
  MPI_Finalize();
  return 0;
}
