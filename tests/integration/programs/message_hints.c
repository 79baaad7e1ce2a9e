// SPDX-License-Identifier: BSD-3-Clause
// Communicators whose program has promised something of its messages (MPI 4.1, section 7.4.4). Messages are
// what they are without. Prints what the MPI alone should print as well: which hints a communicator has.
#include "messages.inc"

static const char* const keys[] = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source",
                                   "mpi_assert_exact_length", "mpi_assert_allow_overtaking"};
enum { key_count = 4, no_any_tag = 1, no_any_source = 2, exact_length = 4, allow_overtaking = 8 };
static unsigned char *out, *in;

static MPI_Info info_of(int hints, const char* value) {
  MPI_Info info;
  MPI_Info_create(&info);
  for (int i = 0; i < key_count; ++i) {
    if (hints & 1 << i) MPI_Info_set(info, keys[i], value);
  }
  return info;
}

static void tell(const char* what, int hints, MPI_Comm comm) {
  MPI_Info info;
  MPI_Comm_get_info(comm, &info);
  for (int i = 0; i < key_count; ++i) {
    char value[64] = "";
    int is_there = 0;
    MPI_Info_get(info, keys[i], sizeof value - 1, value, &is_there);
    if (rank == 0) printf("%s %d: %s %s\n", what, hints, keys[i], is_there ? value : "is not there");
  }
  MPI_Info_free(&info);
}

// As the hints allow it, and asking for as much as they leave.
static void talk(MPI_Comm comm, int hints) {
  enum { count = 40 };
  const int from = hints & no_any_source ? previous_rank() : MPI_ANY_SOURCE;
  MPI_Status status;
  // The longest ones last, so that they cannot go at once.
  for (int l = 0; l < length_count; ++l) {
    const int tag = hints & no_any_tag ? l : MPI_ANY_TAG;
    MPI_Request request;
    fill(out, lengths[l], rank + l);
    MPI_Isend(out, lengths[l], MPI_BYTE, next_rank(), l, comm, &request);
    MPI_Recv(in, hints & exact_length ? lengths[l] : longest, MPI_BYTE, from, tag, comm, &status);
    check_status(&status, previous_rank(), l, lengths[l]);
    CHECK(is_filled(in, lengths[l], previous_rank() + l));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  // Tags in another order than they come in. Of one tag they come in order, unless they may overtake.
  MPI_Request requests[2 * count];
  int sent[count], got[count];
  for (int i = 0; i < count; ++i) {
    sent[i] = rank * 1000 + i;
    MPI_Isend(&sent[i], 1, MPI_INT, next_rank(), i / 2, comm, &requests[i]);
  }
  MPI_Barrier(comm);
  for (int i = count - 1; i >= 0; --i)
    MPI_Irecv(&got[i], 1, MPI_INT, previous_rank(), i / 2, comm, &requests[count + i]);
  MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; i += 2) {
    const int first = previous_rank() * 1000 + i, is_turned = got[i + 1] == first && got[i] == first + 1;
    // The one that asked first has the one that came first: the second place of a pair is asked for first.
    CHECK(is_turned || ((hints & allow_overtaking) && got[i] == first && got[i + 1] == first + 1));
  }
}

static void made_with(void) {
  out = malloc(longest);
  in = malloc(longest);
  for (int hints = 0; hints < 1 << key_count; ++hints) {
    MPI_Comm comm, copy;
    MPI_Info info = info_of(hints, "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    tell("made with", hints, comm);
    talk(comm, hints);
    MPI_Comm_dup(comm, &copy);
    tell("copy of", hints, copy);
    talk(copy, hints);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
    MPI_Info_free(&info);
  }
}

// They may be said later, and taken back, with messages between.
static void set_later(void) {
  for (int hints = 1; hints < 1 << key_count; hints *= 2) {
    MPI_Comm comm;
    MPI_Info yes = info_of(hints, "true"), no = info_of(hints, "false");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    talk(comm, 0);
    MPI_Barrier(comm);
    MPI_Comm_set_info(comm, yes);
    tell("set", hints, comm);
    talk(comm, hints);
    MPI_Barrier(comm);
    MPI_Comm_set_info(comm, no);
    tell("taken back", hints, comm);
    talk(comm, 0);
    MPI_Comm_free(&comm);
    MPI_Info_free(&yes);
    MPI_Info_free(&no);
  }
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  static const struct Section sections[] = {{"made_with", made_with}, {"set_later", set_later}, {NULL, NULL}};
  return run_sections(sections, argc, argv);
}
